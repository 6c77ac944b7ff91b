"""Decide on what a command did in its layer, at the gate, and apply it (decision 0039)."""

from __future__ import annotations

import asyncio
import hashlib
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from ...facts.changes import GIT_WORDS
from ...gate.draft import FileDraft, effect_draft
from ...gate.entries import SINGLE_FILE
from ...gate.rules import applies_to_file
from ...layers.apply import IN_MEMORY
from ...layers.classes import Entry, Group
from ...layers.effects import Side, TooMuch
from ...layers.git.carry_out import name_of
from ...layers.git.rows import StateRow
from ...layers.namespaces import NamespacesRefused
from ...layers.occupied import Occupied
from ...layers.rows import Row
from ...workspace.errors import UnreadableFile
from ...workspace.files.states import read_state
from ...workspace.sandbox.access import Access
from ..resources.recorder import with_waiting
from .apply_effects import Accepted, apply_effects
from .review import perform_as_review, raise_worst

if TYPE_CHECKING:
    from ...gate.entries import Place
    from ...layers.classes import Class
    from ...layers.effects import Effect
    from ...layers.git.rows import GitChanges
    from ...layers.layer import Layer
    from ...layers.run_layers import Listed, RunLayers
    from ...protocol import Record
    from ..resources.context import RunContext

_MOST_ASKED = 20
"""Most effects of one command about which a person is asked one by one; further ones are dropped and named."""
_MOST_NAMED = 5
_NOT_KEPT = "what it replaces is too large to be kept for an undo"
_SHOWN = frozenset[str]({"protected", "ignored_existed", "ordinary"})
"""Classes whose changes are shown one by one; the others are counted."""


def _listed(ctx: RunContext, layers: RunLayers, layer: Layer) -> Listed:
    return layers.listed(layer, os.environ, _inside(ctx, layer), watched=ctx.guarded.paths)


def _inside(ctx: RunContext, layer: Layer) -> list[str]:
    """Return the words that start a program in the layer's sandbox."""
    return ctx.sandbox.wrap([""], ctx.workspace.root, Access(layer=layer.access))[:-1]


async def changed_paths(ctx: RunContext, layers: RunLayers, layer: Layer) -> list[str]:
    """Return the paths that an ended command would change, as far as they are known."""
    try:
        listed = await asyncio.to_thread(_listed, ctx, layers, layer)
    except (Occupied, TooMuch, NamespacesRefused, OSError):
        return []
    return [one.effect.path for group in listed.groups for one in group.entries]


class Taken(NamedTuple):
    """What became of the effects of a layer."""

    lines: list[str]
    """Lines for the model."""
    written: list[str]
    """The guarded paths that were written, whatever they have now."""
    dropped: list[str]
    """The paths of what was not applied; the workspace itself: nothing was."""


async def take_effects(
    ctx: RunContext,
    layers: RunLayers,
    layer: Layer,
    command: str,
    record: Record,
    *,
    ended: str = "",
    asks: bool = True,
) -> Taken:
    """Decide on the effects and apply the accepted ones.

    `ended`: why the command did not end by itself; then nothing is applied. Empty: it did. `asks`: whether a person is
    asked; if not, what somebody has to decide about is not applied.
    """
    try:
        listed = await asyncio.to_thread(_listed, ctx, layers, layer)
    except (Occupied, TooMuch, NamespacesRefused, OSError) as error:
        return Taken([f"Nothing that the command changed was applied: {ended or error}."], [], ["."])
    written = ctx.guarded.written_in(listed)
    if ended:
        paths = [one.effect.path for group in listed.groups for one in group.entries]
        why = f"Nothing of what it had changed was applied, because {ended}"
        return Taken([f"{why}: {_named(paths)}."] if paths else [], written, paths)
    return await _take(ctx, layers, layer, listed, command, record, asks=asks)


async def take_guarded(ctx: RunContext, layer: Layer, listed: Listed, command: str, record: Record) -> list[str]:
    """Let a person decide about the guarded files that a check changed; all else of it is dropped. Returns lines.

    Nobody is asked twice in a run about the same content.
    """
    layers = ctx.layers
    assert layers is not None  # the check ran in one
    groups = list[Group]()
    for group in listed.groups:
        entries = [one for one in group.entries if ctx.guarded.holds(group.kind, one.effect.path)]
        entries = [one for one in entries if _is_new_to_asked(layers, one)]
        if entries:
            groups.append(Group("protected", "", tuple(entries)))
    if not groups:
        return []
    only = listed._replace(groups=groups, left_out=[], git=[])
    return (await _take(ctx, layers, layer, only, command, record, asks=True)).lines


