"""Resolve and examine paths that anybody may have named: unreadable, too long, in a circle of links, or changing."""

from __future__ import annotations

import errno
import os
import re
from glob import escape, glob
from pathlib import Path

_TRIES = 100
_MOST_LINKS = 40
"""As many as the kernel follows (path_resolution(7))."""
_VIEW = re.compile(r"/proc/self/fd/\d+(?=/|$)")


def real_path(path: Path | str) -> Path:
    """Return the absolute path with every link followed; the path need not exist.

    A path below an open folder (`/proc/self/fd/N`) stays below it: that folder is a view of the workspace, in which
    also an absolute link to the workspace leads to the view.

    It tries again when `os.path.realpath` fails because a link changed between its two system calls (lstat, readlink).
    """
    if view := _VIEW.match(os.fspath(path)):
        return _real_in_view(view[0], os.fspath(path)[len(view[0]) :], _MOST_LINKS)
    for _ in range(_TRIES):
        try:
            return Path(os.path.realpath(path))
        except OSError as error:
            if error.errno not in (errno.EINVAL, errno.ENOENT, errno.ENOTDIR):
                raise
    return Path(os.path.realpath(path))


def _real_in_view(view: str, below: str, links: int) -> Path:
    """Return the real path of what is below a view. After `links` links, which are a circle, no more are followed."""
    seen = os.readlink(view)  # noqa: PTH115 - the path that the view has for commands, as text
    waiting, done = below.split("/")[::-1], list[str]()
    while waiting:
        part = waiting.pop()
        if part in ("", "."):
            continue
        if part == ".." and not done:
            return _from_outside(view, "/".join((os.path.dirname(seen), *reversed(waiting))), links)  # noqa: PTH120
        if part == "..":
            done.pop()
            continue
        try:
            target = os.readlink("/".join((view, *done, part)))  # noqa: PTH115
        except OSError:  # not a link, or nothing is there
            done.append(part)
            continue
        if not links:
            return Path(view, *done, part, *reversed(waiting))
        links -= 1
        if target.startswith("/"):
            return _from_outside(view, "/".join((target, *reversed(waiting))), links)
        waiting += target.split("/")[::-1]
    return Path(view, *done)


def _from_outside(view: str, path: str, links: int) -> Path:
    """Return the real path of an absolute path, which may lead back into the view."""
    seen = os.readlink(view)  # noqa: PTH115
    real = path if _is_below(path, seen) else os.path.realpath(path)
    return _real_in_view(view, real[len(seen) :], links) if _is_below(real, seen) else Path(real)


def _is_below(path: str, folder: str) -> bool:
    return path == folder or path.startswith(f"{folder}/")


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
