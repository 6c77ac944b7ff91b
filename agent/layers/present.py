"""Find out what is at given paths now. A file is read again only if the kernel reports that it was touched since."""

from __future__ import annotations

import hashlib
import os
import stat
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

from .direct_comparison import LONGEST_TICK, digest_of_file
from .layer_effects import Side, status_at, target_at
from .open_below import FOLDER

UNREADABLE = Side(type="file")
"""Something that cannot be read, or is neither a file nor a link nor a folder."""


class Present:
    """Reads paths below one folder, which is opened for each call. Only one thread may use it at a time."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._known: dict[str, tuple[tuple[int, ...], Side]] = {}

    def sides(self, paths: Iterable[str]) -> Iterator[tuple[str, Side | None]]:
        """Yield each path with what is there.

        A path where nothing is has None. Raises OSError if the folder cannot be opened.
        """
        root = os.open(self._root, FOLDER | os.O_CLOEXEC)
        try:
            for path in paths:
                yield path, self._side(root, path)
        finally:
            os.close(root)

    def _side(self, root: int, path: str) -> Side | None:
        name = os.fsencode(path)
        try:
            status = status_at(root, name)
            if status is None:
                return None
            if stat.S_ISDIR(status.st_mode):
                return Side(type="folder")
            if stat.S_ISLNK(status.st_mode):
                return Side(type="link", digest=hashlib.sha256(target_at(root, name)).hexdigest())
        except OSError:
            return UNREADABLE
        if not stat.S_ISREG(status.st_mode):
            return UNREADABLE
        facts = (status.st_ino, status.st_size, status.st_mode, status.st_ctime_ns, status.st_dev)
        known = self._known.get(path)
        if known is not None and known[0] == facts:
            return known[1]
        is_old = status.st_ctime_ns < time.time_ns() - LONGEST_TICK
        side = Side(
            type="file",
            digest=digest_of_file(root, name),
            size=status.st_size,
            executable=bool(status.st_mode & stat.S_IXUSR),
            mtime_ns=status.st_mtime_ns,
        )
        if is_old:
            self._known[path] = facts, side
        return side
