"""Decide on what a command did in its layer, at the gate, and apply it (decision 0039)."""

from __future__ import annotations

import asyncio
import hashlib
import os
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec.structs import replace

from ...gate.effects_draft import EffectsDraft
from ...gate.notes_for_model import comment_line
from ...gate.ruling import EntryRuling
from ...layers.effect_rows import EffectRow, encode_for_digest, encode_git
from ...layers.layer_effects import TooMuch
from ...layers.namespaces import NamespacesRefused
from ...layers.occupied import Occupied
from ...protocol import GIT_HELD
from ...protocol.text.counts import first_names, plural
from ...state.facts.standing_changes import GIT_WORDS
from .apply_effects import Accepted, apply_effects
from .effect_entries import (
    ShownEntry,
    Sorted,
    git_summary,
    is_folder,
    named,
    row_of,
    sort_effects,
    storable_path,
    with_blobs,
)

if TYPE_CHECKING:
    from ...gate.ruling import Ruling
    from ...layers.git.git_rows import GitChanges
    from ...layers.layer import Layer
    from ...layers.run_layers import Listed, RunLayers
    from ...state.recorder import Events
    from ..resources.run_context import RunContext

_MOST_NAMED, _MOST_LINES = 5, 20
_WHOLE = EntryRuling()
NOBODY = "somebody has to approve it"
"""Why an effect of a hook is not applied."""


def _listed(ctx: RunContext, layers: RunLayers, layer: Layer) -> Listed:
    inside = partial(ctx.sandbox.words_in, layer.access, ctx.workspace.root)
    return layers.listed(layer, os.environ, inside)


async def changed_paths(ctx: RunContext, layers: RunLayers, layer: Layer) -> list[str]:
    """Return the paths that an ended command would change, as far as they are known."""
    try:
        listed = await asyncio.to_thread(_listed, ctx, layers, layer)
    except (Occupied, TooMuch, NamespacesRefused, OSError):
        return []
    return [storable_path(one.effect.path) for group in listed.groups for one in group.entries]


class EffectsOutcome(NamedTuple):
    """What became of the effects of a layer."""

    lines: list[str]
    """One line for the model, or none."""
    dropped: list[str]
    """The paths of what was not applied; the workspace itself: nothing was."""
    failed: frozenset[str] = frozenset()
    """The paths of what was accepted, and that somebody else changed meanwhile."""


async def accept_effects(
    ctx: RunContext,
    layers: RunLayers,
    layer: Layer,
    command: str,
    events: Events,
    *,
    ended: str = "",
    asks: bool = True,
) -> EffectsOutcome:
    """Decide on the effects and apply the accepted ones.

    `ended`: why the command did not end by itself; then nothing is applied. Empty means that it did. `asks`: whether a
    person is asked; if not, what somebody has to decide about is not applied. Raises PersonInterrupted: nothing is
    applied.
    """
    try:
        listed = await asyncio.to_thread(_listed, ctx, layers, layer)
    except (Occupied, TooMuch, NamespacesRefused, OSError) as error:
        return EffectsOutcome([f"Nothing that the command changed was applied: {ended or error}."], ["."])
    if ended:
        paths = [one.effect.path for group in listed.groups for one in group.entries]
        why = f"Nothing of what it had changed was applied, because {ended}"
        return EffectsOutcome([f"{why}: {named(paths)}."] if paths else [], paths)
    return await accept_listed(ctx, layers, layer, listed, command, events, asks=asks)


async def accept_listed(
    ctx: RunContext,
    layers: RunLayers,
    layer: Layer,
    listed: Listed,
    command: str,
    events: Events,
    *,
    asks: bool = True,
    ask: Ask | None = None,
) -> EffectsOutcome:
    """Decide on what a layer would change, and apply what is accepted. `asks`: as in `accept_effects`.

    `ask`: as in `decide_effects`.

    Raises PersonInterrupted: nothing is applied.
    """
    root, line = ctx.workspace.root, command if asks else ""
    found = await asyncio.to_thread(sort_effects, ctx.gate, root, listed, ctx.guard, is_hook=not asks, command=line)
    decided = await decide_effects(ctx, found, listed, command, events, asks=asks, ask=ask)
    lines, accepted, failed = list[str](), {row.path for row in decided.rows}, set[str]()
    if decided.rows or decided.git:
        applied, failed = await _applied(ctx, layers, layer, listed, decided, command, events)
        lines, accepted = applied, accepted - failed
    lines.append(decided.chosen)
    for head, some in (("Not applied", decided.refused), ("Never applied", listed.left_out)):
        if some:
            more = f"; and {len(some) - _MOST_LINES} more" if len(some) > _MOST_LINES else ""
            lines.append(f"{head}: {'; '.join(some[:_MOST_LINES])}{more}.")
    line = storable_path(" ".join(one for one in (*lines, decided.comment) if one))
    files = (one for group in listed.groups if group.kind not in ("git", "bytecode") for one in group.entries)
    dropped = [
        storable_path(one.effect.path) for one in files if one.effect.path not in accepted and not is_folder(one.effect)
    ]
    return EffectsOutcome([line] if line else [], dropped, frozenset(failed))


