"""Group the calls of an answer: reads that run in parallel, changes that are one review, and single calls."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ...protocol.tools.traits import traits_of
from ...tools.arguments import EditFile, WriteFile

if TYPE_CHECKING:
    from ...protocol import ToolCall
    from ...protocol.tools.traits import ToolEffect
    from ...tools.parse import Parsed

PARALLEL_READS = 8
"""Reads that run in parallel. The time-out of each starts when it starts, not with the answer."""


@dataclass(frozen=True, slots=True)
class ParsedCall:
    """A call and its parsed arguments."""

    call: ToolCall
    parsed: Parsed

    @property
    def effect(self) -> ToolEffect | None:
        """Return what the call does; None: it is not a valid call."""
        return None if self.parsed.error is not None else traits_of(self.call.tool).effect


def batches_of(calls: Sequence[ParsedCall], root: Path) -> list[list[ParsedCall]]:
    """Group adjacent reads, and adjacent changes of different files. The call that ends the work comes last."""
    batches: list[list[ParsedCall]] = []
    files: set[str] = set()
    for one in sorted(calls, key=lambda call: call.effect in ("finish", "end")):
        last, file = batches[-1][-1] if batches else None, _file(one, root)
        if last is not None and last.effect == one.effect == "read" and len(batches[-1]) < PARALLEL_READS:
            batches[-1].append(one)
        elif file is not None and files and file not in files:
            batches[-1].append(one)
            files.add(file)
        else:
            batches.append([one])
            files = set() if file is None else {file}
    return batches


def places_of(calls: Sequence[ParsedCall], root: Path) -> dict[str, tuple[int, int]]:
    """Return for each change the number of its file and of all files, if the answer changes several files."""
    found = {one.call.call_id: file for one in calls if (file := _file(one, root)) is not None}
    files = list(dict.fromkeys(found.values()))
    return {name: (files.index(file) + 1, len(files)) for name, file in found.items()} if len(files) > 1 else {}


def _file(one: ParsedCall, root: Path) -> str | None:
    """Return one name for the file that the call changes: links resolved, case folded. None: it changes none."""
    given = one.parsed.arguments
    if not isinstance(given, EditFile | WriteFile):
        return None
    try:
        return os.path.realpath(root / given.path).casefold()
    except (ValueError, OSError):
        return None
