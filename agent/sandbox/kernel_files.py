"""Find the files below /proc that this user can open for writing and that do not belong to one process."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import cache

_PROC = "/proc"


def writable_kernel_entries() -> list[str]:
    """Return the entries of /proc, without those of processes, that contain something this user can write.

    For root these are all, because no mode of a file stops it. For other users there are few.
    """
    try:
        with os.scandir(_PROC) as entries:
            names = [entry.name for entry in entries if not entry.name.isdigit() and not entry.is_symlink()]
    except OSError:
        return []
    return [f"{_PROC}/{name}" for name in sorted(names) if _has_writable(f"{_PROC}/{name}")]


@cache
def _has_writable(entry: str) -> bool:
    return any(os.access(path, os.W_OK, effective_ids=True) for path in files_below(entry))


def files_below(place: str) -> Iterator[str]:
    """Yield all files below a place, or the place itself if it is one. Links and unreadable folders are left out."""
    waiting = [place]
    while waiting:
        path = waiting.pop()
        try:
            with os.scandir(path) as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(entry.path)
                    elif not entry.is_symlink():
                        yield entry.path
        except NotADirectoryError:
            yield path
        except OSError:
            continue