Ask = Callable[[EffectsDraft], Coroutine[Any, Any, "Ruling"]]
"""Shows a proposal at the gate, and returns the ruling."""


@dataclass(slots=True)
class Decided:
    """What is applied."""

    contents: dict[str, bytes]
    rows: list[EffectRow] = field(default_factory=list[EffectRow])
    recorded: dict[str, EffectRow] = field(default_factory=dict[str, EffectRow])
    """Rows that are recorded one by one, by path."""
    counted: list[str] = field(default_factory=list[str])
    """What else is applied, in words."""
    git: list[GitChanges] = field(default_factory=list["GitChanges"])
    """What repositories gain."""
    refused: list[str] = field(default_factory=list[str])
    """What is not applied, with the reason, for the model."""
    chosen: str = ""
    """What a person skipped and changed, in sentences for the model."""
    comment: str = ""
    """What the person said, in a sentence."""

    def pass_on(self, found: Sorted) -> None:
        """Add what needs no decision."""
        self.rows += found.passing
        self.recorded.update((row.path, row) for row in found.passing if row.path in found.recorded)
        self.counted += found.counted
        self.git += found.git

    def accepted(self, git: Sequence[GitChanges], words: Sequence[str] = ()) -> Accepted:
        """Return what is applied, with these changes of git. `words`: what else is applied."""
        return Accepted(
            rows=self.rows,
            contents=self.contents,
            recorded=self.recorded,
            counted=[*self.counted, *words],
            git=git,
        )


async def decide_effects(
    ctx: RunContext,
    found: Sorted,
    listed: Listed,
    command: str,
    events: Events,
    *,
    asks: bool,
    ask: Ask | None = None,
) -> Decided:
    """Decide what is applied; a person is asked if `asks`. Raises PersonInterrupted.

    `ask`: how. None means at the gate of the context, as long as this runner is there.
    """
    decided = Decided(dict(listed.contents), refused=list(found.refused))
    if not asks or not found.can_be_decided:
        decided.pass_on(found)
        _refuse(decided, found.asking, NOBODY)
    else:
        with ctx.journal.transaction():
            found.asking = with_blobs(found.asking, ctx.journal.blobs)
        draft = effects_draft(ctx, found, command, listed.left_out)
        opening = ctx.gate.propose(draft, call_id="", events=events) if ask is None else ask(draft)
        ruling = await ctx.activity.interruptible(opening)
        if ruling.approved or not draft.along_waits or ruling.refused_by == "policy":
            decided.pass_on(found)  # only a person drops what needs no approval
        if ruling.approved:
            _accept_approved(decided, found, ruling)
        else:
            _refuse(decided, found.asking, _why_refused(ruling))
    _let_folders_follow(decided, found)
    return decided


def effects_draft(ctx: RunContext, found: Sorted, command: str, left_out: Sequence[str]) -> EffectsDraft:
    """Return the draft of a proposal about sorted effects. `left_out`: what is never applied."""
    parts = found.asking
    rows = [*(row_of(effect) for part in parts for effect in part.effects), *found.folders, *found.passing]
    git = [*(part.git for part in parts if part.git is not None), *found.git]
    return EffectsDraft(
        command=command,
        entries=tuple(part.draft for part in parts),
        along=storable_path(found.along),
        along_waits=ctx.gate.asks_for_effects,
        never=storable_path(first_names(left_out, _MOST_NAMED)),
        rows=encode_for_digest(rows) + encode_git(git),
    )


