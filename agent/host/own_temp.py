"""Temporary folders, readable only by the user and removed with the object or block that owns them.

If the process was killed, the next start removes them.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import stat
import tempfile
import time
import weakref
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

_KINDS = ("bundle", "commands", "dask", "edit", "hooks", "index", "paste", "probe", "try")
"""Purposes of temporary folders. The name of a folder contains its purpose."""
_LOCK = "owner.lock"
"""File that the owning process keeps locked while it runs."""
_MAKING_SECONDS = 600.0
"""Age after which a folder without a lock is removed: its owner was killed while making it."""


def own_temp(owner: object) -> Path:
    """Make a temporary folder that lasts as long as its owner."""
    whole, lock = _make("commands")
    weakref.finalize(owner, _remove, whole, lock)
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
        _remove(whole, lock)


def sweep_temp(below: Path | None = None) -> None:
    """Remove the temp folders of killed processes: those whose lock nobody holds."""
    for kind in _KINDS:
        for folder in (below or Path(tempfile.gettempdir())).glob(f"rundry-{kind}-*"):
            _sweep(folder)


def _sweep(folder: Path) -> None:
    try:
        status = folder.lstat()
    except OSError:  # the folder was removed meanwhile
        return
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.getuid():
        return
    try:
        lock = os.open(folder / _LOCK, os.O_RDWR | os.O_NOFOLLOW)
    except OSError:  # the folder is being made, or its owner was killed while making it
        if time.time() - status.st_mtime > _MAKING_SECONDS:
            shutil.rmtree(folder, ignore_errors=True)
        return
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:  # the owner is still running
        os.close(lock)
    else:
        _remove(folder, lock)


def _make(kind: str, below: Path | None = None) -> tuple[Path, int]:
    """Make a folder that contains a folder `tmp` and the lock file. Return it with the descriptor of the lock."""
    assert kind in _KINDS  # otherwise `sweep_temp` would never remove it
    whole = Path(tempfile.mkdtemp(prefix=f"rundry-{kind}-", dir=below))
    (whole / "tmp").mkdir(mode=0o700)
    return whole, _lock_for(whole)


def _lock_for(folder: Path) -> int:
    """Create the lock file of a temp folder and lock it before it gets its final name."""
    making = folder / f"{_LOCK}.new"
    lock = os.open(making, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600)
    fcntl.flock(lock, fcntl.LOCK_EX)
    making.rename(folder / _LOCK)
    return lock


def _remove(folder: Path, lock: int) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    os.close(lock)


def remove_entry(path: Path) -> None:
    """Remove a file, or a folder with its content, from a temporary folder. What cannot be removed stays."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        with suppress(OSError):
            path.unlink()
