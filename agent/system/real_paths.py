"""Resolve and examine paths that anybody may have named: unreadable, too long, in a circle of links, or changing."""

from __future__ import annotations

import errno
import os
from glob import escape, glob
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


def followed(path: Path | str) -> Path | None:
    """Return the path with every link followed; None if a link cannot be read, such as /proc/1/root."""
    try:
        return real_path(path)
    except OSError:
        return None


def home_path(path: Path) -> str:
    """Return the path as a user writes it: below the home folder with `~`."""
    for home in (Path.home(), real_path(Path.home())):
        if path.is_relative_to(home):
            return str(Path("~") / path.relative_to(home))
    return str(path)


def matches(folder: Path | str, pattern: str) -> list[str]:
    """Return the paths below a folder that match a glob. Unlike `Path.glob`, skip folders that cannot be read."""
    return glob(f"{escape(str(folder))}/{pattern}", include_hidden=True)  # noqa: PTH207


def is_folder(path: Path | str) -> bool:
    """Return whether the path leads to a folder. False, unlike `Path.is_dir`, if it cannot be examined."""
    return os.path.isdir(path)  # noqa: PTH112


def is_file(path: Path | str) -> bool:
    """Return whether the path leads to a regular file. False, unlike `Path.is_file`, if it cannot be examined."""
    return os.path.isfile(path)  # noqa: PTH113


def is_link(path: Path | str) -> bool:
    """Return whether the path itself is a link. False, unlike `Path.is_symlink`, if it cannot be examined."""
    return os.path.islink(path)  # noqa: PTH114


def exists(path: Path | str) -> bool:
    """Return whether the path leads to something. False, unlike `Path.exists`, if it cannot be examined."""
    return os.path.exists(path)  # noqa: PTH110
