"""Record our own writes: a watcher tells them from others' writes, and build caches notice every new state."""

from __future__ import annotations

import hashlib
import os
import threading
import time
from pathlib import Path
from typing import NamedTuple

_KEPT = 4.0
"""Seconds that a (size, second) pair matters: a new write's own time is never that old."""
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class _Left(NamedTuple):
    signature: tuple[int, int, int, int] | None
    """None: we removed it."""
    sha256: str | None


class OwnWrites:
    """The writes of this process. Safe to use from several threads."""

    def __init__(self) -> None:
        self._left: dict[Path, _Left] = {}
        self._had: dict[Path, set[tuple[int, int]]] = {}
        self._lock = threading.Lock()

    def wrote(self, path: Path, after: os.stat_result, sha256: str | None) -> None:
        """Record that we left the file in this state, with these bytes."""
        with self._lock:
            self._left[path] = _Left(_signature(after), sha256)

    def removed(self, path: Path, old: os.stat_result) -> None:
        """Record that we removed the file, which was in this state."""
        with self._lock:
            self._left[path] = _Left(None, None)
            self._had.setdefault(path, set()).add((old.st_size, old.st_mtime_ns // 1_000_000_000))

    def is_ours(self, path: Path) -> bool:
        """Return whether the file is exactly as we left it.

        Its bytes are compared too: another write of the same length within one tick of the system's clock leaves the
        same size and time.
        """
        left = self._left.get(path)
        if left is None:
            return False
        try:
            if _signature(path.lstat()) != left.signature:
                return False
            fd = os.open(path, _READ)
        except FileNotFoundError:
            return left.signature is None
        except OSError:
            return False
        with os.fdopen(fd, "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest() == left.sha256

    def time_for(self, path: Path, old: os.stat_result | None, size: int, natural_ns: int) -> int | None:
        """Return the modification time in ns that a new state of `size` bytes needs, or None if its own is fine.

        A recent state of the file must not occur again with the same size and whole second: build caches
        (make, Python's `.pyc`) identify a file by these two (docs/requirements.md 6.8).
        """
        with self._lock:
            oldest = time.time() - _KEPT
            had = {pair for pair in self._had.get(path, ()) if pair[1] >= oldest}
            if old is not None:
                had.add((old.st_size, old.st_mtime_ns // 1_000_000_000))
            second = natural = natural_ns // 1_000_000_000
            while (size, second) in had:
                second += 1
            had.add((size, second))
            self._had[path] = had
        return None if second == natural else second * 1_000_000_000


def _signature(status: os.stat_result) -> tuple[int, int, int, int]:
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns
