"""Record the writes of this process, so that a watcher ignores them and build caches notice each of them."""

from __future__ import annotations

import hashlib
import os
import threading
import time
from pathlib import Path
from typing import NamedTuple

from ..plain_files import reader_of

_KEPT = 4.0
"""Seconds that a pair of size and second is remembered: the time of a new write is never older."""
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class _Left(NamedTuple):
    signature: tuple[int, int, int, int] | None
    """Stat fields after the write. None means that we removed the file."""
    sha256: str | None


class RunWrites:
    """The writes of this process. Safe to use from several threads."""

    def __init__(self) -> None:
        self._left: dict[Path, _Left] = {}
        self._had: dict[Path, set[tuple[int, int]]] = {}
        self._lock = threading.Lock()

    def wrote(self, path: Path, after: os.stat_result, sha256: str | None) -> None:
        """Record the state and the SHA-256 of a file that this process wrote."""
        with self._lock:
            self._left[path] = _Left(_signature(after), sha256)

    def removed(self, path: Path, old: os.stat_result) -> None:
        """Record that this process removed the file. `old`: its last state."""
        with self._lock:
            self._left[path] = _Left(None, None)
            self._had.setdefault(path, set()).add((old.st_size, old.st_mtime_ns // 1_000_000_000))

    def is_ours(self, path: Path) -> bool:
        """Return whether the file is exactly as this process left it.

        The bytes are compared too, because another write of the same length within one clock tick keeps size and time.
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
        with reader_of(fd) as file:
            return hashlib.file_digest(file, "sha256").hexdigest() == left.sha256

    def time_for(self, path: Path, old: os.stat_result | None, size: int, natural_ns: int) -> int | None:
        """Return the modification time in ns to set on a new state of `size` bytes, or None if `natural_ns` is fine.

        Two recent states of a file must not have the same size and whole second, because build caches (make, Python's
        `.pyc`) identify a state by these two (docs/requirements.md 6.8).
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
