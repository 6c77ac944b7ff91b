"""Rows that only moved on the screen are the same objects as before."""

from __future__ import annotations

from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from rundry.tui.lines.line_parts import Line, Place
from rundry.tui.lines.painted_rows import PaintedRows

NOTHING, THUMB = Segment(" "), Segment("▐")


def test_a_row_is_kept_until_its_line_is_drawn_again():
    rows, base = PaintedRows(), Style.parse("red")
    line = Line(Place(1), Strip([Segment("text")]))
    row = rows.row(line, 10, base)
    assert rows.row(line, 10, base) is row and row.cell_length == 10
    other = rows.row(Line(Place(1), Strip([Segment("text more")])), 10, base)
    assert other is not row and other.text == "text more "


def test_a_row_is_kept_with_each_sign_of_the_scroll_bar():
    rows, base = PaintedRows(), Style.null()
    line = Line(Place(1), Strip([Segment("text")]))
    row = rows.row(line, 4, base)
    signed = rows.signed(line.place, row, NOTHING, 5)
    assert rows.signed(line.place, row, NOTHING, 5) is signed and signed.text == "text "
    assert rows.signed(line.place, row, THUMB, 5).text == "text▐"
    assert rows.signed(line.place, Strip([Segment("over")]), NOTHING, 5).text == "over "
