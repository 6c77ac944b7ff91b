"""The lines of a file around a cited place. No textual in here."""

from __future__ import annotations

import os
import re
import stat
from dataclasses import dataclass
from pathlib import Path

_AROUND = 4
_MOST_BYTES = 2_000_000
_CITED = re.compile(r"^(?P<path>.+?)(?::(?P<line>\d+))?(?:[:-]\d+)?$")


@dataclass(frozen=True, slots=True)
class Excerpt:
    """What stands there now."""

    lines: list[tuple[int, str]]
    """Number and text, as it stands in the file."""
    line: int
    """The cited one."""


def excerpt(evidence: str, root: Path) -> Excerpt | str:
    """The lines around `src/app.py:12`, or why they are not shown; nothing to say where no file is cited.

    Only plain files of the workspace are read: what is cited is a model's word.
    """
    match = _CITED.match(evidence.strip())
    if match is None or match["line"] is None:
        return ""
    line = int(match["line"][:9])
    try:
        place = (root / match["path"]).resolve()
        if not place.is_relative_to(root.resolve()):
            return "not shown: it is outside of the workspace"
        text = _read(place)
    except (OSError, ValueError):
        return "the file cannot be read"
    if text is None:
        return "not shown: it is not a plain text file"
    lines = text.splitlines()
    if not 1 <= line <= len(lines):
        return f"the file has {len(lines)} lines, line {line} is not there"
    first = max(1, line - _AROUND)
    return Excerpt([(at, lines[at - 1]) for at in range(first, min(len(lines), line + _AROUND) + 1)], line)


def _read(place: Path) -> str | None:
    number = os.open(place, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW)
    with os.fdopen(number, "rb") as file:
        if not stat.S_ISREG(os.fstat(number).st_mode):
            return None
        data = file.read(_MOST_BYTES)
    return None if b"\0" in data else data.decode(errors="replace")
