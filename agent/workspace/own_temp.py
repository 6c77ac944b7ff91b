"""The temp folder of a run's commands: owner-only, gone with its owner, swept where the owner was killed."""

from __future__ import annotations

import fcntl
import os
import shutil
import stat
import tempfile
import weakref
from pathlib import Path

_FOLDER = "rundry-commands-"
_LOCK = "owner.lock"
"""Locked as long as the process lives that a temp folder belongs to."""


def own_temp(owner: object) -> Path:
    """A new folder, that lasts as long as its owner."""
    whole = Path(tempfile.mkdtemp(prefix=_FOLDER))
    inner = whole / "tmp"
    inner.mkdir(mode=0o700)
    weakref.finalize(owner, _give_up, whole, _lock_for(whole))
    return inner


def sweep_temp() -> None:
    """Removes the temp folders of processes that were killed: those whose lock nobody holds."""
    for folder in Path(tempfile.gettempdir()).glob(f"{_FOLDER}*"):
        try:
            status = folder.lstat()
            if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.getuid():
                continue
            lock = os.open(folder / _LOCK, os.O_RDWR | os.O_NOFOLLOW)
        except OSError:  # it is being made, or it is gone
            continue
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:  # its owner lives
            os.close(lock)
        else:
            _give_up(folder, lock)


def _lock_for(folder: Path) -> int:
    """The open lock of a temp folder; it has its name only once it is held."""
    making = folder / f"{_LOCK}.new"
    lock = os.open(making, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600)
    fcntl.flock(lock, fcntl.LOCK_EX)
    making.rename(folder / _LOCK)
    return lock


def _give_up(folder: Path, lock: int) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    os.close(lock)
