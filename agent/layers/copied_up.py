"""Files of a unit of work that were only copied up: they must not hide later changes by the user.

A second name, a change of the mode and back, or a file that is opened for writing and not written makes the overlay
copy a file. The copy then has the bytes and the time of the workspace's file. After the workspace's file changes,
nothing shows that the unit did not write its copy, so it is noted before.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable

from .direct_comparison import digest_of_file
from .layer_effects import is_opaque, status_at
from .open_below import FOLDER, open_below


class CopiedUp:
    """The files that were only copied up when somebody looked last."""

    def __init__(self) -> None:
        self._seen = dict[bytes, tuple[int, int]]()

    def note(self, written: Iterable[tuple[bytes, os.stat_result]], top: int, below: int, until_ns: int) -> None:
        """Note which of these files of `top` are as in `below`. Both are open folders. Raises OSError.

        `until_ns`: a change time of their file system that is past; what changed since then is not looked at.
        """
        for path, status in written:
            seen = (status.st_ino, status.st_ctime_ns)
            if not stat.S_ISREG(status.st_mode) or status.st_ctime_ns >= until_ns or self._seen.get(path) == seen:
                continue
            under = status_at(below, path)
            if under is None or _looks(status) != _looks(under):
                continue
            digest = digest_of_file(top, path)
            if digest and digest == digest_of_file(below, path):
                self._seen[path] = seen

    def holds(self, path: bytes, inode: int, ctime_ns: int) -> bool:
        """Return whether a file was only copied up, and was not touched since."""
        return self._seen.get(path) == (inode, ctime_ns)

    def remove_from(self, upper: int) -> list[bytes]:
        """Delete the copies from the open folder of an unmounted layer, and return their paths. Raises OSError."""
        removed = list[bytes]()
        for path in self._seen:
            status = status_at(upper, path)
            if status is None or not self.holds(path, status.st_ino, status.st_ctime_ns):
                continue
            above, _, name = path.rpartition(b"/")
            if _shows_what_is_below(upper, above):
                folder = open_below(upper, above, FOLDER)
                try:
                    os.unlink(name, dir_fd=folder)
                finally:
                    os.close(folder)
                removed.append(path)
        self._seen.clear()
        return removed


def _looks(status: os.stat_result) -> tuple[int, int, int, int]:
    return stat.S_IFMT(status.st_mode), status.st_mode & stat.S_IXUSR, status.st_size, status.st_mtime_ns


def _shows_what_is_below(upper: int, folder: bytes) -> bool:
    """Return whether neither a folder of a layer nor one above it hides what lies below the layer."""
    while folder:
        if is_opaque(upper, folder):
            return False
        folder = folder.rpartition(b"/")[0]
    return True
