from __future__ import annotations

import pytest
from rich.cells import cell_len

from rundry.tui.lines.draw_runs import fold
from rundry.tui.theme.theme import shipped_palette
from rundry.tui.transcript.draw_markdown import draw_markdown

PALETTE = shipped_palette("dark")
TABLE = (
    "| Name | Price | Note |\n|:-----|------:|:----:|\n| 界面 widget | 12.50 | good 👍🏽 |\n"
    "| e\u0301 accent | 3 | **very** good |\n"
    "| family 👨\u200d👩\u200d👧 | 1200.00 | see [docs](http://example.org/a) |\n"
)  # fmt: skip
ANSWER = (
    f"Here is the **bold comparison** of `all` that [you](http://x.org/a) asked for.\n\n{TABLE}\n1. First point\n"
    "   - nested `code`\n\n> quoted\n\n```python\nx = 1\n```\n\nThe end, with **bold words** in it."
)


def _rows(source: str, width: int, *, grows: bool = False) -> list[str]:
    rows = draw_markdown(source, width, PALETTE, grows=grows)
    return ["".join(text for text, _ in row).rstrip() for row in rows]


def test_columns_align_by_the_cells_that_characters_take() -> None:
    rows = _rows(TABLE, 80)
    prices = zip(rows[2:], ("12.50", " 3", "1200.00"), strict=True)
    ends = [cell_len(row[: row.index(price) + len(price)]) for row, price in prices]
    assert len(set(ends)) == 1
    assert cell_len(rows[1]) == max(map(cell_len, rows))


def test_a_table_that_is_too_wide_wraps_its_cells_between_words() -> None:
    rows = _rows("| a | b |\n|---|---|\n| one two three four | five six seven eight |\n| 1 | 2 |\n", 24)
    assert all(cell_len(row) <= 24 for row in rows)
    assert not [word for row in rows for word in row.split() if word.strip("─") and word not in TABLE_WORDS]


TABLE_WORDS = {"a", "b", "one", "two", "three", "four", "five", "six", "seven", "eight", "1", "2"}


def test_a_table_without_room_for_its_words_becomes_one_block_for_each_row() -> None:
    assert _rows("| Name | Price |\n|---|---|\n| something | 1200.00 |\n| other | 3 |\n", 18) == [
        "Name   something",
        "Price  1200.00",
        "",
        "Name   other",
        "Price  3",
    ]


@pytest.mark.parametrize("width", [8, 20, 40, 60, 120])
def test_no_row_of_a_table_is_wider_than_the_window(width: int) -> None:
    assert max(map(cell_len, _rows(TABLE, width))) <= width


def test_an_answer_never_loses_a_row_and_keeps_its_earlier_rows_while_it_grows() -> None:
    before: list[str] = []
    for end in range(1, len(ANSWER) + 1):
        rows = _rows(ANSWER[:end], 60, grows=True)
        assert len(rows) >= len(before), ANSWER[:end]
        changed = [at for at in range(len(before) - 1) if before[at] != rows[at]]
        if changed:  # only the columns of a table change, when one more of its lines is complete
            assert ANSWER[:end].endswith("|\n"), ANSWER[:end]
        before = rows
    assert before == _rows(ANSWER, 60)


def test_east_asian_text_breaks_between_characters_and_not_before_punctuation() -> None:
    rows = ["".join(text for text, _ in row) for row in fold([("ab 日本語の文章です。終わり。", PALETTE.dim)], 11)]
    assert rows == ["ab 日本語の", "文章です。", "終わり。"]


def test_the_rows_after_the_first_hang_below_the_words() -> None:
    rows = ["".join(text for text, _ in row) for row in fold([("✗ one two three four", PALETTE.dim)], 11, hang=2)]
    assert rows == ["✗ one two", "  three", "  four"]
