"""Read the approved content of a run's guarded files from its journal, and write it into a checkout."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from ...workspace.files.own_writes import OwnWrites
from ...workspace.seals.marks import Mark, read_mark
from ...workspace.seals.restore import SealRestorer
from ...workspace.seals.seals import Sealed
from .checkout_failed import CheckoutFailed

if TYPE_CHECKING:
    from ...facts.guarded_files import SealFacts
    from ...journal.journal import Journal
    from ...stops.guard import Guard

_RESTORED = ("absent", "file", "link")
_ABSENT = Mark("absent")


class Approved(msgspec.Struct, frozen=True):
    """The approved state of the guarded files. `marks` has a mark per path, relative to the workspace."""

    marks: dict[str, Mark]
    lost: list[str]
    """Paths whose approved content is not in the journal."""
    known: list[str]
    """Python modules that existed at the start of the run."""


def approved(journal: Journal, sealing: SealFacts, guard: Guard) -> Approved:
    """Return the state in the seal, with what was approved since. Raises CheckoutFailed if the seal is damaged."""
    if sealing.seal is None:
        return Approved({}, [], [])
    try:
        sealed = msgspec.msgpack.decode(journal.blob(sealing.seal), type=Sealed)
    except (KeyError, msgspec.DecodeError):
        raise CheckoutFailed("the record of the guarded files is damaged") from None
    marks = {path: mark for path, mark in sealed.marks.items() if not path.startswith("/")}
    for path, blob in sealing.written.items():
        if path in marks or guard.matches(path):
            mode = marks[path].mode if path in marks else 0
            marks[path] = _ABSENT if blob is None else Mark("file", blob, mode or 0o644)
    for path, kept in sealing.kept.items():
        marks[path] = Mark(kept.kind, kept.digest, kept.mode, kept.size)
    lost = {*sealed.lost} - {*sealing.written} - {*sealing.kept}
    return Approved(marks, sorted(lost), sealed.known)


def write_approved(journal: Journal, found: Approved, guard: Guard, folder: Path, without: list[str]) -> None:
    """Give every guarded file of a checkout its approved content, and remove guarded files that were never approved.

    `without`: mounted folders, which are left alone. Raises CheckoutFailed, OSError.
    """
    outside = tuple(f"{path}/" for path in without)
    if lost := [path for path in found.lost if not path.startswith(("/", *outside))]:
        raise CheckoutFailed(f"{lost[0]} is guarded, and its approved content was too large to keep")
    guard.depends.shadows.forget_new(found.known)
    restorer = SealRestorer(folder, folder.with_name(f"{folder.name}.aside"), OwnWrites(), lambda data: "")
    for path, mark in found.marks.items():
        if mark.kind not in _RESTORED or path.startswith(outside) or read_mark(folder, path).mark == mark:
            continue
        try:
            restorer.restore(path, mark, journal.blob)
        except KeyError:
            raise CheckoutFailed(f"the approved content of {path} is not in the journal") from None
    for path in [path for path in _files(folder) if path not in found.marks and guard.seals(path)]:
        (folder / path).unlink()


def _files(folder: Path) -> Iterator[str]:
    for top, _, names in os.walk(folder):
        for name in names:
            yield os.path.relpath(f"{top}/{name}", folder)
