"""The place that a finding cites as evidence: a line of a file, or the address of a page."""

from __future__ import annotations

import os
import re
from typing import NamedTuple

_LINE = re.compile(r"(?P<path>.+?):(?P<line>[1-9]\d{0,8})(?:-(?P<last>\d{1,9}))?(?::\d+)?(?:-\d+)?\Z", re.DOTALL)
_ADDRESS = re.compile(r"https?://\S+\Z", re.IGNORECASE)


class CitedLine(NamedTuple):
    """A line of a file, as the evidence names it."""

    path: str
    """As it was written: relative to the workspace, or absolute."""
    line: int
    last: int
    """The last line of a cited range, else the same line."""


def cited_line(evidence: str) -> CitedLine | None:
    """Return the line that `src/app.py:12`, `src/app.py:12:3` or `src/app.py:12-15` cites; None for other evidence."""
    text = evidence.strip()
    found = None if is_address(text) else _LINE.match(text)
    if found is None:
        return None
    line = int(found["line"])
    return CitedLine(found["path"], line, max(line, int(found["last"] or line)))


def path_in(path: str, workspace: str) -> str:
    """Return a cited path relative to the workspace if it lies inside, else the whole path."""
    whole = os.path.normpath(os.path.join(workspace, path))  # noqa: PTH118 - the path is text, and may not exist
    inside = whole.startswith(workspace.rstrip(os.sep) + os.sep)
    return os.path.relpath(whole, workspace) if inside else whole


def is_address(evidence: str) -> bool:
    """Return whether the evidence is the address of a page."""
    return _ADDRESS.match(evidence.strip()) is not None
