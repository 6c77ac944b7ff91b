"""What units of work left on the disk: listed with their sizes, and removed."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec

from .fitness import places_of
from .layer import wait_for_end
from .namespaces import Namespaces, NamespacesRefused
from .occupied import Occupied
from .removing import remove_tree
from .unit_record import read_record

_MOST = 200_000
"""Files of a unit that are counted."""


class LeftUnit(msgspec.Struct, frozen=True, kw_only=True):
    """A unit of work whose folder is on the disk. Its run may still work in it."""

    folder: Path
    kind: str
    run: str
    files: int
    size: int
    """Bytes on the disk."""
    is_whole: bool
    """Whether it can be mounted: a restart of the machine lost nothing of it."""


def left_units(workspace: Path, state: Path) -> list[LeftUnit]:
    """Return the units of a workspace that stay until somebody decides. `state`: the folder of the journals."""
    found = list[LeftUnit]()
    for place in places_of(workspace, state):
        layers = place / "layers"
        for folder in sorted(layers.iterdir()) if layers.is_dir() else ():
            record = read_record(folder)
            if record is not None and record.lasts:
                files, size = _measure(folder)
                found.append(
                    LeftUnit(
                        folder=folder,
                        kind=record.kind,
                        run=record.run,
                        files=files,
                        size=size,
                        is_whole=record.is_whole,
                    )
                )
    return found


def remove_left_unit(unit: LeftUnit, namespaces: Namespaces) -> bool:
    """Delete what a unit left, unless a process still works in it. Raises OSError."""
    try:
        wait_for_end(unit.folder, namespaces, 0.0)
    except (Occupied, NamespacesRefused):
        return False
    remove_tree(unit.folder)
    return True


def _measure(folder: Path) -> tuple[int, int]:
    """Return how many files and bytes the folder of a unit has. What cannot be read is left out."""
    files, size = 0, 0
    for top in folder.glob("u*"):
        for above, _, names in os.walk(top):
            for name in names:
                try:
                    status = os.lstat(f"{above}/{name}")
                except OSError:
                    continue
                files, size = files + 1, size + status.st_blocks * 512
            if files >= _MOST:
                return files, size
    return files, size
