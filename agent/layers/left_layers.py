"""List what units of work left on the disk, with their sizes, remove it, and find what a restart made useless."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

import msgspec

from ..protocol.text.counts import first_names
from ..protocol.text.path_text import quoted_path
from .fitness import places_of
from .judge_view_files import JUDGE
from .layer import wait_until_unused
from .layer_effects import TooMuch, written_below
from .namespaces import Namespaces, NamespacesRefused
from .occupied import Occupied
from .open_below import FOLDER
from .removing import remove_tree
from .unit_record import UnitRecord, boot_tag, forget_record, read_record

_MOST = 200_000
"""Files that are counted."""
_MOST_NAMED = 5


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
    for folder, record in left_records(workspace, state):
        files, size = measure(folder.glob("[tu]*"))
        whole = record.is_whole
        found.append(LeftUnit(folder=folder, kind=record.kind, run=record.run, files=files, size=size, is_whole=whole))
    return found


def left_records(workspace: Path, state: Path) -> Iterator[tuple[Path, UnitRecord]]:
    """Yield the folders and records of these units, without their sizes."""
    for place in places_of(workspace, state):
        layers = place / "layers"
        for folder in sorted(layers.iterdir()) if layers.is_dir() else ():
            record = read_record(folder)
            if record is not None and record.lasts:
                yield folder, record


def remove_left_unit(unit: LeftUnit, namespaces: Namespaces | None) -> bool:
    """Delete what a unit left, unless a process still works in it. A copy needs no `namespaces`. Raises OSError."""
    try:
        wait_until_unused(unit.folder, namespaces, 0.0)
    except (Occupied, NamespacesRefused):
        return False
    remove_unit(unit.folder)
    return True


def remove_unit(folder: Path) -> None:
    """Delete the folder of a unit in which nobody works. Raises OSError."""
    forget_record(folder)
    remove_tree(folder)


def measure(tops: Iterable[Path]) -> tuple[int, int]:
    """Return how many files and bytes these folders have. What cannot be read is left out."""
    files, size = 0, 0
    for top in tops:
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


def lost_at_restart(folder: Path) -> list[str]:
    """Return a line about the layer of a command if the machine was restarted since, so that it may have lost bytes.

    `folder`: that of a layer without a record, named by its run, boot, process and number. Raises OSError.
    """
    run, boot, *rest = folder.name.rsplit("-", 3)
    if len(rest) != 2 or boot == boot_tag() or run.startswith(f"{JUDGE}-"):
        return []
    names = list[str]()
    upper = os.open(folder / "u", FOLDER | os.O_CLOEXEC)
    try:
        with suppress(TooMuch):
            for path, status in written_below(upper):
                if not stat.S_ISDIR(status.st_mode) and not path.startswith(b".git/"):
                    names.append(quoted_path(os.fsdecode(path)))
    finally:
        os.close(upper)
    if not names:
        return []
    shown = first_names(sorted(names), _MOST_NAMED)
    return [f"the machine was restarted during a command of the run {run}: what was not applied is dropped ({shown})"]
