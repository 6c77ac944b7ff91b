"""What the works of a search read: the lines of each file that a lens read, and the sources that a work was shown.

A lens reads lines with `read_file`. Lines shown by a text search do not count.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from ...protocol import SKILL, Coverage, LensCoverage, ScopeCounted, ToolCalled, ToolFinished

Ranges = list[tuple[int, int]]
"""First and last line of each range, in order and with gaps between them."""
_LENS = "lens:"
_COUNT = re.compile(r"([\d,]+) lines?\Z")

_HIT = re.compile(r"^(.+?):\d+: ", re.MULTILINE)
"""A line of the result of `search`."""
_MATCHES = re.compile(r"[\d,]+ match(?:es)?\Z")
_OUTPUT = "output:"
"""Prefix of a long output of an earlier call."""
_MOST_SOURCES = 1_000
"""Sources that are remembered for one work."""


def lens_of(work: str | None) -> str | None:
    """Return the lens that a work belongs to."""
    return work[len(_LENS) :] if work is not None and work.startswith(_LENS) else None


def path_called(called: ToolCalled) -> str | None:
    """Return the normalized path that a call of `read_file` names, or None if it is another call."""
    if called.tool != "read_file" or not isinstance(called.arguments, dict):
        return None
    path = cast("dict[str, Any]", called.arguments).get("path")
    return posixpath.normpath(path) if isinstance(path, str) and path else None


def lines_shown(called: ToolCalled, finished: ToolFinished) -> tuple[int, int] | None:
    """Return the first and the last line that the call showed, or None if the file is empty."""
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
    """Return the files in scope that were read. `placed` maps a path to its file.

    Empty means that the file is not in scope.
    """
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


@dataclass(slots=True)
class Served:
    """The sources of which one work was shown content since it started."""

    earlier: dict[str, None] = field(default_factory=dict[str, None])
    """Paths and URLs whose content the model had before its newest answer, as the model named them."""
    newest: dict[str, None] = field(default_factory=dict[str, None])
    """Those that the calls of its newest answer served: it was written before the model saw them."""
    calls: dict[str, ToolCalled] = field(default_factory=dict[str, ToolCalled])
    """Reading calls without a result."""

    def begin_answer(self) -> None:
        """Record that the model gets the results so far, and answers again."""
        self.earlier.update(self.newest)
        self.newest.clear()
        while len(self.earlier) > _MOST_SOURCES:
            del self.earlier[next(iter(self.earlier))]

    def finished(self, event: ToolFinished) -> None:
        """Record the result of a call."""
        called = self.calls.pop(event.call_id, None)
        if called is not None and event.ok:
            self.newest.update(dict.fromkeys(_sources(called, event)))


def _sources(called: ToolCalled, finished: ToolFinished) -> list[str]:
    """Return what the result shows content of. Names, an empty file and a search without a match are none."""
    arguments = cast("dict[str, Any]", called.arguments) if isinstance(called.arguments, dict) else {}
    match called.tool:
        case "read_file":
            path = path_called(called)
            is_file = path is not None and not path.startswith((SKILL, _OUTPUT))
            return [path] if path is not None and is_file and lines_shown(called, finished) is not None else []
        case "search" if _MATCHES.match(finished.summary or ""):
            return list(dict.fromkeys(_HIT.findall(finished.result)))
        case "fetch_url":
            return [str(arguments.get("url", ""))]
        case _:
            return []