def _is_new_to_asked(layers: RunLayers, entry: Entry) -> bool:
    """Note that a person is asked about this content, and return whether nobody was before."""
    after = entry.effect.after
    mark = (entry.effect.path, "" if after is None else after.digest)
    is_new = mark not in layers.decided
    layers.decided.add(mark)
    return is_new


async def _take(
    ctx: RunContext, layers: RunLayers, layer: Layer, listed: Listed, command: str, record: Record, *, asks: bool
) -> Taken:
    decided = await _decide(ctx, listed, command, record, asks=asks)
    notes, accepted = [*listed.left_out, *decided.notes], {row.path for row in decided.rows}
    if decided.rows or decided.git:
        lines, failed = await _applied(ctx, layers, layer, listed, decided, command, record)
        notes, accepted = [*lines, *notes], accepted - failed
    files = (one for group in listed.groups if group.kind not in ("git", "bytecode") for one in group.entries)
    dropped = [one.effect.path for one in files if one.effect.path not in accepted and not _is_folder(one.effect)]
    return Taken(notes, ctx.guarded.written_in(listed), dropped)


class _Decided(NamedTuple):
    """What is applied."""

    rows: list[Row]
    contents: dict[str, bytes]
    shown: dict[str, Row]
    """Rows that are recorded one by one, by path."""
    guarded: list[str]
    """Paths of guarded files among them."""
    notes: list[str]
    """Lines for the model about what is not applied."""
    counted: list[str]
    """What else is applied, in words."""
    git: list[GitChanges]
    """What repositories gain."""


async def _decide(ctx: RunContext, listed: Listed, command: str, record: Record, *, asks: bool) -> _Decided:
    decided = _Decided([], dict(listed.contents), {}, [], [], [], [])
    waiting, folders = list[Entry](), list[Row]()
    for group in listed.groups:
        passing = list[Entry]()
        for entry in group.entries:
            if entry.effect.conflict:
                decided.notes.append(f"`{entry.effect.path}` was not applied: {entry.effect.conflict}.")
            elif _must_ask(ctx, group.kind, entry.effect.path) and _is_folder(entry.effect):
                folders.append(_row(entry.effect))
            elif _must_ask(ctx, group.kind, entry.effect.path):
                waiting.append(entry)
                if not asks:
                    decided.notes.append(f"`{entry.effect.path}` was not applied: {entry.why or 'a person decides'}.")
            elif group.kind not in ("git", "bytecode"):
                passing.append(entry)
        rows = [_row(entry.effect) for entry in passing]
        decided.rows.extend(rows)
        if group.kind in _SHOWN:
            decided.shown.update((row.path, row) for row in rows)
        elif rows:
            decided.counted.append(group.title)
    if len(waiting) > _MOST_ASKED and asks:
        more = [entry.effect.path for entry in waiting[_MOST_ASKED:]]
        decided.notes.append(f"Not applied, because at most {_MOST_ASKED} are asked about: {_named(more)}.")
    if asks:
        await _review(ctx, decided, waiting[:_MOST_ASKED], command, record)
    decided.rows.extend(row for row in folders if _follows(row, decided.rows, waiting))
    _decide_on_git(decided, listed)
    return decided


def _is_folder(effect: Effect) -> bool:
    return all(side is None or side.type == "folder" for side in (effect.before, effect.after))


def _follows(folder: Row, accepted: Sequence[Row], asked: Sequence[Entry]) -> bool:
    """Return whether a folder is made or deleted because of what was decided about the files below it."""
    taken = {row.path for row in accepted if row.path.startswith(f"{folder.path}/")}
    if folder.after is not None:
        return bool(taken)
    return all(one.effect.path in taken for one in asked if one.effect.path.startswith(f"{folder.path}/"))


def _decide_on_git(decided: _Decided, listed: Listed) -> None:
    """Take what repositories gained, unless a file of the command was refused: its commits may have that file."""
    for changes in listed.git:
        if not changes.rows:
            continue
        names = list(dict.fromkeys(name_of(row) for row in changes.rows))
        conflicts = [f"{name_of(row)}: {row.conflict}" for row in changes.rows if row.conflict]
        runs = [line for row in changes.rows if isinstance(row, StateRow) for line in row.runs]
        if decided.notes:
            why = "a file that the command changed is not applied"
        elif conflicts:
            why = "; ".join(conflicts[:_MOST_NAMED])
        elif runs:
            why = f"git would run `{runs[0]}` when the operation is continued"
        else:
            decided.git.append(changes)
            decided.counted.append(f"{GIT_WORDS}{_named(names)}")
            continue
        decided.notes.append(f"Nothing of git was applied ({_named(names)}): {why}.")


def _must_ask(ctx: RunContext, kind: Class, path: str) -> bool:
    if kind in ("protected", "ignored_existed"):
        return True
    if kind in ("git", "bytecode"):
        return False
    if ctx.guarded.holds(kind, path):
        return True
    if kind != "ordinary":
        return False
    spoken = [rule for rule in ctx.gate.policy.rules if applies_to_file(rule, "edit_file", [path])]
    return any(rule.verdict != "allow" for rule in spoken)


