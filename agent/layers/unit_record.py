"""The record of a unit of work on the disk: a small file in the folder of its layer, for later processes."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Literal

import msgspec

from .open_below import FOLDER

UnitKind = Literal["stage", "pass", "try", "item"]
"""What works in a unit."""
_RECORD = "record"
_BOOT = Path("/proc/sys/kernel/random/boot_id")
LOST = "the machine was restarted before all of it was on the disk"


class UnitRecord(msgspec.Struct, frozen=True, kw_only=True):
    """What a process needs to mount the layer of a unit again."""

    run: str
    kind: UnitKind
    lasts: bool
    """Whether it stays when its runner is gone, until somebody applies or drops it."""
    workspace: bytes
    places: tuple[bytes, ...]
    """The folders that the layer covers."""
    stamp_ns: int
    first_stamp_ns: int
    older: dict[bytes, int] = {}
    """Paths that were written before the last mount, with the stamp of the mount."""
    indexes: dict[bytes, str] = {}
    """Path of each of git's indexes to the name of its copy in the folder, as it was at the start."""
    boot: str = ""
    """The boot of the machine in which it was written last. Empty means that all of it is on the disk."""

    @property
    def is_whole(self) -> bool:
        """Whether nothing of it can be lost: an overlay flushes nothing, so a crash of the machine loses bytes."""
        return not self.boot or self.boot == boot_id()


def boot_id() -> str:
    """Return a text that differs after each start of the machine."""
    return _BOOT.read_text("ascii").strip()


def boot_tag() -> str:
    """Return the beginning of that text, for the names of folders."""
    return boot_id()[:8]


def write_record(folder: Path, record: UnitRecord) -> None:
    """Write the record durably. Raises OSError."""
    making = folder / f"{_RECORD}.new"
    file = os.open(making, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    with os.fdopen(file, "wb") as writer:
        writer.write(msgspec.msgpack.encode(record))
        writer.flush()
        os.fsync(file)
    making.rename(folder / _RECORD)
    opened = os.open(folder, FOLDER | os.O_CLOEXEC)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


def read_record(folder: Path) -> UnitRecord | None:
    """Return the record of a unit.

    Returns None if it is the layer of one command, or its record is damaged. Raises OSError.
    """
    try:
        return msgspec.msgpack.decode((folder / _RECORD).read_bytes(), type=UnitRecord)
    except (FileNotFoundError, msgspec.MsgspecError):
        return None


def forget_record(folder: Path) -> None:
    """Delete the record, so that a folder with some files removed is not used as a unit."""
    (folder / _RECORD).unlink(missing_ok=True)
