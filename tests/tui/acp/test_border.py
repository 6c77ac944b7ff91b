"""Foreign text on its way to an editor."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from rundry.tui.acp.acp_text import StreamedText, code, fenced, plain_json, without_pictures, words


def streamed(*pieces: str) -> str:
    stream = StreamedText()
    return "".join([*(stream.piece(piece) for piece in pieces), stream.end()])


@pytest.mark.parametrize(
    ("pieces", "shown"),
    [
        (("plain ", "text"), "plain text"),
        (("a\r", "\nb"), "a\nb"),
        (("red \x1b[31m",), "red ␛[31m"),
        (("\ttab\tkept",), "\ttab\tkept"),
        (("![x](http", "://e.org/?k=1)"), r"!\[x](http://e.org/?k=1)"),
        (("!", "[x", "]", "(y)"), r"!\[x](y)"),
        (("!", "[x", "]", "[y]"), r"!\[x][y]"),
        (("vec![1, 2]",), "vec![1, 2]"),
        (("wait!",), "wait!"),
        (("\u202edesrever",), "⟨U+202E⟩desrever"),
        (("👩", "\u200d👩"), "👩\u200d👩"),
    ],
)
def test_pieces_of_a_stream_are_marked_like_the_whole_text(pieces: tuple[str, ...], shown: str):
    assert streamed(*pieces) == shown


@given(st.text(st.sampled_from("ab![]()\r\n\x1b\u202e\t ")), st.integers(0, 40))
def test_no_split_lets_a_picture_or_a_hidden_character_pass(text: str, at: int):
    shown = streamed(text[:at], text[at:])
    assert shown == without_pictures(shown)
    assert not {"\x1b", "\u202e", "\r"} & set(shown)


def test_the_content_of_a_file_keeps_its_tabs_and_shows_what_is_hidden():
    assert code("a\tb\r\nc\u202ed\x00") == "a\tb\nc\ufffdd␀"


def test_long_texts_lose_their_middle_and_fences_hold():
    assert len(words("x" * 100_000)) < 21_000
    assert "80,000 characters are left out" in words("x" * 100_000)
    assert fenced("```\n# heading").startswith("````")


def test_arguments_of_a_call_are_bounded_json():
    deep: object = "x"
    for _ in range(50):
        deep = {"a": [deep]}
    shown = plain_json(
        {"deep": deep, "long": "y" * 50_000, "key": "secret"}, lambda text: text.replace("secret", "*" * 6)
    )
    assert isinstance(shown, dict)
    assert len(str(shown)) < 3000
    assert shown["key"] == "******"
