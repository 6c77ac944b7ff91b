"""Remove the empty files that bubblewrap makes in a workspace if a file on which it mounts something disappears."""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

_MOUNTS = frozenset({"--bind", "--bind-try", "--ro-bind", "--ro-bind-try"})
_WRITABLE = 0o222


class MountPoints:
    """The files of a workspace on which a sandbox mounts something, as they are before it is set up.

    bubblewrap makes a missing one: an empty file without write permission, in the way of the user's programs.
    """

    def __init__(self, argv: Sequence[str], ws: Path) -> None:
        """`argv`: the command line of bubblewrap."""
        above = f"{os.path.realpath(ws)}/"
        targets = {argv[at + 2] for at, word in enumerate(argv) if word in _MOUNTS and at + 2 < len(argv)}
        self._before = {path: _identity(path) for path in targets if path.startswith(above)}

    def remove_made(self) -> None:
        """Remove the files that were made since, but none that has content or that can be written."""
        for path, before in self._before.items():
            with suppress(OSError):
                status = os.lstat(path)
                is_empty = stat.S_ISREG(status.st_mode) and not status.st_size and not status.st_mode & _WRITABLE
                if is_empty and status.st_nlink == 1 and (status.st_dev, status.st_ino) != before:
                    os.unlink(path)  # noqa: PTH108


def _identity(path: str) -> tuple[int, int] | None:
    try:
        status = os.lstat(path)
    except OSError:
        return None
    return status.st_dev, status.st_ino
