"""The mounts that this process sees (proc_pid_mountinfo(5))."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

_TABLE = Path("/proc/self/mountinfo")


class Mount(NamedTuple):
    """A file system, mounted at a place."""

    number: int
    above: int
    """The number of the mount on which it lies."""
    place: Path
    kind: str
    """The type of its file system."""


def mount_at(folder: Path) -> Mount:
    """Return the mount that a folder lies on. Raises OSError."""
    opened = os.open(folder, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        lines = Path(f"/proc/self/fdinfo/{opened}").read_text("ascii").splitlines()
    finally:
        os.close(opened)
    number = next(int(line.split(":")[1]) for line in lines if line.startswith("mnt_id:"))
    found = next((one for one in mounts() if one.number == number), None)
    if found is None:
        raise OSError(None, f"{folder} is not in the table of mounts")
    return found


def mounts_inside(folder: Path, here: Mount) -> list[Path]:
    """Return where something is mounted visibly inside a folder that lies on the mount `here`."""
    return sorted({one.place for one in mounts() if one.above == here.number and _is_inside(one.place, folder)})


def mounts() -> list[Mount]:
    """Return all mounts. Raises OSError."""
    found = list[Mount]()
    for line in _TABLE.read_bytes().splitlines():
        fields = line.split(b" ")
        kind = fields[fields.index(b"-", 6) + 1]
        found.append(Mount(int(fields[0]), int(fields[1]), Path(_plain(fields[4])), kind.decode("ascii", "replace")))
    return found


def _is_inside(place: Path, folder: Path) -> bool:
    return place != folder and place.is_relative_to(folder)


def _plain(path: bytes) -> str:
    for byte in b" \t\n\\":
        path = path.replace(b"\\%03o" % byte, bytes([byte]))
    return os.fsdecode(path)
