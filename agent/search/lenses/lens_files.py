"""Count the text files that lenses may read, in a thread, and map the paths that lenses name to these files."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from ...host.file_errors import PathRefused
from ...host.ignored_files import Ignore
from ...protocol import ReadsPlaced, ScopeCounted, Seed
from ..items.item_keys import file_of, item_key

if TYPE_CHECKING:
    from ...host.workspace_paths import Workspace
    from ...state.recorder import Events
    from ...state.search.finder_facts import FinderFacts
    from ...state.search.reads import Ranges

_SECONDS = 20.0
_MOST_FILES = 100_000
_LARGEST = 16 << 20
"""Bytes of the largest file whose lines are counted."""
_HEAD = 8_000
"""A NUL within these first bytes makes a file binary."""
_CHUNK = 1 << 20


@dataclass(slots=True)
class _Counted:
    files: set[str] = field(default_factory=set[str])
    """Paths relative to the workspace."""
    lines: int = 0
    complete: bool = True


class LensScope:
    """The scope of one search by lenses. Coverage is only reported, so what cannot be counted is left out."""

    def __init__(self, workspace: Workspace, paths: Sequence[str], seeds: Sequence[Seed]) -> None:
        """`paths`: the files and folders that the search names."""
        self._workspace, self._paths, self._seeds = workspace, paths, seeds
        self._counting: asyncio.Task[_Counted] | None = None
        self._stopped = False
        self._looked: set[str] = set()
        """Paths that were checked already."""

    def begin(self, events: Events) -> None:
        """Start to count in a thread. Later calls do nothing."""
        if self._counting is None:
            self._counting = asyncio.create_task(self._count(events))

    async def place(self, facts: FinderFacts, lens: str, events: Events) -> None:
        """Record which file a path of the lens means, if that is another file than the path names, or none in scope."""
        if self._counting is None:
            return
        counted = await asyncio.shield(self._counting)
        reads: dict[str, Ranges] = facts.lenses[lens].reads
        new = [path for path in reads if path not in self._looked]
        self._looked.update(new)
        meant = {path: self._meant(path, counted) for path in new if path not in facts.placed}
        if changed := {path: name for path, name in meant.items() if name != path}:
            events.record(ReadsPlaced(paths=changed))

    async def close(self) -> None:
        """Stop the count of the files in scope."""
        self._stopped = True
        if self._counting is not None:
            self._counting.cancel()
            await asyncio.gather(self._counting, return_exceptions=True)

    def _meant(self, path: str, counted: _Counted) -> str:
        try:
            name = self._workspace.relative(self._workspace.resolve(path))
        except (PathRefused, OSError, ValueError):
            return ""
        return name if name in counted.files or not counted.complete else ""

    async def _count(self, events: Events) -> _Counted:
        try:
            counted = await asyncio.to_thread(self._walk)
        except (OSError, ValueError):
            counted = _Counted(complete=False)
        events.record(ScopeCounted(files=len(counted.files), lines=counted.lines, all_counted=counted.complete))
        return counted

    def _walk(self) -> _Counted:
        counted, end = _Counted(), time.monotonic() + _SECONDS
        for start in self._starts():
            for path in self._files(start):
                if self._stopped or time.monotonic() > end or len(counted.files) >= _MOST_FILES:
                    counted.complete = False
                    return counted
                if path not in counted.files and (lines := self._lines(path)) is not None:
                    counted.files.add(path)
                    counted.lines += lines
        return counted

    def _starts(self) -> Sequence[str]:
        """Return the files and folders that the search names, relative to the workspace; else the whole workspace."""
        named = [*self._paths, *(seed.value for seed in self._seeds if seed.kind == "file")]
        root = self._workspace.root
        found = list[str]()
        for path in named:
            try:
                found.append(self._workspace.relative(file_of(item_key("file", path, root))))
            except (PathRefused, ValueError):
                continue
        return found or ["."]

    def _files(self, start: str) -> Iterator[str]:
        """Yield the files below a path. Links are left out: their target is either in scope itself or outside of it."""
        if (self._workspace.root / start).is_file():
            yield start
            return
        for path, entry in Ignore(self._workspace.root, self._workspace.skipped).walk(start):
            if entry.is_file(follow_symlinks=False):
                yield path

    def _lines(self, path: str) -> int | None:
        """Return the number of lines, or None if no tool may read the file or it is not text."""
        real = self._workspace.root / path
        try:
            self._workspace.refuse(real, path)
            return _count_lines(real)
        except (PathRefused, OSError, ValueError):
            return None


def _count_lines(path: Path) -> int | None:
    """Count lines as `read_file` numbers them. Returns None if the file is binary or very large."""
    if path.stat().st_size > _LARGEST:
        return None
    lines, last = 0, b""
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            if not last and b"\0" in chunk[:_HEAD]:
                return None
            lines += chunk.count(b"\n") + chunk.count(b"\r") - chunk.count(b"\r\n")
            if last == b"\r" and chunk[:1] == b"\n":
                lines -= 1
            last = chunk[-1:]
    return lines + (last not in (b"", b"\n", b"\r"))
