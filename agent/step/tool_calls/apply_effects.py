"""Apply the accepted effects of a command, and record what an undo needs to revert them."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from ...host.crash import crash_point
from ...host.file_errors import UnreadableFile
from ...host.files.file_states import read_state
from ...journal.encoding import recorded_text
from ...layers.effect_classes import STORED, displaced_bytes
from ...layers.effect_rows import decode_git, decode_rows, encode_git, encode_rows, new_name
from ...protocol import EffectsAccepted, EffectsApplied, PassKept
from ...protocol.text.counts import plural
from ...protocol.text.path_text import quoted_path
from .copy_outputs import copy_outputs
from .file_events import FileContents, contents_of, file_changed, stored_contents

if TYPE_CHECKING:
    from ...layers.apply import Result
    from ...layers.effect_classes import Class, Group
    from ...layers.effect_rows import EffectRow
    from ...layers.git.git_rows import GitChanges
    from ...layers.layer import Layer
    from ...layers.run_layers import RunLayers
    from ...protocol import JoinStarted
    from ...state.recorder import Events
    from ..resources.run_context import RunContext

_MOST_NAMED = 5
_NO_ENDS: Mapping[str, Events] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Accepted:
    """What is applied."""

    rows: Sequence[EffectRow]
    contents: Mapping[str, bytes]
    """New contents that are small enough, by path."""
    recorded: Mapping[str, EffectRow]
    """Rows that are recorded one by one, by path."""
    counted: Sequence[str]
    """What else is applied, in words; of git they begin with `git: `."""
    git: Sequence[GitChanges]
    """What repositories gain."""


class Applied(NamedTuple):
    """The result of an apply."""

    done: list[str]
    """Paths that are recorded one by one."""
    words: Sequence[str]
    """What else was applied."""
    failed: list[Result]
    cannot_be_undone: str
    """A line for the model about files whose old content is not kept. Empty means that all of it is."""


async def apply_effects(
    ctx: RunContext,
    layers: RunLayers,
    layer: Layer,
    groups: Sequence[Group],
    accepted: Accepted,
    command: str,
    events: Events,
    of_unit: PassKept | JoinStarted | None = None,
) -> Applied:
    """Apply the rows, and record what changed. `groups`: the effects by their classes.

    `of_unit`: recorded together with what is accepted, because a pass or an item changed it in its unit; changes of
    files that the journal already has are then not recorded again.
    """
    kinds: dict[str, Class] = {entry.effect.path: group.kind for group in groups for entry in group.entries}
    built = [row for row in accepted.rows if kinds.get(row.path) == "built"]
    others = [row for row in accepted.rows if kinds.get(row.path) != "built" and row.path not in accepted.recorded]
    rows = [*accepted.recorded.values(), *others]
    keep, lost = _kept(rows, groups)
    changes = await asyncio.to_thread(_changes, ctx, accepted)
    older = await asyncio.to_thread(_older_contents, ctx, others, kinds)
    with ctx.journal.transaction():
        blob = ctx.journal.blobs.keep(encode_rows(rows))
        git = ctx.journal.blobs.keep(encode_git(accepted.git)) if accepted.git else None
        for data in (*older, *(data for change in changes.values() for data in (change.before, change.after))):
            if data is not None:
                ctx.journal.blobs.keep(data)
    outputs = _outputs(groups, built)
    await copy_outputs(ctx, layers, outputs)
    of_builds = [group.title for group in groups if group.kind == "built"]
    name = new_name() if of_unit is None else of_unit.order
    with ctx.events.together():
        events.record(
            EffectsAccepted(
                order=name,
                rows=blob,
                command=command,
                files=len(accepted.rows),
                shown=len(accepted.recorded),
                git=git,
                also=[*(words for words in accepted.counted if words not in of_builds), *_bare_folders(rows)],
                built=[words for words in accepted.counted if words in of_builds],
                pass_number=of_unit.number if isinstance(of_unit, PassKept) else 0,
                outputs=outputs,
            )
        )
        if of_unit is not None:
            events.record(of_unit)
    crash_point("effects: accepted")
    ctx.files.mark_changed()
    every = [*rows, *built]
    await asyncio.to_thread(layers.order, name, layer, every, accepted.contents, accepted.git, keep)
    results = await asyncio.to_thread(layers.apply, name, every, accepted.git)
    crash_point("effects: applied")
    if of_unit is not None:
        changes = _unrecorded(ctx, changes)
    record_applied(ctx, name, rows, accepted.git, results, changes, events)
    layers.forget(name)
    failed = [one for one in results if one.conflict]
    names = {one.path for one in failed}
    done = [path for path in accepted.recorded if path not in names]
    return Applied(done, accepted.counted, failed, _cannot_be_undone(lost))


def _outputs(groups: Sequence[Group], built: Sequence[EffectRow]) -> list[str]:
    """Return the folders of output in which something is written, and the files of output that lie in none."""
    paths = {row.path for row in built}
    places = (
        group.folder or entry.effect.path
        for group in groups
        if group.kind == "built"
        for entry in group.entries
        if entry.effect.path in paths
    )
    return list(dict.fromkeys(map(recorded_text, places)))


def _kept(rows: Sequence[EffectRow], groups: Sequence[Group]) -> tuple[frozenset[str], list[str]]:
    """Return the digests of the displaced files that are kept for an undo, and the paths for which there is no room."""
    by_path = {row.path: row for row in rows}
    keep, lost = set[str](), list[str]()
    for group in groups:
        for entry in group.entries:
            row = by_path.get(entry.effect.path)
            if row is None or row.before is None or not displaced_bytes(group.kind, row.before, row.after):
                continue
            if entry.undo:
                keep.add(row.before.digest)
            else:
                lost.append(row.path)
    return frozenset(keep), lost


def _cannot_be_undone(paths: Sequence[str]) -> str:
    names = ", ".join(quoted_path(path) for path in paths[:_MOST_NAMED])
    more = f" and {len(paths) - _MOST_NAMED} more" if len(paths) > _MOST_NAMED else ""
    return f"This cannot be undone, because the old content is too large to be kept: {names}{more}." if paths else ""


def _bare_folders(rows: Sequence[EffectRow]) -> list[str]:
    """Return words about folders that are made or deleted without anything in them."""
    above = {row.path.rpartition("/")[0] for row in rows}
    bare = [quoted_path(row.path) for row in rows if row.path not in above and _is_folder(row)]
    more = f" and {len(bare) - _MOST_NAMED} more" if len(bare) > _MOST_NAMED else ""
    return [f"{plural(len(bare), 'folder')}: {', '.join(bare[:_MOST_NAMED])}{more}"] if bare else []


def _is_folder(row: EffectRow) -> bool:
    return all(side is None or side.type == "folder" for side in (row.before, row.after))


def _changes(ctx: RunContext, accepted: Accepted) -> dict[str, FileContents]:
    """Return the contents of the files that are recorded one by one, before and after, by path."""
    return {
        path: contents_of(row, _bytes_of(ctx, row), accepted.contents.get(path) if row.after is not None else None)
        for path, row in accepted.recorded.items()
        if not _is_folder(row)
    }


def _older_contents(ctx: RunContext, rows: Sequence[EffectRow], kinds: Mapping[str, Class]) -> list[bytes]:
    """Return the old contents of files and links that are not recorded one by one and whose inodes are not kept."""
    missing = [row for row in rows if not displaced_bytes(kinds.get(row.path, "ordinary"), row.before, row.after)]
    return [data for data in (_bytes_of(ctx, row) for row in missing) if data is not None]


def _bytes_of(ctx: RunContext, row: EffectRow) -> bytes | None:
    """Return the bytes of a file or the target of a link before the apply.

    Returns None if the journal does not store them.
    """
    path = ctx.workspace.root / row.path
    try:
        match row.before:
            case None:
                return None
            case before if before.type == "link":
                return os.fsencode(path.readlink())
            case before if before.type == "folder" or before.size > STORED:
                return None
            case _:
                return read_state(path, STORED, beneath=ctx.workspace.root).data
    except (UnreadableFile, OSError):
        return None


def _unrecorded(ctx: RunContext, changes: Mapping[str, FileContents]) -> dict[str, FileContents]:
    """Return the changes of files that the journal does not have: a pass records its edits while it works."""
    known = ctx.facts.changes.files
    found = dict[str, FileContents]()
    for path, change in changes.items():
        after = file_changed(ctx.journal, change, "command").new
        if path not in known or known[path][1] != after:
            found[path] = change
    return found


def record_applied(
    ctx: RunContext,
    name: str,
    rows: Sequence[EffectRow],
    git: Sequence[GitChanges],
    results: Sequence[Result],
    changes: Mapping[str, FileContents],
    events: Events,
) -> None:
    """Record the outcome of an order, and the files that it changed."""
    files = len(results) - sum(len(one.rows) for one in git)
    of_files, of_git = {one.path: one.conflict for one in results[:files]}, results[files:]
    failed_git = list[int]()
    for number, repository in enumerate(git):
        if any(one.conflict for one in of_git[: len(repository.rows)]):
            failed_git.append(number)
        of_git = of_git[len(repository.rows) :]
    with ctx.events.together():
        for path, change in changes.items():
            if not of_files.get(path):
                events.record(file_changed(ctx.journal, change, "command"))
        events.record(
            EffectsApplied(
                order=name,
                conflicts=[f"{one.path}: {one.conflict}" for one in results if one.conflict],
                failed=[number for number, row in enumerate(rows) if of_files.get(row.path)],
                failed_git=failed_git,
            )
        )


async def finish_accepted(
    ctx: RunContext, layers: RunLayers, events: Events, ends: Mapping[str, Events] = _NO_ENDS
) -> list[str]:
    """Finish what an earlier runner accepted and did not record as applied. Returns lines for the user.

    `ends`: what records the outcome of an order instead of `events`, by its name.
    """
    said = list[str]()
    for name, accepted in list(ctx.facts.changes.accepted.items()):
        results = await asyncio.to_thread(layers.outcome, name)
        if results is None:  # it was killed before the order was stored, so nothing is in the workspace
            conflicts = [f"nothing of `{accepted.command}`: it was killed before"]
            with ctx.events.together():
                ends.get(name, events).record(EffectsApplied(order=name, conflicts=conflicts, lost=True))
            said.append(f"Nothing that `{accepted.command}` changed was applied: its runner was killed before.")
            continue
        rows = decode_rows(ctx.journal.blobs.load(accepted.rows))
        git = decode_git(ctx.journal.blobs.load(accepted.git)) if accepted.git is not None else []
        ctx.files.mark_changed()
        changes = {row.path: stored_contents(ctx.journal, row) for row in rows[: accepted.shown] if not _is_folder(row)}
        if accepted.pass_number:
            changes = _unrecorded(ctx, changes)
        record_applied(ctx, name, rows, git, results, changes, ends.get(name, events))
        layers.forget(name)
        said.append(f"What `{accepted.command}` changed ({plural(accepted.files, 'file')}) was applied.")
    return said
