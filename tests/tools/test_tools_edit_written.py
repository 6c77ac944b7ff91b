"""Edits that used to land wrong are applied as they were meant, with a note, or refused with the reason."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, strategies as st

from rundry.agent.tools.edit_blocks.match_block import Replacement, find_block

BLOCK = b"""class A:
    def f(self):
        if x:
            return 1
        return 2

    def g(self):
        pass
"""
EXACT = "        if x:\n            return 1\n        return 2\n"
CHANGED = EXACT.replace("1", "3")


def _edit(old: str, new: str) -> str:
    return json.dumps({"path": "a.py", "old_text": old, "new_text": new})


async def _applied(bench, content: bytes, old: str, new: str) -> tuple[bytes | None, str]:
    file = bench.file("a.py", content)
    result = await bench.act("edit_file", _edit(old, new))
    assert result.ok or file.read_bytes() == content
    return (file.read_bytes() if result.ok else None), result.text


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("if x:\n    return 1\nreturn 2\n", CHANGED),
        (EXACT, CHANGED),
        ("if x:\n    return 1\nreturn 2\n", "if x:\n    return 3\nreturn 2\n"),
        ("if x:\n            return 1\n        return 2", "if x:\n            return 3\n        return 2"),
        ("if x:\n            return 1\n        return 2", "        if x:\n            return 3\n        return 2"),
        ("\tif x:\n\t\treturn 1\n\treturn 2\n", "\tif x:\n\t\treturn 3\n\treturn 2\n"),
        ("    if x:\n      return 1\n    return 2\n", "    if x:\n      return 3\n    return 2\n"),
    ],
    ids=["old without", "exact", "both without", "first line without", "first line of old", "tabs", "two spaces"],
)  # fmt: skip
async def test_a_block_keeps_the_indentation_of_the_file(bench, old, new):
    after, text = await _applied(bench, BLOCK, old, new)
    assert after == BLOCK.replace(b"return 1", b"return 3"), text


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("        if x:\n            return 1\n", "if x:\n    return 3\n", "its indentation is unclear"),
        ("            return 1\n        return 2\n", "            return 3\nreturn 4\n", "lacks the indentation"),
        ("return 1", "y = 1\nreturn y\n    # more", "fits in more than one way"),
        ("def f(self):\n    if x:\n", "if y:\n    def f(self):\n        if x:\n", "fits in more than one way"),
        ("  if x:\n return 1\n        return 2\n", "  if x:\n return 3\n        return 2\n", "in more than one way"),
    ],
)
async def test_indentation_that_is_unclear_is_refused_with_what_the_file_has(bench, old, new, says):
    after, text = await _applied(bench, BLOCK, old, new)
    assert after is None
    assert says in text
    assert "Nothing was changed" in text


@pytest.mark.parametrize(
    "form",
    [
        "{}| ", "{}|", "{:>4} | ", "{:>6}\t", "{}\t", "{:>6}→", "{}: ", "{}:", "{:05}| ", "src/a.py:{}: ", "L{}: ",
        "[{}] ", "{} ",
    ],
)  # fmt: skip
async def test_line_numbers_are_removed_from_both_texts_without_a_space_too_many(bench, form):
    content = b"def f():\n    y\n\n    return y\n"
    old = "".join(form.format(k) + line + "\n" for k, line in enumerate(["def f():", "    y", "", "    return y"], 1))
    new = "".join(form.format(k) + line + "\n" for k, line in enumerate(["def f():", "    z", "", "    return z"], 1))
    after, text = await _applied(bench, content, old, new)
    assert after == content.replace(b"y", b"z"), text
    assert "line numbers that are not in the file" in text


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("1| def f():\n2|     y\n", "1| def f():\n    z\n", "without line numbers"),
        ("def f():\n    y\n", "1| def f():\n2|     z\n", "without line numbers"),
        ("    y\n", "2|     z\n", "without line numbers"),
        ("1| def f():\n2|     y\n", "7| def f():\n8|     z\n", "without line numbers"),
        ("1: def f():\n5:     y\n", "1: def f():\n5:     z\n", "not in the file"),
    ],
)
async def test_line_numbers_that_look_like_content_are_refused(bench, old, new, says):
    after, text = await _applied(bench, b"def f():\n    y\n", old, new)
    assert after is None
    assert says in text


async def test_numbers_that_are_in_the_file_are_content(bench):
    after, _ = await _applied(bench, b"1| a\n2| b\n", "1| a\n2| b\n", "1| a\n2| c\n")
    assert after == b"1| a\n2| c\n"


@pytest.mark.parametrize(
    ("content", "old", "new", "expected"),
    [
        (b"a\r\nb\nc\rd\n", "a\nb\nc\n", "a\nB\nc\n", b"a\r\nB\nc\rd\n"),
        (b"a\r\nb\nc\rd\n", "b\nc", "b\nx\nc", b"a\r\nb\nx\nc\rd\n"),
        (b"a\r\nb\r\nc\n", "b", "b\nx", b"a\r\nb\r\nx\r\nc\n"),
        (b"a\r\nb\nc", "b\nc\n", "b\nx\n", b"a\r\nb\nx"),
        (b"a\nb", "b", "b\nc", b"a\nb\nc"),
        (b"a\r\nb", "b", "c\n", b"a\r\nc\r\n"),
        (b"a\nb\n", "a\nb", "a", b"a\n"),
        (b"\xef\xbb\xbfa\r\nb\n", "a\nb", "a\nc", b"\xef\xbb\xbfa\r\nc\n"),
        (b"a\n\x0c\nb\r\n", "a\n\x0c\nb", "a\n\x0c\nc", b"a\n\x0c\nc\r\n"),
        ("a\u2028x\nb  \r\nc\n".encode(), "a\u2028x\nb\nc", "a\u2028x\nb\nd", "a\u2028x\nb  \r\nd\n".encode()),
        (b"caf\xe9\r\nb\n", "café\nb", "café\nc", b"caf\xe9\r\nc\n"),
    ],
)  # fmt: skip
async def test_lines_that_stay_keep_their_endings_and_new_ones_take_those_around(bench, content, old, new, expected):
    after, text = await _applied(bench, content, old, new)
    assert after == expected, text


async def test_a_removal_that_would_merge_two_line_breaks_is_refused(bench):
    after, text = await _applied(bench, b"a\rb\r\n\nc\n", "b\n", "")
    assert after is None
    assert "both would become one line break" in text


@pytest.mark.parametrize(
    ("content", "old", "new", "expected", "says"),
    [
        (b"a\nb\nc\n", "b\n", "x", b"a\nx\nc\n", "lacked the line ending"),
        (b"a\nb\nc\n", "b", "", b"a\nc\n", "was removed with its ending"),
        (b"f:\n    a\n    b\n    c\n", "a\n    b", "    x\n    b", b"f:\n    x\n    b\n    c\n", "the indentation"),
        (
            b"f:\n    a = 1\n    b\n    c\n",
            "b",
            "x\ny",
            b"f:\n    a = 1\n    x\n    y\n    c\n",
            "indented like the file",
        ),
    ],
)
async def test_a_text_that_is_in_the_file_is_replaced_by_whole_lines(bench, content, old, new, expected, says):
    after, text = await _applied(bench, content, old, new)
    assert after == expected, text
    assert says in text


@pytest.mark.parametrize(
    ("content", "old", "new", "says"),
    [
        (b"a\nb\nc\n", "b", "x\n", "unclear whether a blank line is meant"),
        (b"x = 10\n", "x = 1", "x = 2", "inside of a word"),
        (b"f(a);\n", "f(a)", "f(b);", "would be there twice"),
        (b"def f(a):\n", "f(a):", "def f(b):", "would be there twice"),
        (b"## Install\n", "# Install", "## Set up", "would be there twice"),
        (b'"""one"""\n', '""one"""', '"""two"""', "would be there twice"),
        (b"import os\nimport re\n", "import os", "import os\nimport re", "already in the file at line 1"),
        (b"one = 1\ntwo = 2\n", "one = 1\n", "one = 3\ntwo = 2\n", "which is line 2 of the file"),
        (b"one = 1\n", "one = 1\n", "```python\none = 2\n```\n", "code fence"),
        (b"```\none\n```\ntwo\n", "~~~\n```\none\n```\n~~~\n", "```\none\n```\n", "code fence"),
        (b"```\none\n```\n", "```\none\n\n```\n", "one\n```\n", "code fence"),
        (b"one = 1\n", "one = 1", "one = 1\\ntwo = 2", "escaped"),
        (b'x = "a"\n', 'x = "a"', 'x = \\"b\\"', "quotes in new_text are escaped"),
        ("x = ‘a’\n".encode(), "x = 'a'", "x = 'b'", "U+2018"),
        (b"a:\n\tb\n\tc\n\td\n", "\tc\n", "\tc\n    d2\n", "the file with tabs"),
    ],
)
async def test_a_replacement_that_would_spoil_its_surroundings_is_refused(bench, content, old, new, says):
    after, text = await _applied(bench, content, old, new)
    assert after is None
    assert says in text