async def _review(ctx: RunContext, decided: _Decided, waiting: Sequence[Entry], command: str, record: Record) -> None:
    """Ask the person about these effects as one review. Raises PersonInterrupted."""
    of = len(waiting)

    async def answer(one: tuple[int, Entry], to: Record) -> None:
        await _ask(ctx, decided, one[1], command, to, place=(one[0], of) if of > 1 else SINGLE_FILE)

    raise_worst(await perform_as_review(ctx.activity, list(enumerate(waiting, 1)), answer, record))


async def _ask(ctx: RunContext, decided: _Decided, entry: Entry, command: str, record: Record, *, place: Place) -> None:
    """Ask the person about one effect."""
    effect = entry.effect
    why = "; ".join(one for one in (entry.why, "" if entry.undo else _NOT_KEPT) if one)
    draft = await asyncio.to_thread(_draft, ctx, effect, decided.contents.get(effect.path), why, command)
    if isinstance(draft, str):
        decided.notes.append(f"`{effect.path}` was not applied: {draft}.")
        return
    opening = ctx.gate.propose(draft, call_id="", record=with_waiting(record), place=place)
    ruling = await ctx.activity.interruptible(opening)
    if not ruling.approved or not isinstance(ruling.draft, FileDraft):
        decided.notes.append(f"`{effect.path}` was not applied. {ruling.note_for_model}".strip())
        return
    row = _approved_row(effect, ruling.draft, ruling.after)
    if ruling.after is not None:
        decided.contents[effect.path] = ruling.after
    decided.rows.append(row)
    decided.shown[effect.path] = row
    if ctx.guard.matches(effect.path):
        decided.guarded.append(effect.path)


def _draft(ctx: RunContext, effect: Effect, after: bytes | None, why: str, command: str) -> FileDraft | str:
    """Return the draft for the gate, or why the effect cannot be shown there."""
    sides = [side for side in (effect.before, effect.after) if side is not None]
    if any(side.type != "file" for side in sides):
        kind = next(side.type for side in sides if side.type != "file")
        return f"it is a {kind}, and {why or 'somebody has to decide about it'}"
    if any(side.size > IN_MEMORY for side in sides):
        return f"it is too large to be shown, and {why or 'somebody has to decide about it'}"
    try:
        state = read_state(ctx.workspace.root / effect.path, beneath=ctx.workspace.root)
    except UnreadableFile as error:
        return str(error)
    if state.sha256 != (effect.before.digest if effect.before else None):
        return "it changed while the command ran"
    return effect_draft(effect.path, state, None if effect.after is None else after, command, why)


def _row(effect: Effect) -> Row:
    return Row(path=effect.path, before=effect.before, after=effect.after)


def _approved_row(effect: Effect, draft: FileDraft, after: bytes | None) -> Row:
    """Return the row of what was approved, which may differ from the effect."""
    before = draft.before
    old = None
    if before.exists:
        runs, mode = bool(before.mode & 0o100), before.mode & 0o777
        old = Side(type="file", digest=before.sha256 or "", size=before.size, executable=runs, mode=mode)
    if after is None or effect.after is None:
        return Row(path=effect.path, before=old, after=None)
    digest = hashlib.sha256(after).hexdigest()
    return Row(path=effect.path, before=old, after=replace(effect.after, digest=digest, size=len(after)))


async def _applied(
    ctx: RunContext, layers: RunLayers, layer: Layer, listed: Listed, decided: _Decided, command: str, record: Record
) -> tuple[list[str], set[str]]:
    """Apply the rows. Returns lines for the model, and the paths of what is a conflict."""
    accepted = Accepted(
        rows=decided.rows,
        contents=decided.contents,
        recorded=decided.shown,
        guarded=decided.guarded,
        counted=decided.counted,
        git=decided.git,
    )
    applied = await apply_effects(ctx, layers, layer, listed.groups, accepted, command, record)
    words = [*([_named(applied.done)] if applied.done else []), *applied.words]
    line = f"Applied: {'; '.join(words)}." if words else ""
    refused = "; ".join(f"`{one.path}` ({one.conflict})" for one in applied.failed[:_MOST_NAMED])
    if applied.failed:
        line = f"{line} Not applied: {refused}.".strip()
    lines = [one for one in (line, applied.cannot_be_undone) if one]
    return lines, {one.path for one in applied.failed}


def _named(paths: Sequence[str]) -> str:
    shown = ", ".join(f"`{path}`" for path in paths[:_MOST_NAMED])
    more = len(paths) - _MOST_NAMED
    return f"{shown} and {more} more" if more > 0 else shown
