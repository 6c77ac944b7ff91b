"""The lines of each file that a lens read with `read_file`. Lines shown by a text search do not count."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Mapping
from typing import Any, cast

from ...protocol import Coverage, LensCoverage, ScopeCounted, ToolCalled, ToolFinished

Ranges = list[tuple[int, int]]
"""First and last line of each range, in order and with gaps between them."""
_LENS = "lens:"
_COUNT = re.compile(r"([\d,]+) lines?\Z")


def lens_of(work: str | None) -> str | None:
    """Return the lens that a work belongs to."""
    return work[len(_LENS) :] if work is not None and work.startswith(_LENS) else None


def path_called(called: ToolCalled) -> str | None:
    """Return the normalized path that a call of `read_file` names; None: it is another call."""
    if called.tool != "read_file" or not isinstance(called.arguments, dict):
        return None
    path = cast("dict[str, Any]", called.arguments).get("path")
    return posixpath.normpath(path) if isinstance(path, str) and path else None


def lines_shown(called: ToolCalled, finished: ToolFinished) -> tuple[int, int] | None:
    """Return the first and the last line that the call showed; None: the file is empty."""
    found = _COUNT.match(finished.summary or "")
    if found is None:
        return None
    start = cast("dict[str, Any]", called.arguments).get("start_line")
    first = int(start) if isinstance(start, int | float | str) and str(start).isdecimal() else 1
    first = max(1, first)
    return first, first + int(found[1].replace(",", "")) - 1


def add_range(ranges: Ranges, first: int, last: int) -> None:
    """Add the lines from `first` to `last`, and merge ranges that overlap or touch."""
    separate = [each for each in ranges if each[1] < first - 1 or each[0] > last + 1]
    joined = [each for each in ranges if not (each[1] < first - 1 or each[0] > last + 1)]
    separate.append((min([first, *(low for low, _ in joined)]), max([last, *(high for _, high in joined)])))
    ranges[:] = sorted(separate)


def count_lines(ranges: Iterable[tuple[int, int]]) -> int:
    """Return the total number of lines in the ranges."""
    return sum(last - first + 1 for first, last in ranges)


def in_scope(reads: Mapping[str, Ranges], placed: Mapping[str, str]) -> dict[str, Ranges]:
    """Return the files in scope that were read. `placed` maps a path to its file; empty: the file is not in scope."""
    found: dict[str, Ranges] = {}
    for path, ranges in reads.items():
        if name := placed.get(path, path):
            for first, last in ranges:
                add_range(found.setdefault(name, []), first, last)
            found.setdefault(name, [])
    return found


def coverage(
    reads: Mapping[str, Mapping[str, Ranges]], placed: Mapping[str, str], scope: ScopeCounted | None
) -> Coverage:
    """Compute how much of the scope each lens read, and how much all lenses read together."""
    whole: dict[str, Ranges] = {}
    lenses: list[LensCoverage] = []
    for lens, files in reads.items():
        found = in_scope(files, placed)
        lenses.append(LensCoverage(lens, len(found), sum(map(count_lines, found.values()))))
        for name, ranges in found.items():
            for first, last in ranges:
                add_range(whole.setdefault(name, []), first, last)
            whole.setdefault(name, [])
    return Coverage(
        files=scope.files if scope is not None else None,
        lines=scope.lines if scope is not None else None,
        all_counted=scope is not None and scope.all_counted,
        files_read=len(whole),
        lines_read=sum(map(count_lines, whole.values())),
        lenses=lenses,
    )
