"""Shorten a text to cells of the screen. A wide character has two cells. The text has passed `show_text` already."""

from __future__ import annotations

from rich.cells import cell_len, set_cell_size

_NARROW = 8
"""Below this width a text loses its end instead of its middle."""


def cells_cut(text: str, width: int) -> str:
    """Return the text in at most `width` cells, with `…` in place of its end."""
    if cell_len(text) <= width:
        return text
    return f"{set_cell_size(text, width - 1).rstrip()}…" if width > 0 else ""


def cells_fit(text: str, width: int) -> str:
    """Return the text in exactly `width` cells: shortened as by `cells_cut`, or filled with blanks."""
    return set_cell_size(cells_cut(text, width), max(0, width))


def cells_middle(text: str, width: int) -> str:
    """Return the text in at most `width` cells, with `…` in place of its middle: for an address or a path."""
    if cell_len(text) <= width or width < _NARROW:
        return cells_cut(text, width)
    head = (width - 1) // 3
    tail = width - 1 - head
    while cell_len(text[:head]) + 1 + cell_len(text[-tail:]) > width and tail > 1:
        tail -= 1
    return f"{text[:head]}…{text[-tail:]}"
