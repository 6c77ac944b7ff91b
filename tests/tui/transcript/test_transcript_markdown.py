from __future__ import annotations

import random

import pytest
from hypothesis import given, settings, strategies as st
from rich.cells import cell_len
from sampling import examples

from rundry.tui.theme.theme import shipped_palette
from rundry.tui.transcript.draw_markdown import draw_markdown
from rundry.tui.transcript.markdown_pieces import Piece, Pieces

PALETTE = shipped_palette("dark")
MIXED = (
    "# Title\n\nSome **bold** text\nin two lines.\n\n1. one\n2. two\n\n   still two\n\n```python\nx = 1\n\ny = 2\n```\n"
    "after\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n> quoted\n\nThe end"
)


def _drawn(source: str, width: int = 60) -> str:
    rows = draw_markdown(source, width, PALETTE)
    return "\n".join("".join(text for text, _ in row).rstrip() for row in rows)


def _whole(text: str) -> list[Piece]:
    pieces = Pieces()
    assert pieces.feed(text, whole=True) is None
    return pieces.done


@pytest.mark.parametrize(
    ("source", "drawn"),
    [
        ("plain words", "plain words"),
        ("**bold** and `code`", "bold and code"),
        ("# Head\ntext", "Head\n\ntext"),
        ("- a\n- b\n  - c", "• a\n• b\n  • c"),
        ("9. a\n10. b", " 9. a\n10. b"),
        ("> said", "│ said"),
        ("[here](http://x.org/a)", "here (http://x.org/a)"),
        ("<http://x.org>", "http://x.org"),
        ("```\n  code\n```", "    code"),
        ("| a | b |\n|---|---|\n| 1 | 2 |", "a   b\n─────\n1   2"),
    ],
)
def test_markdown_is_drawn_plainly(source: str, drawn: str) -> None:
    assert _drawn(source) == drawn


@pytest.mark.parametrize(
    ("source", "seen"),
    [
        ("a <b>bold</b> <script>x</script>", "<script>x</script>"),
        ("<div>\nblock\n</div>", "<div>"),
        ("&#27;[31m and &lt;", "&#27;[31m and &lt;"),
        ("[x]: http://hidden.org", "http://hidden.org"),
        ("![picture](http://x.org/p.png)", "http://x.org/p.png"),
        ('[a](http://x.org "the title")', "the title"),
        ("<!-- comment -->", "comment"),
        ("[@click=app.quit]x[/]", "[@click=app.quit]x[/]"),
        ("<http://x.org/%E2%80%AE>", "⟨U+202E⟩"),
        ("esc \x1b[31m", "␛[31m"),
    ],
)
def test_nothing_that_is_written_is_hidden(source: str, seen: str) -> None:
    assert seen in _drawn(source)


@given(st.text(st.sampled_from("a b*_`#>-|\n1.[]()<&;!~:\\\t界\x1b\u202e"), max_size=120), st.integers(12, 80))
@settings(max_examples=examples(200), deadline=None)
def test_no_text_whatever_makes_the_drawing_fail_or_overflow(source: str, width: int) -> None:
    for row in draw_markdown(source, width, PALETTE):
        line = "".join(text for text, _ in row)
        assert "\n" not in line
        assert "\x1b" not in line
        assert "\u202e" not in line
        assert cell_len(line) <= max(width, 40)


@given(st.text(st.sampled_from("ab \n#-`|1."), max_size=300), st.randoms(use_true_random=False))
@settings(max_examples=examples(200), deadline=None)
def test_a_text_that_comes_bit_by_bit_gives_the_same_pieces(text: str, chance: random.Random) -> None:
    growing = Pieces()
    at = 0
    while at < len(text):
        at = min(len(text), at + chance.randrange(1, 20))
        before = list(growing.done)
        growing.feed(text[:at])
        assert growing.done[: len(before)] == before
    growing.feed(text, whole=True)
    assert growing.done == _whole(text)


def test_a_long_text_is_cut_into_small_pieces_that_hold_all_of_it() -> None:
    text = "\n\n".join([MIXED] * 200)
    pieces = _whole(text)
    assert max(len(piece.source) for piece in pieces) < 3_000
    kept = "".join("".join(piece.source.split()) for piece in pieces)
    assert kept == "".join(text.replace("```python", "").replace("```", "").split())


def test_a_long_fence_is_cut_and_stays_code() -> None:
    pieces = _whole("```python\n" + "\n".join(f"x{n} = {n}" for n in range(200)) + "\n```\nafter")
    assert [piece.language for piece in pieces] == ["python"] * 5 + [None]
    assert [piece.joined for piece in pieces] == [False, True, True, True, True, False]


@pytest.mark.parametrize("text", ["word " * 20_000, "- item\n" * 10_000, "x" * 50_000, "```\n" + "y = 1\n" * 9_000])
def test_no_text_keeps_a_long_tail_that_is_drawn_again_and_again(text: str) -> None:
    pieces = Pieces()
    tail = pieces.feed(text)
    assert tail is None or len(tail.source) < 7_000
    assert len(pieces.done) > 5


def test_an_opening_fence_is_code_from_its_first_line_on() -> None:
    pieces = Pieces()
    tail = pieces.feed("text\n```python\nx = 1")
    assert tail == Piece("x = 1", "python")
    assert [piece.source for piece in pieces.done] == ["text"]


@pytest.mark.parametrize("end", ["", "`", "``", "```", "````"])
def test_the_end_of_a_fence_without_a_line_break_is_not_shown_as_code(end: str):
    pieces = Pieces()
    last = pieces.feed(f"```python\nx = 1\n{end}")
    assert last is not None and last.source == "x = 1"
    assert pieces.feed("```python\nx = 1\n```", whole=True) is None
    assert [(piece.source, piece.language) for piece in pieces.done] == [("x = 1", "python")]


def test_a_fence_that_ends_too_short_keeps_its_text():
    assert [piece.source for piece in _whole("```\nx = 1\n``")] == ["x = 1\n``"]
