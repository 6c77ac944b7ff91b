"""Open what lies below a folder whose content may be hostile: no link is followed, and the folder is never left."""

from __future__ import annotations

import ctypes
import errno
import os
import stat
import struct
import sys
from functools import cache

BENEATH, NO_SYMLINKS, NO_MAGIC_LINKS, NO_MOUNTS = 0x08, 0x04, 0x02, 0x01
"""Rules of openat2(2). `NO_MOUNTS`: other mounts below are not entered."""
_OPENAT2 = 437
"""The system call, the same on every architecture."""
_RULES = BENEATH | NO_SYMLINKS | NO_MAGIC_LINKS
FOLDER = os.O_RDONLY | os.O_DIRECTORY
_TRIES = 100


def open_below(folder: int, path: bytes, flags: int, mode: int = 0, *, enters_mounts: bool = False) -> int:
    """Open a path below an open folder; the caller closes it. Raises OSError, with ELOOP or EXDEV if it leads away."""
    if sys.platform != "linux":
        return _walked(folder, path, flags, mode, enters_mounts=enters_mounts)
    rules = _RULES if enters_mounts else _RULES | NO_MOUNTS
    how = struct.pack("=QQQ", flags | os.O_CLOEXEC, mode, rules)
    for _ in range(_TRIES):
        found = _libc().syscall(
            ctypes.c_long(_OPENAT2), ctypes.c_int(folder), ctypes.c_char_p(path or b"."), how, ctypes.c_size_t(len(how))
        )
        if found >= 0:
            return int(found)
        if ctypes.get_errno() != errno.EAGAIN:  # something on the path was renamed meanwhile
            break
    code = ctypes.get_errno()
    if code in (errno.ENOSYS, errno.EPERM):  # a kernel or a container without this system call
        return _walked(folder, path, flags, mode, enters_mounts=enters_mounts)
    raise OSError(code, os.strerror(code), os.fsdecode(path))


def _walked(folder: int, path: bytes, flags: int, mode: int, *, enters_mounts: bool) -> int:
    """Do the same as `open_below`, one folder after the other."""
    parts = path.split(b"/") if path else [b"."]
    if b".." in parts or path.startswith(b"/"):
        raise OSError(errno.EXDEV, os.strerror(errno.EXDEV), os.fsdecode(path))
    device, here = os.fstat(folder).st_dev, os.dup(folder)
    try:
        for at, part in enumerate(parts):
            is_last = at == len(parts) - 1
            how = flags if is_last else FOLDER
            opened = os.open(part, how | os.O_NOFOLLOW | os.O_CLOEXEC, mode, dir_fd=here)
            os.close(here)
            here = opened
            if not enters_mounts and os.fstat(here).st_dev != device:
                raise OSError(errno.EXDEV, os.strerror(errno.EXDEV), os.fsdecode(path))
        return os.dup(here)
    finally:
        os.close(here)


def give_rights(folder: int, name: bytes, mode: int) -> None:
    """Set the mode of an entry of an open folder. A link is not followed: it is an error. Raises OSError."""
    found = os.open(name, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
    try:
        if stat.S_ISLNK(os.fstat(found).st_mode):
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), os.fsdecode(name))
        os.chmod(f"/proc/self/fd/{found}", mode)  # noqa: PTH101 - fchmod refuses such a descriptor
    finally:
        os.close(found)


@cache
def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)
