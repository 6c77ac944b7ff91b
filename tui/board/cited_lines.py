"""The lines of a file around a cited line, as they are now. Does not import textual."""

from __future__ import annotations

import io
import os
import stat
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from rundry.agent import cited_line, line_of_place

_MOST_BYTES = 2_000_000
_LONGEST_LINE = 20_000


@dataclass(frozen=True, slots=True)
class Excerpt:
    """The content of a file, and the line that the finding cites."""

    lines: list[str]
    line: int
    """From 1."""
    note: str = ""
    """What changed since the finding was reported, or an empty text if nothing did."""

    def around(self, height: int) -> list[tuple[int, str]]:
        """Return number and text of at most `height` lines, with the cited one in the middle where possible."""
        first = max(1, min(self.line - (height - 1) // 2, len(self.lines) - height + 1))
        return [(at, self.lines[at - 1]) for at in range(first, min(len(self.lines), first + height - 1) + 1)]


def excerpt(evidence: str, root: Path, place: str = "") -> Excerpt | str:
    """Return the lines around `src/app.py:12`, or why they are not shown; empty if no line is cited.

    Only plain files of the workspace are read, because a model wrote the evidence. `place` is the place of the finding
    with the former content of the line, so that a changed or moved line is reported.
    """
    found = cited_file(evidence, root)
    if isinstance(found, str):
        return found
    file, line = found
    try:
        there = file.stat(follow_symlinks=False)
        return _excerpt(file, line, place, (there.st_mtime_ns, there.st_size, there.st_ino))
    except FileNotFoundError:
        return "the file does not exist any more"
    except (OSError, ValueError):
        return "the file cannot be read"


def cited_file(evidence: str, root: Path) -> tuple[Path, int] | str:
    """Return the cited file of the workspace and the line, or why it is not read; empty if no line is cited."""
    cited = cited_line(evidence)
    if cited is None:
        return ""
    try:
        file = (root / cited.path).resolve()
        is_inside = file.is_relative_to(root.resolve())
    except (OSError, ValueError):
        return "the file cannot be read"
    return (file, cited.line) if is_inside else "not shown: it is outside of the workspace"


@lru_cache(maxsize=64)
def _excerpt(file: Path, line: int, place: str, version: tuple[int, int, int]) -> Excerpt | str:
    del version  # part of the key: a changed file is read again
    lines = _read(file)
    if lines is None:
        return "not shown: it is not a plain text file"
    now = line_of_place(lines, place, line)
    if now is not None and now != line:
        return Excerpt(lines, now, f"moved from line {line} since it was reported")
    if not 1 <= line <= len(lines):
        return f"the file has {len(lines):,} lines now, line {line:,} does not exist"
    return Excerpt(lines, line, "changed since it was reported" if place and now is None else "")


def _read(file: Path) -> list[str] | None:
    # A folder is closed again: with `os.fdopen` it would stay open.
    how = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW
    with open(file, "rb", opener=lambda path, _: os.open(path, how)) as source:
        if not stat.S_ISREG(os.fstat(source.fileno()).st_mode):
            return None
        data = source.read(_MOST_BYTES)
    if b"\0" in data:
        return None
    text = io.StringIO(data.decode("utf-8", "replace"), newline=None)
    return [line.rstrip("\n")[:_LONGEST_LINE] for line in text]
