"""Show what a rewind would change, before it does: the plan of its undo, compared with the files as they are now."""

from __future__ import annotations

import asyncio
import hashlib
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from ...host.file_errors import UnreadableFile
from ...host.files.file_states import read_state
from ...host.workspace_paths import Workspace
from ...journal.encoding import recorded_text
from ...layers.displaced_files import Kept
from ...layers.fitness import place_of_orders
from ...protocol import RundryError
from ...repo.old_snapshots.snapshots import Snapshots
from .inverse_rows import InversePlan
from .undo_effects import UNPROVEN, why_kept

if TYPE_CHECKING:
    from ...journal.journal import Journal
    from ...layers.effect_rows import EffectRow
    from ...layers.layer_effects import Side
    from ...state.facts.change_log import RecordedChange
    from .inverse_rows import Inverse

NOT_SHOWN = "restored: it is not a plain file"


@dataclass(frozen=True, slots=True)
class FileBack:
    """One file that a rewind would restore, or would leave."""

    path: str
    now: bytes | None = None
    """Its bytes on the disk. None means that there is no file."""
    then: bytes | None = None
    """Its bytes after the rewind."""
    stays: str = ""
    """Why it stays as it is. Empty means that it is restored."""
    note: str = ""
    """Why there is no diff of it, if there is none."""


@dataclass(frozen=True, slots=True)
class RewindPreview:
    """What a rewind would change."""

    files: Sequence[FileBack] = ()
    """Those that stay first, each group by name."""
    also: Sequence[str] = field(default_factory=list[str])
    """What else is undone, or stays, in words."""


async def preview_rewind(journal: Journal, chosen: Sequence[RecordedChange]) -> RewindPreview:
    """Return what an undo of these changes (the newest of the run, oldest first) would do now. It writes nothing.

    Raises RundryError.
    """
    workspace = Workspace(Path(journal.spec.workspace))
    left = {path for one in chosen if not one.is_proven for path in one.files} if _is_home(journal) else set[str]()
    try:
        kept = Kept(place_of_orders(workspace.root, journal.path.parent))
        plan = InversePlan(workspace, journal, Snapshots(journal.path.with_suffix(".snapshots")), kept)
        for change in reversed(chosen):
            await plan.add(change, only=None, left=left)
        return await asyncio.to_thread(_compared, workspace, kept, plan, sorted(left))
    except OSError as error:
        raise RundryError(f"what would change cannot be read: {error}") from None


def _is_home(journal: Journal) -> bool:
    return journal.spec.home == journal.spec.workspace


def _compared(workspace: Workspace, kept: Kept, plan: InversePlan, left: Sequence[str]) -> RewindPreview:
    found = plan.build()
    files = [one for row in found.rows[: found.shown] if (one := _file(workspace, kept, found, row)) is not None]
    files += [FileBack(path, stays=UNPROVEN) for path in left]
    for line in found.lost:
        path, _, why = line.partition(": ")
        files.append(FileBack(path, stays=why))
    return RewindPreview(sorted(files, key=lambda one: (not one.stays, one.path)), found.also)


def _file(workspace: Workspace, kept: Kept, found: Inverse, row: EffectRow) -> FileBack | None:
    """Return what happens to a file, or None if it is already as it would be."""
    path, want = recorded_text(row.path), row.after
    try:
        now, data = _now(workspace, row.path)
    except UnreadableFile as error:
        return FileBack(path, stays=str(error).rpartition(": ")[2])
    if now == _kind(want):
        return None
    if now != _kind(row.before):
        return FileBack(path, stays=why_kept(row.before is not None))
    then = None if want is None else found.contents.get(row.path)
    if then is None and want is not None and (stored := kept.find(want.digest)) is not None:
        then = stored.read_bytes()
    is_plain = all(side is None or side.type == "file" for side in (row.before, want))
    if not is_plain or (then is None and want is not None):
        return FileBack(path, note=NOT_SHOWN)
    return FileBack(path, now=data, then=then)


def _now(workspace: Workspace, path: str) -> tuple[tuple[str, str] | None, bytes | None]:
    """Return type and digest of what is at a path, and the bytes of a file. Raises UnreadableFile."""
    real = workspace.root / path
    if real.is_symlink():
        return ("link", hashlib.sha256(os.fsencode(real.readlink())).hexdigest()), None
    if real.is_dir():
        return ("folder", ""), None
    now = read_state(real, beneath=workspace.root)
    return (("file", now.sha256 or ""), now.data) if now.exists else (None, None)


def _kind(side: Side | None) -> tuple[str, str] | None:
    return None if side is None else (side.type, side.digest)
