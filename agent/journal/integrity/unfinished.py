"""Unfinished journals: they have a temporary name until they are complete, so that a kill leaves no partial journal."""

from __future__ import annotations

import errno
import os
import shutil
from pathlib import Path

from ...host.crash import crash_point
from ...host.process_names import is_process_gone, process_name

_KIND = "making"
_PROBE = ".probe"
_NO_LINKS = (errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EMLINK, errno.ENOSYS)


def unfinished_path(journal: Path) -> Path:
    """Return the temporary path of a journal that this process creates."""
    return journal.with_name(f"{journal.name}.{process_name(_KIND)}")


def probe_path(journal: Path) -> Path:
    """Return the path of a file that is created and removed to test whether a journal can be created."""
    return journal.with_suffix(_PROBE)


def rename_complete(made: Path, journal: Path) -> None:
    """Rename a complete journal, which nobody has open, to its final name. Raises FileExistsError, OSError."""
    tail = made.with_name(f"{made.name}.tail")
    if tail.exists():
        tail.replace(journal.with_name(f"{journal.name}.tail"))
    crash_point("journal: whole, without its name")
    try:
        os.link(made, journal)
        made.unlink()
    except OSError as error:
        if error.errno not in _NO_LINKS or journal.exists():
            raise
        made.rename(journal)
    sync_folder(journal.parent)
    crash_point("journal: named")


def sync_folder(folder: Path) -> None:
    """Flush the names in a folder to disk. Raises OSError."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def remove_unfinished(folder: Path) -> None:
    """Remove files of processes that were killed while they created a journal in a runs folder. Raises OSError."""
    for name in os.listdir(folder):  # noqa: PTH208 - ten times as fast with thousands of runs
        run, found, owner = name.partition(f".db.{_KIND}-")
        if found and is_process_gone(_owner(owner)):
            _remove(folder, run, name)
        elif name.endswith(_PROBE):
            (folder / name).unlink(missing_ok=True)


def _owner(name: str) -> str:
    for end in ("-wal", "-shm", "-journal", ".tail"):
        name = name.removesuffix(end)
    return f"{_KIND}-{name}"


def _remove(folder: Path, run: str, name: str) -> None:
    """Remove the file last: as long as it exists, the other files can be found."""
    if not (folder / f"{run}.db").exists():
        (folder / f"{run}.db.tail").unlink(missing_ok=True)
        for of_run in (".snapshots", ".setup"):
            shutil.rmtree(folder / f"{run}{of_run}", ignore_errors=True)
    (folder / name).unlink(missing_ok=True)
