"""The text of a cited line with the lines around it, by which a finding is recognized after the file changed."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

_LONGEST_LINE = 20_000
_EDGE = ""
"""Stands for the line before a file's first line and after its last one."""
_DIGITS = 16


def short_digest(*texts: str) -> str:
    """Return a short hash of the texts."""
    whole = "\0".join(texts).encode(errors="replace")
    return hashlib.blake2b(whole, digest_size=_DIGITS // 2).hexdigest()


def line_of_place(lines: Sequence[str], place: str, near: int) -> int | None:
    """Return the line of the file, from 1, that has the text of this place; of several, the one closest to `near`.

    None: no line has it. The line `near` if the place does not say what the text was.
    """
    digest = place.rpartition("#")[2].partition(".")[0].partition("~")[0]
    if "#" not in place or len(digest) != _DIGITS:
        return near
    plain = [_EDGE, *(line[:_LONGEST_LINE].strip() for line in lines), _EDGE]
    for at in sorted(range(1, len(plain) - 1), key=lambda line: abs(line - near)):
        if short_digest(plain[at - 1], plain[at], plain[at + 1]) == digest:
            return at
    return None
