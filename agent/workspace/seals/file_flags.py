"""Undo `chattr +i` and `chattr +a`, with which a command of root can prevent rundry from restoring a file."""

from __future__ import annotations

import array
import os
import stat
import sys
from contextlib import suppress
from pathlib import Path

_GET, _SET = 0x80086601, 0x40086602  # FS_IOC_GETFLAGS, FS_IOC_SETFLAGS of linux/fs.h
_IMMUTABLE, _APPEND_ONLY = 0x10, 0x20


def clear_flags(root: Path, path: str) -> bool:
    """Make the path and its parent folders changeable. Return whether one of them was not.

    Links below `root` are not followed.
    """
    if sys.platform != "linux":
        return False
    found = False
    fd = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        found = _clear_flags(fd)
        for part in path.split("/"):
            status = os.stat(part, dir_fd=fd, follow_symlinks=False)
            if not (stat.S_ISDIR(status.st_mode) or stat.S_ISREG(status.st_mode)):
                break
            inner = os.open(part, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=fd)
            os.close(fd)
            fd = inner
            found |= _clear_flags(fd)
    except FileNotFoundError:
        return found
    finally:
        os.close(fd)
    return found


def _clear_flags(fd: int) -> bool:
    """Remove the flags of an open file or folder. Return False if it has none, or they cannot be changed."""
    import fcntl

    flags = array.array("I", [0, 0])
    with suppress(OSError):
        fcntl.ioctl(fd, _GET, flags)
        if flags[0] & (_IMMUTABLE | _APPEND_ONLY):
            flags[0] &= ~(_IMMUTABLE | _APPEND_ONLY)
            fcntl.ioctl(fd, _SET, flags)
            return True
    return False
