"""Follow the links of a path that other programs change meanwhile."""

from __future__ import annotations

import errno
import os
from pathlib import Path

_TRIES = 100


def real_path(path: Path | str) -> Path:
    """Return the absolute path with every link followed; the path need not exist.

    `os.path.realpath` fails if a link is removed or replaced between its two system calls (lstat, readlink).
    """
    for _ in range(_TRIES):
        try:
            return Path(os.path.realpath(path))
        except OSError as error:
            if error.errno not in (errno.EINVAL, errno.ENOENT, errno.ENOTDIR):
                raise
    return Path(os.path.realpath(path))
