"""Temporary folders: owner-only, removed with their owner, or at the next start if the owner was killed."""

from __future__ import annotations

import fcntl
import os
import shutil
import stat
import tempfile
import time
import weakref
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

_KINDS = ("bundle", "commands", "edit", "hooks", "index", "probe", "try")
"""Purposes of such folders: a part of their names."""
_LOCK = "owner.lock"
"""Name of a file that is locked while the process that owns the folder lives."""
_MAKING_SECONDS = 600.0
"""A folder without a lock is removed after this time: its owner was killed while it made the folder."""


def own_temp(owner: object) -> Path:
    """Make a temporary folder that lasts as long as its owner."""
    whole, lock = _make("commands")
    weakref.finalize(owner, _give_up, whole, lock)
    return whole / "tmp"


@contextmanager
def temp_folder(kind: str, below: Path | None = None) -> Generator[Path]:
    """Make a temporary folder that lasts as long as the block. `kind`: its purpose, one of `_KINDS`.

    `below`: the parent instead of the system's temp folder; old folders there are removed.
    """
    if below is not None:
        sweep_temp(below)
    whole, lock = _make(kind, below)
    try:
        yield whole / "tmp"
    finally:
        _give_up(whole, lock)


def sweep_temp(below: Path | None = None) -> None:
    """Remove the temp folders of killed processes: those whose lock nobody holds."""
    for kind in _KINDS:
        for folder in (below or Path(tempfile.gettempdir())).glob(f"rundry-{kind}-*"):
            _sweep(folder)


def _sweep(folder: Path) -> None:
    try:
        status = folder.lstat()
    except OSError:  # it is gone
        return
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.getuid():
        return
    try:
        lock = os.open(folder / _LOCK, os.O_RDWR | os.O_NOFOLLOW)
    except OSError:  # it is being made, or its owner was killed while making it
        if time.time() - status.st_mtime > _MAKING_SECONDS:
            shutil.rmtree(folder, ignore_errors=True)
        return
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:  # its owner lives
        os.close(lock)
    else:
        _give_up(folder, lock)


def _make(kind: str, below: Path | None = None) -> tuple[Path, int]:
    """Make a folder with a folder `tmp` in it, and its lock."""
    assert kind in _KINDS  # else it would never be swept
    whole = Path(tempfile.mkdtemp(prefix=f"rundry-{kind}-", dir=below))
    (whole / "tmp").mkdir(mode=0o700)
    return whole, _lock_for(whole)


def _lock_for(folder: Path) -> int:
    """Open and hold the lock of a temp folder; it gets its name only when it is held."""
    making = folder / f"{_LOCK}.new"
    lock = os.open(making, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600)
    fcntl.flock(lock, fcntl.LOCK_EX)
    making.rename(folder / _LOCK)
    return lock


def _give_up(folder: Path, lock: int) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    os.close(lock)
