"""Texts are shortened to a limit, and what is missing is visible."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from rundry.agent.protocol.text.shorten_text import end_cut, first_line, line_cut, middle_cut, noted_cut, title_of

TEXTS = st.text(alphabet="ab \n", max_size=60)


@given(TEXTS, st.integers(-1, 70))
def test_a_text_is_never_longer_than_the_limit_and_one_that_fits_stays(text, limit):
    shown = end_cut(text, limit)
    assert len(shown) <= max(0, limit)
    assert (shown == text) if len(text) <= limit else (limit <= 0 or shown.endswith("…"))
    for one_line in (first_line(text, limit), line_cut(text, limit)):
        assert len(one_line) <= max(0, limit)
        assert "\n" not in one_line


@pytest.mark.parametrize(
    ("text", "limit", "expected"),
    [
        ("a long sentence", 7, "a long…"),
        ("a long sentence", 3, "a…"),  # no blank before the sign
        ("abc", 3, "abc"),
        ("abc", 0, ""),
    ],
)
def test_the_end_gives_way_to_one_sign(text, limit, expected):
    assert end_cut(text, limit) == expected


def test_a_first_line_is_the_first_one_that_is_not_blank():
    assert first_line("\n\n  one \ntwo", 10) == "one"


@given(st.text(alphabet="ab\n", min_size=101, max_size=400))
def test_a_note_counts_exactly_what_is_missing(text):
    kept, _, note = noted_cut(text, 100).rpartition("[... ")
    missing = int(note.partition(" ")[0])
    assert text.startswith(kept.rstrip())
    assert len(kept.removesuffix(" ")) == len(text) - missing


def test_a_note_stands_between_lines_if_a_line_ends_in_the_second_half():
    assert noted_cut("one\ntwo\nthree", 9) == "one\ntwo\n[... 5 more characters]"
    assert noted_cut("a\n" + "b" * 20, 10) == "a\nbbbbbbbb [... 12 more characters]"


def test_a_text_without_its_middle_keeps_both_ends():
    shown = middle_cut("a" * 5_000 + "b" * 5_000, 300)
    assert shown.startswith("aaa")
    assert shown.endswith("bbb")
    assert "9,700 characters are left out" in shown
    assert len(shown) <= 300


LOG = "\n".join(f'  File "a.py", line {n}, in f{n}' for n in range(40))


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("", ""),
        ("fix the failing suite", "fix the failing suite"),
        ("Fix it. Then run the suite.", "Fix it."),
        ("Why does calc.py fail? It worked", "Why does calc.py fail?"),
        ("use a. b and c, e.g. in d.py", "use a. b and c, e.g. in d.py"),
        ("first line\nsecond line", "first line"),
        (f"Why does this fail?\n{LOG}", "Why does this fail?"),
        (f"{LOG}\n\nWhy does this fail? It worked.", "Why does this fail?"),
        (LOG, 'File "a.py", line 0, in f0'),
        ("a = 1\n" * 9 + "make it faster please", "make it faster please"),
    ],
)
def test_a_title_is_the_first_sentence_and_never_what_was_pasted(text, title):
    assert title_of(text) == title
