"""Texts are shortened to cells of the screen, also wide ones."""

from __future__ import annotations

from hypothesis import given, strategies as st
from rich.cells import cell_len

from rundry.tui.text.shorten_cells import cells_cut, cells_fit, cells_middle

TEXTS = st.text(alphabet="ab 日本", max_size=40)


@given(TEXTS, st.integers(-1, 90))
def test_a_shortened_text_has_at_most_the_wanted_cells_and_a_fitted_one_has_them_all(text, width):
    assert cell_len(cells_cut(text, width)) <= max(0, width)
    assert cell_len(cells_middle(text, width)) <= max(0, width)
    assert cell_len(cells_fit(text, width)) == max(0, width)
    if cell_len(text) <= width:
        assert cells_cut(text, width) == cells_middle(text, width) == text


def test_half_of_a_wide_character_is_never_shown():
    assert cells_cut("日本語の文", 6) == "日本…"
    assert cells_fit("日本語の文", 6) == "日本… "
