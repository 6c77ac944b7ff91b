"""Split text into lines with separate indentation, trailing white space and ending. Does no I/O."""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import SequenceMatcher

import msgspec

from ...protocol.text.counts import plural
from ..fit_text import LINE

BLANK = " \t"
"""Characters that count as indentation and as trailing white space. A form feed or U+2028 is content."""
_MOST_PAIRS = 4_000_000
_END = re.compile(r"\r\n|\r")


class BlockLine(msgspec.Struct, frozen=True):
    """One line of text; a blank line has only `trail` and `end`."""

    indent: str
    body: str
    trail: str
    end: str = ""
    """The line ending as in the file; empty at the end of the file, and in text that a model sent."""

    @property
    def content(self) -> str:
        """The line without its ending."""
        return self.indent + self.body + self.trail


class Document:
    """A file's text by rows, counted from 0."""

    def __init__(self, text: str) -> None:
        """Split the text at LF, CRLF and CR."""
        self.rows: list[str] = []
        self.ends: list[str] = []
        self.starts: list[int] = []
        at = 0
        for found in LINE.findall(text):
            content = found.rstrip("\r\n")
            self.rows.append(content)
            self.ends.append(found[len(content) :])
            self.starts.append(at)
            at += len(found)
        self.starts.append(at)

    def lines(self, first: int, stop: int) -> list[BlockLine]:
        """Return the rows as lines, without `stop`."""
        return [split_ending(row, end) for row, end in zip(self.rows[first:stop], self.ends[first:stop], strict=True)]

    def ending_near(self, row: int) -> str:
        """Return the line ending for a new line at this row: that of the row, or of the nearest above, or below."""
        for at in [*range(min(row, len(self.ends) - 1), -1, -1), *range(max(row, 0), len(self.ends))]:
            if self.ends[at]:
                return self.ends[at]
        return "\n"


def split_ending(content: str, end: str = "") -> BlockLine:
    """Split one line without its ending."""
    body = content.strip(BLANK)
    if not body:
        return BlockLine("", "", content, end)
    start = content.index(body[0])
    return BlockLine(content[:start], body, content[start + len(body) :], end)


def lines_of(text: str) -> list[BlockLine]:
    """Split text from a model into lines; a final line ending does not begin another line."""
    return [split_ending(found.rstrip("\r\n")) for found in LINE.findall(text)]


def endings(text: str) -> list[str]:
    """Return the ending of each line; that of the last may be empty."""
    return [found[len(found.rstrip("\r\n")) :] for found in LINE.findall(text)]


def unified(text: str) -> str:
    """Return the text with LF as its only line ending."""
    return _END.sub("\n", text) if "\r" in text else text


def aligned(old: Sequence[object], new: Sequence[object]) -> list[tuple[int, int]]:
    """Pair positions with equal content, both in ascending order; equal ends are paired first."""
    head = 0
    while head < min(len(old), len(new)) and old[head] == new[head]:
        head += 1
    tail = 0
    while tail < min(len(old), len(new)) - head and old[-1 - tail] == new[-1 - tail]:
        tail += 1
    pairs = [(i, i) for i in range(head)]
    left, right = old[head : len(old) - tail], new[head : len(new) - tail]
    if left and right and len(left) * len(right) <= _MOST_PAIRS:
        for block in SequenceMatcher(None, left, right, autojunk=False).get_matching_blocks():
            pairs += [(head + block.a + k, head + block.b + k) for k in range(block.size)]
    return pairs + [(len(old) - tail + k, len(new) - tail + k) for k in range(tail)]


def indent_text(white: str) -> str:
    """Describe indentation in words: `no indentation`, `4 spaces`, `2 tabs`."""
    if not white:
        return "no indentation"
    names = [(white.count(" "), "space"), (white.count("\t"), "tab")]
    return " and ".join(plural(count, name) for count, name in names if count)
