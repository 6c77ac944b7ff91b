"""Files on the disk besides units of work: layers of commands, copies, and files that are kept for an undo."""

from __future__ import annotations

import time
from pathlib import Path

import msgspec

from .copy_folder import COPIES
from .displaced_files import Kept
from .fitness import places_of
from .layer import wait_until_unused
from .left_layers import measure
from .namespaces import Namespaces, NamespacesRefused
from .occupied import Occupied
from .orders import Orders
from .removing import remove_tree
from .unit_record import read_record

_MAKING_SECONDS = 60.0
"""Age after which a layer that nobody uses is not being made any more."""


class LeftFiles(msgspec.Struct, frozen=True, kw_only=True):
    """The layers of commands, copies that no unit uses, or files that are kept for an undo."""

    folders: list[Path]
    files: int
    size: int
    """Bytes on the disk."""


def left_layers(workspace: Path, state: Path) -> LeftFiles:
    """Return the layers of commands and of units that nobody continues. Running commands have some, too.

    `state`: the folder of the journals.
    """
    folders, needed = list[Path](), _needed(workspace, state)
    for place in places_of(workspace, state):
        layers = place / "layers"
        for folder in sorted(layers.iterdir()) if layers.is_dir() else ():
            record = read_record(folder)
            if folder not in needed and (record is None or not record.lasts):
                folders.append(folder)
    files, size = measure(upper for folder in folders for upper in folder.glob("[tu]*"))
    return LeftFiles(folders=folders, files=files, size=size)


def left_copies(workspace: Path, state: Path) -> LeftFiles:
    """Return the copies that runs, also killed ones, keep for their next units. `state`: as for `left_layers`."""
    tops = [folder for place in places_of(workspace, state) if (folder := place / COPIES).is_dir()]
    folders = [folder for top in tops for folder in sorted(top.iterdir())]
    files, size = measure(folders)
    return LeftFiles(folders=folders, files=files, size=size)


def kept_files(workspace: Path, state: Path) -> LeftFiles:
    """Return the files that applied changes displaced, and that are kept for an undo."""
    folders = [folder for place in places_of(workspace, state) if (folder := Kept(place).folder).is_dir()]
    files, size = measure(folders)
    return LeftFiles(folders=folders, files=files, size=size)


def remove_left_layers(left: LeftFiles, namespaces: Namespaces | None) -> int:
    """Delete the layers in which no process works, and return their number. `namespaces` is None if all are copies.

    Raises OSError.
    """
    count = 0
    for folder in left.folders:
        if time.time() - folder.stat().st_mtime > _MAKING_SECONDS:
            try:
                wait_until_unused(folder, namespaces, 0.0)
            except (Occupied, NamespacesRefused):
                continue
            remove_tree(folder)
            count += 1
    return count


def _needed(workspace: Path, state: Path) -> set[Path]:
    """Return the layers from which an order, which was not carried out yet, moves files."""
    found = set[Path]()
    for place in places_of(workspace, state):
        if not (place / "orders").is_dir():
            continue
        orders = Orders(place)
        found |= {written.parent for name in orders.names() if (written := orders.written(name)) is not None}
    return found
