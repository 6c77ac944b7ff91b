"""Read from git's own log of HEAD where it was at a time. Starts no git, so nothing of the repository is executed."""

from __future__ import annotations

import os
import re
from pathlib import Path

from .git_folders import find_folders
from .repository import repository_top

_TAIL = 100_000
"""Bytes at the end of the log that are read."""
_ENTRY = re.compile(rb"^([0-9a-f]{40,64}) ([0-9a-f]{40,64}) [^\t\n]*> (\d{1,12}) [+-]\d{4}", re.MULTILINE)


def head_moved(workspace: Path, since: float) -> tuple[str, str] | None:
    """Return the commits of HEAD at that time (Unix seconds) and now, or None if they are the same, or not known."""
    top = repository_top(workspace)
    folders = None if top is None else find_folders(top)
    if folders is None:
        return None
    later = [entry for entry in _ENTRY.findall(_tail(folders.own / "logs/HEAD")) if int(entry[2]) > since]
    if not later or later[0][0] == later[-1][1]:
        return None
    return later[0][0].decode(), later[-1][1].decode()


def _tail(log: Path) -> bytes:
    try:
        with os.fdopen(os.open(log, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - _TAIL))
            return file.read(_TAIL)
    except OSError:  # the repository keeps no log of HEAD
        return b""
