"""Open and swap files below a folder without following links, so that the file used is the file that was checked.

Each part of the path is opened with O_NOFOLLOW, starting at a descriptor of the workspace. A link that appears on
the path after the check is an error, so that it cannot lead outside (CVE-2025-53109, docs/attacks.md A.10).
"""

from __future__ import annotations

import ctypes
import errno
import os
import sys
from collections.abc import Generator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC  # a FIFO must not hang the opener

_LINUX_NOREPLACE, _LINUX_EXCHANGE = 1, 2  # linux/fs.h
_MAC_EXCHANGE, _MAC_NOREPLACE = 2, 4  # sys/stdio.h: RENAME_SWAP, RENAME_EXCL
_UNSUPPORTED = (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP)


def open_beneath(root: Path, path: Path, flags: int = _READ) -> int:
    """Open a file; the caller closes it. Raises OSError if a part of the path is missing, a link, or not a folder."""
    with folder_of(root, path) as folder:
        if path == root:
            return os.open(".", flags, dir_fd=folder)
        return os.open(path.name, flags, dir_fd=folder)


@contextmanager
def folder_of(root: Path, path: Path, made: list[Path] | None = None) -> Generator[int]:
    """Open the parent folder of the path. If `made` is given, create missing folders and add them to it."""
    parts = path.relative_to(root).parts[:-1]
    # The path to the root may contain the user's links; below it no link is followed.
    fd = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    here = root
    try:
        for part in parts:
            here = here / part
            inner = _enter(fd, part, here, made)
            os.close(fd)
            fd = inner
        yield fd
    finally:
        os.close(fd)


def _enter(fd: int, part: str, here: Path, made: list[Path] | None) -> int:
    try:
        return os.open(part, _FOLDER, dir_fd=fd)
    except FileNotFoundError:
        if made is None:
            raise
    try:
        os.mkdir(part, dir_fd=fd)
        made.append(here)
    except FileExistsError:
        pass
    return os.open(part, _FOLDER, dir_fd=fd)


def read_all(fd: int, limit: int) -> bytes:
    """Read from the descriptor's position to the end, at most `limit` bytes."""
    pieces: list[bytes] = []
    left = limit
    while left > 0 and (piece := os.read(fd, min(left, 1 << 20))):
        pieces.append(piece)
        left -= len(piece)
    return b"".join(pieces)


def write_all(fd: int, data: bytes) -> None:
    """Write all bytes at the descriptor's position."""
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


def exchange(folder: int, one: str, other: str) -> bool:
    """Swap two names of a folder atomically. Return False if the file system cannot do this."""
    flag = _MAC_EXCHANGE if sys.platform == "darwin" else _LINUX_EXCHANGE
    return _rename(folder, one, other, flag)


def rename_new(folder: int, old: str, new: str, to: int | None = None) -> None:
    """Rename a file without overwriting another one. Raises FileExistsError if the new name exists.

    `to`: the open folder of the new name. None means the same folder.
    """
    flag = _MAC_NOREPLACE if sys.platform == "darwin" else _LINUX_NOREPLACE
    if not _rename(folder, old, new, flag, to):
        os.link(old, new, src_dir_fd=folder, dst_dir_fd=folder if to is None else to, follow_symlinks=False)
        os.unlink(old, dir_fd=folder)


@cache
def _function() -> ctypes._NamedFuncPointer | None:  # pyright: ignore[reportPrivateUsage]
    library = ctypes.CDLL(None, use_errno=True)
    name = "renameatx_np" if sys.platform == "darwin" else "renameat2"
    function = getattr(library, name, None)
    if function is not None:
        function.argtypes = (ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_uint)
        function.restype = ctypes.c_int
    return function


def _rename(folder: int, old: str, new: str, flag: int, to: int | None = None) -> bool:
    function = _function()
    if function is None:
        return False
    source = os.fsencode(old)
    target = source if new == old else os.fsencode(new)
    if function(folder, source, folder if to is None else to, target, flag) == 0:
        return True
    code = ctypes.get_errno()
    if code in _UNSUPPORTED:
        return False
    raise OSError(code, os.strerror(code), new)
