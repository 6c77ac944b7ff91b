"""Delete a tree that may be deeper than a path can be long, and whose folders may refuse their owner."""

from __future__ import annotations

import os
import secrets
import stat
from pathlib import Path

from .open_below import give_rights

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def remove_tree(top: Path) -> None:
    """Delete a folder and all below it; links are not followed. Raises OSError.

    Each inner folder is first moved to the top, so that no path has more than two parts.
    """
    opened = os.open(top, _FOLDER)
    try:
        waiting = list[bytes]()
        for name in _names(opened):
            if not _unlink(opened, name):
                waiting.append(name)
        while waiting:
            name = waiting.pop()
            give_rights(opened, name, 0o700)
            inner = os.open(name, _FOLDER, dir_fd=opened)
            try:
                for below in _names(inner):
                    if _unlink(inner, below):
                        continue
                    moved = secrets.token_hex(16).encode()
                    give_rights(inner, below, 0o700)  # a folder without the right to write cannot be moved
                    os.rename(below, moved, src_dir_fd=inner, dst_dir_fd=opened)
                    waiting.append(moved)
            finally:
                os.close(inner)
            os.rmdir(name, dir_fd=opened)
    finally:
        os.close(opened)
    top.rmdir()


def _names(folder: int) -> list[bytes]:
    with os.scandir(folder) as listing:
        return [os.fsencode(entry.name) for entry in listing]


def _unlink(folder: int, name: bytes) -> bool:
    """Delete a name that is not a folder. Return False for a folder."""
    if stat.S_ISDIR(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
        return False
    os.unlink(name, dir_fd=folder)
    return True
