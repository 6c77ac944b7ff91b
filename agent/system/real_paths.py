"""Resolve the links of a path, even while other programs change it."""

from __future__ import annotations

import errno
import os
from pathlib import Path

_TRIES = 100


def real_path(path: Path | str) -> Path:
    """Return the absolute path with every link followed; the path need not exist.

    It tries again when `os.path.realpath` fails because a link changed between its two system calls (lstat, readlink).
    """
    for _ in range(_TRIES):
        try:
            return Path(os.path.realpath(path))
        except OSError as error:
            if error.errno not in (errno.EINVAL, errno.ENOENT, errno.ENOTDIR):
                raise
    return Path(os.path.realpath(path))