def _why_refused(ruling: Ruling) -> str:
    return ruling.note_for_model if ruling.refused_by == "person" else ruling.reason or "it was refused"


def _refuse(decided: Decided, parts: Sequence[ShownEntry], why: str) -> None:
    """Note that none of these entries is applied."""
    names = list[str]()
    for part in parts:
        shown = part.draft.shown
        if shown.conflict:
            decided.refused.append(_not_git(part, shown.conflict) if part.git else f"`{shown.path}`: {shown.conflict}")
        elif part.git is not None:
            decided.refused.append(_not_git(part, why if len(parts) == 1 else GIT_HELD))
        else:
            names.append(shown.path)
    if names:
        reasons = "; ".join(dict.fromkeys(line for part in parts for line in part.draft.shown.why))
        decided.refused.insert(0, f"{named(names)}: {why}{f' ({reasons})' if reasons and reasons not in why else ''}")


def _not_git(part: ShownEntry, why: str) -> str:
    return f"nothing of git ({'' if part.git is None else git_summary(part.git, part.draft.shown.path)}): {why}"


def _accept_approved(decided: Decided, found: Sorted, ruling: Ruling) -> None:
    """Add what was approved: exactly the rows that were shown, and the bytes that a person chose."""
    for at, part in enumerate(found.asking):
        shown, own = part.draft.shown, ruling.entries.get(at, _WHOLE)
        if shown.conflict:
            decided.refused.append(_not_git(part, shown.conflict) if part.git else f"`{shown.path}`: {shown.conflict}")
        elif own.skipped:
            if part.git is not None:
                decided.refused.append(_not_git(part, own.reason or "the person skipped it"))
        elif part.git is not None:
            decided.git.append(part.git)
            decided.counted.append(f"{GIT_WORDS}{git_summary(part.git, shown.path)}")
        else:
            _accept_entry(decided, part, own)
    decided.chosen = ruling.note_for_model
    decided.comment = comment_line(ruling.reason, ruling.by) if ruling.by != "policy" else ""


def _accept_entry(decided: Decided, part: ShownEntry, own: EntryRuling) -> None:
    rows = [row_of(effect) for effect in part.effects]
    if own.after is not None:
        (row,) = rows
        assert row.after is not None  # a deletion has no hunks and no text
        digest = hashlib.sha256(own.after).hexdigest()
        rows = [replace(row, after=replace(row.after, digest=digest, size=len(own.after)))]
        decided.contents[row.path] = own.after
    decided.rows += rows
    if len(rows) == 1 and part.draft.kind != "install":
        decided.recorded[rows[0].path] = rows[0]
    else:
        shown = part.draft.shown
        what = "install in " if shown.kind == "install" else ""
        count = "" if shown.kind == "folder" else f" ({plural(shown.count, 'file')})"
        decided.counted.append(f"{what}`{shown.path or '.'}`{count}")


def _let_folders_follow(decided: Decided, found: Sorted) -> None:
    """Make or delete the folders in which files were accepted."""
    accepted = {row.path for row in decided.rows}
    asked = [effect.path for part in found.asking for effect in part.effects]
    for folder in found.folders:
        below = f"{folder.path}/"
        if folder.after is not None:
            follows = any(path.startswith(below) for path in accepted)
        else:
            left = (path for path in (*asked, *found.left) if path not in accepted)
            follows = not any(path.startswith(below) for path in left)
        if follows:
            decided.rows.append(folder)


async def _applied(
    ctx: RunContext, layers: RunLayers, layer: Layer, listed: Listed, decided: Decided, command: str, events: Events
) -> tuple[list[str], set[str]]:
    """Apply the rows. Returns sentences for the model, and the paths of what is a conflict."""
    accepted = decided.accepted(decided.git)
    applied = await apply_effects(ctx, layers, layer, listed.groups, accepted, command, events)
    words = [*([named(applied.done)] if applied.done else []), *applied.words]
    line = f"Applied: {'; '.join(words)}." if words else ""
    conflicts = [f"`{storable_path(one.path)}`: {one.conflict}" for one in applied.failed[:_MOST_NAMED]]
    more = len(applied.failed) - _MOST_NAMED
    decided.refused += [*conflicts, *([f"and {more} more"] if more > 0 else [])]
    return [line, applied.cannot_be_undone], {one.path for one in applied.failed}
