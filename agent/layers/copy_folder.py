"""The folder of a unit that works in a copy, and the lock of its runner."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from .occupied import Occupied, becomes

TREE, LOCK = "t", "lock"
"""Names of the copy and of the lock."""
COPIES = "copies"
"""Name of the folder with the copies that no unit uses."""


def wait_for_copy(folder: Path, seconds: float) -> None:
    """Wait until nobody works in the copy that another runner left in this folder. Raises Occupied and OSError."""
    lock = open_lock(folder)
    try:
        if not becomes(lambda: is_locked(lock), seconds):
            raise Occupied("another process works in the copy")
    finally:
        os.close(lock)


def copy_in(folder: Path) -> Path:
    """Return the copy of the unit in this folder."""
    return folder / TREE


def has_copy(folder: Path) -> bool:
    """Return whether the unit in this folder works in a copy."""
    return (folder / TREE).is_dir()


def open_lock(folder: Path) -> int:
    """Open the lock of a folder; the caller closes it. Raises OSError."""
    return os.open(folder / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)


def is_locked(lock: int) -> bool:
    """Take an open lock. Return whether nobody else has it."""
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
