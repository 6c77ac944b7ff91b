from __future__ import annotations

from hypothesis import given, strategies as st
from rich.cells import cell_len
from rich.style import Style

from rundry.tui.lines.draw_runs import breaks, cut, fold, paint, shorten, to_strip
from rundry.tui.lines.item_heights import Heights
from rundry.tui.text.show_text import one_line

RED = Style.parse("red")
words = st.text(st.sampled_from("abc d界é⟨⟩ \u0301👩"), max_size=80).map(one_line)


@given(words, st.integers(2, 30))
def test_rows_of_words_fit_and_lose_nothing_but_blanks(text: str, width: int) -> None:
    rows = [text[start:end] for start, end in breaks(text, width)]
    assert all(cell_len(row) <= width for row in rows)
    assert "".join(rows).replace(" ", "") == text.replace(" ", "")


@given(words, st.integers(2, 30))
def test_rows_of_code_fit_and_lose_nothing(text: str, width: int) -> None:
    rows = [text[start:end] for start, end in breaks(text, width, words=False)]
    assert all(cell_len(row) <= width for row in rows)
    assert "".join(rows) == text


def test_words_stay_whole_where_they_fit() -> None:
    assert fold([("one two three", RED)], 8) == [[("one two", RED)], [("three", RED)]]


def test_a_cut_keeps_the_styles() -> None:
    assert cut([("abc", RED), ("def", Style.null())], 2, 5) == [("c", RED), ("de", Style.null())]


@given(words, st.integers(0, 30))
def test_a_shortened_text_fits_and_says_that_it_is(text: str, width: int) -> None:
    short = "".join(part for part, _ in shorten([(text, RED)], width))
    assert cell_len(short) <= width
    assert short == text or short.endswith("…") or width < 1


def test_painting_lays_a_style_over_some_characters() -> None:
    strip = paint(to_strip([("abcdef", Style.null())]), [(1, 3, RED)])
    assert [(segment.text, segment.style) for segment in strip] == [
        ("a", Style.null()),
        ("bc", RED),
        ("def", Style.null()),
    ]


@given(st.lists(st.integers(0, 5), max_size=1_500), st.integers(0, 1_500), st.integers(0, 9_000))
def test_the_sum_of_heights_is_right_after_each_change(numbers: list[int], length: int, line: int) -> None:
    heights = Heights()
    for number in numbers:
        heights.append(number)
    kept = numbers[:length]
    heights.cut(len(kept))
    if kept:
        heights.put(len(kept) // 2, 7)
        kept[len(kept) // 2] = 7
    heights.fill(600)
    kept += [1] * 600
    assert heights.total == sum(kept)
    assert heights.before(len(kept) // 3) == sum(kept[: len(kept) // 3])
    item, row = heights.find(line)
    if line < sum(kept):
        assert sum(kept[:item]) + row == line
        assert row < kept[item]
    else:
        assert item == len(kept) - 1
