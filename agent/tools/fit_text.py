"""Prepare text for the model: numbered lines and bounded pieces."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from ..protocol.text.shorten_text import noted_cut

LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")
r"""One line with its ending: `\n`, `\r\n` or `\r`, as an editor counts them."""

LONGEST_LINE = 2_000
"""Characters of a line that the model gets."""


def lines_of(text: str) -> list[str]:
    """Split text into lines without their endings."""
    return [line.rstrip("\r\n") for line in LINE.findall(text)]


def numbered(lines: Iterable[str], start: int) -> list[str]:
    """Number the lines as `12| text`, and shorten very long ones."""
    return [f"{number}| {noted_cut(line, LONGEST_LINE)}" for number, line in enumerate(lines, start)]


def fitting(lines: Sequence[str], limit: int) -> int:
    """Count the lines that fit into `limit` characters; at least one."""
    used = 0
    for count, line in enumerate(lines):
        used += len(line) + 1
        if used > limit and count:
            return count
    return len(lines)


def head_and_tail(text: str, limit: int) -> tuple[str, str, int]:
    """Return the beginning, the end, and the number of lines between them. A text that fits is all in the beginning.

    Cuts between lines if there are any. The end is the longer piece, because errors come last.
    """
    if len(text) <= limit:
        return text, "", 0
    head, tail = text[: limit * 2 // 5], text[-(limit * 3 // 5) :]
    if "\n" in head:
        head = head[: head.rindex("\n") + 1]
    if "\n" in tail[:-1]:
        tail = tail[tail.index("\n") + 1 :]
    between = text[len(head) : len(text) - len(tail)]
    return head, tail, max(1, between.count("\n"))
