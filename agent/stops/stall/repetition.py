"""Detect an answer that repeats the same piece of text."""

from __future__ import annotations

import re

_LONGEST = 40
"""Most words of a piece that is searched for."""
_ROUNDS = 12
_LEAST_WORDS = 60
"""Fewest words of all repetitions together; the chorus of a song has fewer."""
_FENCE = re.compile(r"^(```|~~~).*?^\1\s*$|^(```|~~~).*\Z", re.MULTILINE | re.DOTALL)
_REPEATS_BY_NATURE = re.compile(r"^(?:\s*[|+>#]|\s*(?:[-*•]|\d+[.)])\s|\s*[-=_*~.]{3,}\s*$|    |\t)")
"""Rows of tables, entries of lists, rulers, headings, quotes, indented code."""


def find_repetition(text: str) -> str | None:
    """Return the piece that the answer repeats at least 12 times in a row outside code, tables and lists, or None."""
    prose = [line for line in _FENCE.sub("\n", text).splitlines() if not _REPEATS_BY_NATURE.match(line)]
    words = " ".join(prose).casefold().split()
    for length in range(1, min(_LONGEST, len(words) // 2) + 1):
        end = _end_of_rounds(words, length)
        if end is not None:
            return " ".join(words[end - length : end])
    return None


def _end_of_rounds(words: list[str], length: int) -> int | None:
    """Return the position at which a piece of `length` words has enough repetitions in a row; None if there is none."""
    needed = max(_ROUNDS * length, _LEAST_WORDS) - length
    run = 0
    for i in range(length, len(words)):
        run = run + 1 if words[i] == words[i - length] else 0
        if run >= needed:
            return i + 1
    return None
