"""Read files and folders that an attacker may have prepared: never a FIFO or device, at any depth, with size limits."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from io import BufferedReader
from pathlib import Path

LARGEST = 1_000_000
"""Maximum size in bytes of a configuration file; a larger one is refused."""


def reader_of(descriptor: int) -> BufferedReader:
    """Return a file that reads from a descriptor, and closes it. Raises IsADirectoryError for a folder, closed as well.

    `os.fdopen` would leave a folder open.
    """
    return open("descriptor", "rb", opener=lambda _path, _flags: descriptor)


def read_plain(path: Path | str, limit: int = LARGEST) -> bytes:
    """Return the content of a regular file of at most `limit` bytes; links are followed.

    Raises OSError for anything else, and for a larger file. It never blocks on a FIFO and never triggers a device.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    with reader_of(descriptor) as file:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise OSError(errno.EINVAL, "not a regular file", str(path))
        data = file.read(limit + 1) if status.st_size <= limit else None
    if data is None or len(data) > limit:
        raise OSError(errno.EFBIG, f"larger than {limit:,} bytes", str(path))
    return data


def walk_folders(top: Path | str) -> Iterator[tuple[str, list[str], list[str]]]:
    """Yield what `os.walk` yields from the top down, at any depth; links are not followed.

    The caller may change the list of folders to skip some. (Before Python 3.12, `os.walk` fails on deep nesting.)
    """
    waiting = [os.fspath(top)]
    while waiting:
        folder = waiting.pop()
        folders, files = list[str](), list[str]()
        try:
            with os.scandir(folder) as listing:
                for entry in listing:
                    (folders if entry.is_dir(follow_symlinks=False) else files).append(entry.name)
        except OSError:
            continue
        yield folder, folders, files
        waiting += [f"{folder.rstrip('/')}/{name}" for name in reversed(folders)]