async def test_typographic_signs_stay_in_lines_that_are_kept(bench):
    after, text = await _applied(bench, "a “b”\nc\u00a0d\ne\n".encode(), 'a "b"\nc d\ne', 'a "b"\nc d\nf')
    assert after == "a “b”\nc\u00a0d\nf\n".encode()
    assert "quotes, dashes or spaces" in text


@pytest.mark.parametrize(
    ("old", "new"),
    [("f(x", "f(g(x)"), ("x", "g(x)"), ("f(x)", "h(x)")],
)
async def test_a_part_of_a_line_is_replaced_as_it_is(bench, old, new):
    after, text = await _applied(bench, b"y = f(x)\n", old, new)
    assert after == b"y = f(x)\n".replace(old.encode(), new.encode()), text


async def test_an_exact_block_wins_over_one_with_other_indentation(bench):
    after, _ = await _applied(bench, b"a\nb\nif x:\n    a\n    b\n", "a\nb\n", "a\nc\n")
    assert after == b"a\nc\nif x:\n    a\n    b\n"


async def test_a_tolerant_match_is_unique_under_every_tolerance(bench):
    after, text = await _applied(bench, b"a  \nb\nif x:\n    a\n    b\n", "a\nb\n", "a\nc\n")
    assert after is None
    assert "occurs 2 times" in text


_TEXT = st.text(st.sampled_from("ab1|:\t\n\r \\`{}\u2019'"), max_size=24)


@given(_TEXT, _TEXT.filter(bool), _TEXT)
def test_any_texts_give_a_place_in_the_file_or_a_reason(text, old, new):
    place = find_block(text, old, new)
    if isinstance(place, Replacement):
        assert 0 <= place.start <= place.end <= len(text)


@pytest.mark.parametrize("content", [b"", b"a"])
async def test_a_line_break_that_the_file_lacks_is_not_found(bench, content):
    after, text = await _applied(bench, content, "\n", "x")
    assert after is None
    assert "not in the file" in text
