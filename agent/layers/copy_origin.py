"""Find out which folder or file an overlay copied, by the handle of its inode that the kernel stores in the copy.

A command in the layer can neither read nor write the attribute (overlayfs.rst, "user.overlay."). Where the file system
has no handles, the kernel leaves it empty (`ovl_set_origin` in fs/overlayfs/copy_up.c), so that a copy still differs
from what a command made.
"""

from __future__ import annotations

import ctypes
import errno
import os
from functools import cache

from .open_below import FOLDER, open_below

_ORIGIN = "user.overlay.origin"
_MAGIC = b"\0\xfb"
"""Version and magic byte of the attribute (`struct ovl_fb` in fs/overlayfs/overlayfs.h)."""
_LENGTH, _TYPE, _HANDLE = 2, 4, 21
"""Where it has its length, the type of the handle, and the handle."""
_EMPTY_PATH = 0x1000


class _FileHandle(ctypes.Structure):
    """`struct file_handle` (name_to_handle_at(2)) with the most bytes that a handle can have."""

    _fields_ = (("size", ctypes.c_uint), ("type", ctypes.c_int), ("data", ctypes.c_ubyte * 128))


def is_copy_of(upper: int, path: bytes, below: int) -> bool:
    """Return whether the folder of a layer is a copy of the one that lies below it now. Raises OSError.

    Returns False if this cannot be determined.
    """
    origin = origin_of(upper, path, FOLDER)
    return origin is not None and handle_of(below, path) == origin


def is_copy(upper: int, path: bytes) -> bool:
    """Return whether the folder of a layer was there before, and the overlay copied it. Raises OSError.

    Returns True if this cannot be determined.
    """
    return _attribute(upper, path, FOLDER) is not None


def origin_of(upper: int, path: bytes, flags: int) -> tuple[int, bytes] | None:
    """Return type and bytes of the handle of what an overlay copied to this path, if it is known. Raises OSError.

    `flags`: those with which the path is opened.
    """
    written = _attribute(upper, path, flags) or b""
    if len(written) <= _HANDLE or not written.startswith(_MAGIC) or written[_LENGTH] != len(written):
        return None
    return written[_TYPE], written[_HANDLE:]


def _attribute(upper: int, path: bytes, flags: int) -> bytes | None:
    """Return the attribute; empty if it cannot be read, None if there is none. Raises OSError."""
    opened = open_below(upper, path, flags)
    try:
        return os.getxattr(opened, _ORIGIN)
    except OSError as error:
        return None if error.errno == errno.ENODATA else b""
    finally:
        os.close(opened)


def handle_of(folder: int, path: bytes) -> tuple[int, bytes] | None:
    """Return type and bytes of the handle of what is at a path, if that is there and has one. Raises OSError."""
    try:
        opened = open_below(folder, path, os.O_PATH | os.O_NOFOLLOW)
    except (FileNotFoundError, NotADirectoryError):  # somebody deleted it right now
        return None
    try:
        handle, mount = _FileHandle(size=128), ctypes.c_int()
        if _libc().name_to_handle_at(opened, b"", ctypes.byref(handle), ctypes.byref(mount), _EMPTY_PATH):
            return None
        return handle.type, bytes(handle.data[: handle.size])
    finally:
        os.close(opened)


@cache
def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)
