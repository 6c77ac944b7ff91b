"""Watch what a command writes while it runs, and kill it before it fills the disk or writes more than can be listed.

A thread looks at the free space of the file system, which costs nothing, and counts what was written, in slices and
with a tenth of a processor on average. A folder that its owner cannot list is counted when the command has ended.
"""

from __future__ import annotations

import asyncio
import os
import stat
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from ..protocol.text.effect_words import size_words
from .layer_effects import MOST_EFFECTS, TooMuch, refuse_long
from .open_below import FOLDER, open_below

if TYPE_CHECKING:
    from ..host.processes.process_tree import ProcessTree

_KEPT_BYTES, _KEPT_FILES, _KEPT_PART = 1_000_000_000, 20_000, 0.05
"""What stays free on the file system: these bytes and files, or this part of it if that is less."""
_FASTEST_BYTES, _FASTEST_FILES = 4_000_000_000, 500_000
"""What a command can write in a second. The fuller the disk, the more often its free space is read."""
_SHORTEST_PAUSE, _LONGEST_PAUSE = 0.02, 0.5
_SLICE, _SLICE_PAUSE = 2_000, 0.02
"""Entries that are counted without a pause, and seconds until the next ones."""
_FIRST_COUNT, _SHARE = 2.0, 10
"""Seconds until the first count; after a count that took a second, the next one begins `_SHARE` seconds later."""


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """What a command may write."""

    files: int = MOST_EFFECTS
    """Files, folders, links and deletions."""
    size: int
    """Sum of the sizes of its files, in bytes, holes included: a file is read and copied with them."""
    kept_size: int
    """Bytes that stay free on the file system."""
    kept_files: int
    """Files for which the file system keeps room, or 0 if it has no limit."""


class Present(NamedTuple):
    """What lies in watched folders and was not written by a command."""

    files: int
    """Files, folders and links."""
    size: int
    """Bytes, holes included."""


_NOTHING = Present(0, 0)


def limits_at(folder: Path) -> Limits:
    """Return the limits for a command whose files lie in this folder, from what is free there now. Raises OSError.

    1 GB and 20,000 files stay free, or 5 % of a smaller file system, but never more than half of what is free now.
    """
    disk = os.statvfs(folder)
    free, size = disk.f_bavail * disk.f_frsize, disk.f_blocks * disk.f_frsize
    kept = int(min(_KEPT_BYTES, size * _KEPT_PART, free / 2))
    files = int(min(_KEPT_FILES, disk.f_files * _KEPT_PART, disk.f_favail / 2))
    return Limits(size=free - kept, kept_size=kept, kept_files=files)


class Watch:
    """Watches one command: pass `begin` to `run_process` as `on_start`, and call `end` after it."""

    def __init__(self, uppers: Sequence[Path], limits: Limits, present: Present = _NOTHING) -> None:
        """`uppers`: the folders with what the command writes, on one file system. `present`: what else is in them."""
        self._uppers, self._limits, self.present = list(uppers), limits, present
        self.reached = ""
        """The limit that the command reached, and for which it was killed. Empty means none."""
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None

    def begin(self, tree: ProcessTree) -> None:
        """Watch from now on, and kill these processes at a limit. To be called in an event loop."""
        loop = asyncio.get_running_loop()
        self._thread = threading.Thread(target=self._watch, args=(tree, loop), name="layer-limits", daemon=True)
        self._thread.start()

    def end(self) -> None:
        """Stop watching. `reached` does not change any more."""
        self._ended.set()
        if self._thread is not None:
            self._thread.join()

    def _watch(self, tree: ProcessTree, loop: asyncio.AbstractEventLoop) -> None:
        counts = self._counts()
        while not self.reached:
            pause = _SHORTEST_PAUSE
            try:
                pause = min(self._check_disk(), next(counts))
            except TooMuch as much:
                self.reached = str(much)
            except OSError as error:
                self.reached = f"what it wrote cannot be counted any more ({error.strerror or error})"
            if self._ended.wait(0 if self.reached else pause):
                return
        with suppress(RuntimeError):  # the loop was closed, and with it the command was ended
            loop.call_soon_threadsafe(tree.kill)

    def _check_disk(self) -> float:
        """Set `reached` if the disk is full; else return the seconds in which it cannot become full."""
        disk, limits = os.statvfs(self._uppers[0]), self._limits
        free = disk.f_bavail * disk.f_frsize
        if free < limits.kept_size:
            self.reached = f"{size_words(free)} are free on the disk, and {size_words(limits.kept_size)} must stay free"
        elif limits.kept_files and disk.f_favail < limits.kept_files:
            self.reached = (
                f"the disk has room for {disk.f_favail:,} files, and for {limits.kept_files:,} it must stay free"
            )
        left = (free - limits.kept_size) / _FASTEST_BYTES
        if limits.kept_files:
            left = min(left, (disk.f_favail - limits.kept_files) / _FASTEST_FILES)
        return min(_LONGEST_PAUSE, max(_SHORTEST_PAUSE, left))

    def _counts(self) -> Iterator[float]:
        """Count again and again. Yield the seconds until the next slice. Raises TooMuch."""
        yield from _waiting(time.monotonic() + _FIRST_COUNT)
        while True:
            used = 0.0
            slices = self._count()
            while True:
                started = time.monotonic()
                ended = next(slices, None) is None
                used += time.monotonic() - started
                if ended:
                    break
                yield _SLICE_PAUSE
            yield from _waiting(time.monotonic() + max(1.0, used * _SHARE))

    def _count(self) -> Iterator[bool]:
        """Count all that was written; yield after each slice. Raises TooMuch and OSError."""
        files, size = -self.present.files, -self.present.size
        linked = set[int]()
        for upper in self._uppers:
            opened = os.open(upper, FOLDER | os.O_CLOEXEC)
            try:
                for status in _entries(opened):
                    files += 1
                    if stat.S_ISREG(status.st_mode) and status.st_ino not in linked:
                        size += status.st_size
                        if status.st_nlink > 1:
                            linked.add(status.st_ino)
                    if files > self._limits.files:
                        raise TooMuch(f"it wrote more than {self._limits.files:,} files")
                    if size > self._limits.size:
                        raise TooMuch(f"it wrote more than {size_words(self._limits.size)}")
                    if files % _SLICE == 0:
                        yield True
            finally:
                os.close(opened)


def _waiting(until: float) -> Iterator[float]:
    while (left := until - time.monotonic()) > 0:
        yield left


def _entries(folder: int) -> Iterator[os.stat_result]:
    """Yield the status of all entries below an open folder that changes meanwhile. Raises TooMuch."""
    waiting = [b""]
    while waiting:
        path = waiting.pop()
        try:
            opened = open_below(folder, path, FOLDER)
        except OSError:  # it was removed, replaced by a link, or made unreadable
            continue
        try:
            with os.scandir(opened) as listing:
                for entry in listing:
                    try:
                        status = entry.stat(follow_symlinks=False)
                    except OSError:  # it was removed; the others still count
                        continue
                    yield status
                    if stat.S_ISDIR(status.st_mode):
                        name = os.fsencode(entry.name)
                        inner = path + b"/" + name if path else name
                        refuse_long(inner)
                        waiting.append(inner)
        finally:
            os.close(opened)
