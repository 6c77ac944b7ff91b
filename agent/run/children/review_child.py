"""Decide at the gate of a chat on what its child run staged, and apply what is accepted (decision 0043)."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

from ...gate.draft import digest_of_draft
from ...gate.waiting_proposal import StoredProposal
from ...journal.claim import claim
from ...layers.effect_rows import decode_rows
from ...layers.git.apply_git_rows import name_of
from ...layers.layer_effects import TooMuch
from ...layers.namespaces import NamespacesRefused
from ...layers.occupied import Occupied
from ...layers.remedies import LayerRefused
from ...layers.unit import Unit, UnitLost
from ...protocol import EffectsAccepted, EffectsApplied, GateMode, JournalError, LoopKind, ProposalDecided, StageEnded
from ...step.resources.run_stage import Stage, decided_on
from ...step.resources.unit_watch import UnitWatch
from ...step.tool_calls.apply_effects import finish_accepted
from ...step.tool_calls.effect_entries import is_folder, named, sort_effects, storable_path
from ...step.tool_calls.effects_at_gate import accept_listed
from .called_child import stage_of_child
from .merge_changes import merge_changes

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ...gate.effects_draft import EffectsDraft
    from ...gate.ruling import Ruling
    from ...journal.journal import Journal
    from ...layers.run_layers import Listed
    from ...state.common.child_facts import Child
    from ...state.recorder import Events
    from ...step.resources.run_context import RunContext

_How = Literal["applied", "dropped"]
_MOVED = "what it would change is not the same any more"
_CHANGED = "somebody changed the same files meanwhile"
_REFUSED = "the gate refuses it, and no person decided"
_UNREADABLE = (LayerRefused, UnitLost, Occupied, TooMuch, NamespacesRefused, OSError)


class Reviewed(NamedTuple):
    """What became of the changes of a child run."""

    lines: Sequence[str]
    """For the model."""
    stays: str = ""
    """Why some of them stay in its stage, for the model and the person. Empty means that none do."""
    how: _How | None = None
    """What became of the stage. None means that it stays."""


async def review_child(
    ctx: RunContext, child: Child, journal: Journal, events: Events, waiting: Callable[[bool], None]
) -> Reviewed:
    """Decide on what an ended child run staged, and apply what is accepted.

    `journal`: that of the child. `waiting` is called with whether it waits until somebody is there to decide.

    Raises PersonInterrupted: then nothing is applied, and it stays staged.
    """
    name, layers = stage_of_child(journal), ctx.layers
    if name is None or layers is None:
        return Reviewed([])
    folder = layers.folder / name
    lines = await finish_accepted(ctx, layers, events)
    earlier = _applied_before(ctx, child.words)
    if earlier is not None and earlier.applied.conflicts:
        return Reviewed(lines, child.stays_words(_CHANGED))
    if not folder.exists():  # an empty stage does not outlast its runner
        _note_end(journal, "dropped" if earlier is None else "applied")
        return Reviewed(lines)
    try:
        unit = await asyncio.to_thread(Unit.left, layers, folder, is_final=True)
    except _UNREADABLE as error:
        return Reviewed(lines, child.stays_words(f"it cannot be read: {error}"))
    stage, is_over = Stage(unit, layers, ctx.workspace, ctx.sandbox, UnitWatch(ctx.workspace)), False
    try:
        try:
            listed = await stage.listed()
        except _UNREADABLE as error:
            return Reviewed(lines, child.stays_words(f"it cannot be listed: {error}"))
        if earlier is None:
            reviewed = await _decided(ctx, child, journal, stage, listed, events, waiting)
        else:
            reviewed = _settled(ctx, child, earlier, listed, await asyncio.to_thread(_denied, ctx, listed))
        if reviewed.how is not None:
            is_over = True
            with suppress(OSError):  # what was applied counts; `rundry doctor` lists what cannot be removed
                await asyncio.to_thread(unit.drop)
            _note_end(journal, reviewed.how)
        return reviewed._replace(lines=[*lines, *reviewed.lines])
    finally:
        stage.is_empty = is_over
        if folder.exists():
            await stage.close()


async def _decided(
    ctx: RunContext,
    child: Child,
    journal: Journal,
    stage: Stage,
    staged: Listed,
    events: Events,
    waiting: Callable[[bool], None],
) -> Reviewed:
    """Decide on what is staged, merged with what the workspace got meanwhile."""
    gate = ctx.gate.for_worktree(ctx.workspace, ctx.guard, "", shows_result=True)
    asking, asked, outcome, listed = replace(ctx, gate=gate), _Asked(), None, staged
    ask = partial(_ask, asking, child, events, asked)
    try:
        while outcome is None:
            listed = await asyncio.to_thread(merge_changes, staged, journal, ctx.workspace.root)
            try:
                await _until_decidable(asking, child, listed, waiting)
                outcome = await accept_listed(
                    asking, stage.layers, stage.unit.layer, listed, child.words, events, ask=ask
                )
            except _NobodyHere:
                continue
            except _Undecided as undecided:
                return Reviewed([], child.stays_words(str(undecided)))
    finally:
        ctx.gate.forget(gate)
    files = {storable_path(one.path) for one in decided_on(listed) if not is_folder(one)}
    why, dropped = "", files.intersection(outcome.dropped)
    found = [one.effect for group in listed.groups for one in group.entries]
    conflicts = {*outcome.failed, *asked.conflicts, *(storable_path(one.path) for one in found if one.conflict)}
    of_git = _conflicts_of_git(listed)
    if conflicts or of_git:
        why = f"{_CHANGED}: {named([*sorted(conflicts), *of_git])}"
    elif not asked.was_ruled and (gate.policy.mode is GateMode.READ or dropped):
        _withdraw(ctx, child, events, _REFUSED)
        why = _REFUSED
    elif denied := (dropped - asked.paths) & await asyncio.to_thread(_denied, ctx, listed):
        why = f"a rule refuses {named(sorted(denied))}"
    if why:
        own = {one.path: one for one in decided_on(staged)}
        merged = {storable_path(one.path) for one in decided_on(listed) if own.get(one.path) != one}
        others = merged | asked.altered  # the workspace has another text than the stage, so they stay conflicts
        await asyncio.to_thread(stage.unit.note_applied, files - set(outcome.dropped) - outcome.failed - others)
        return Reviewed(outcome.lines, child.stays_words(why))
    return Reviewed(outcome.lines, how="applied" if not files or dropped < files else "dropped")


@dataclass(slots=True)
class _Asked:
    """What the gate was asked."""

    was_ruled: bool = False
    """Somebody decided."""
    paths: set[str] = field(default_factory=set[str])
    """What was shown. What a rule denies is not."""
    conflicts: set[str] = field(default_factory=set[str])
    """What of it nobody could accept, because somebody changed it after the stage was listed."""
    altered: set[str] = field(default_factory=set[str])
    """What was accepted with a text of the person or in part."""


class _Undecided(Exception):
    """No person decided on the changes, and the gate refuses them. Nothing was applied."""


class _NobodyHere(Exception):
    """The view left before the changes were shown, or while they were, so nobody decided. Nothing was applied."""


class _Earlier(NamedTuple):
    """What an earlier runner accepted before it was killed, and what was applied of it."""

    accepted: EffectsAccepted
    applied: EffectsApplied


def _applied_before(ctx: RunContext, command: str) -> _Earlier | None:
    """Return what was accepted of this child run, or None if nothing was, or if it was lost before the apply."""
    found, accepted = None, None
    for stamped in ctx.journal.read_types((EffectsAccepted, EffectsApplied)):
        event = stamped.event
        if isinstance(event, EffectsAccepted) and event.command == command:
            found, accepted = None, event
        elif isinstance(event, EffectsApplied) and accepted is not None and event.order == accepted.order:
            found = None if event.lost else _Earlier(accepted, event)
    return found


def _settled(ctx: RunContext, child: Child, earlier: _Earlier, listed: Listed, denied: set[str]) -> Reviewed:
    """Return the same as `_decided` after a kill. What was not accepted then is dropped.

    Conflicts and what the gate denies now stay.
    """
    rows = {row.path for row in decode_rows(ctx.journal.blobs.load(earlier.accepted.rows))}
    paths = [storable_path(one.path) for one in decided_on(listed) if one.conflict and one.path not in rows]
    if earlier.accepted.git is None:  # else the repository has these rows
        paths += _conflicts_of_git(listed)
    if paths:
        return Reviewed([], child.stays_words(f"{_CHANGED}: {named(paths)}"))
    if left := denied.difference(map(storable_path, rows)):
        return Reviewed([], child.stays_words(f"a rule refuses {named(sorted(left))}"))
    return Reviewed(["What was accepted of its changes is applied."], how="applied")


def _denied(ctx: RunContext, listed: Listed) -> set[str]:
    """Return the paths of files that a rule or the mode of the gate denies now."""
    found = sort_effects(ctx.gate, ctx.workspace.root, listed, ctx.guard, is_hook=False)
    others = {effect.path for part in found.asking for effect in part.effects} | {row.path for row in found.passing}
    files = (one for one in decided_on(listed) if not is_folder(one) and not one.conflict)
    return {storable_path(one.path) for one in files if one.path not in others}


def _conflicts_of_git(listed: Listed) -> list[str]:
    """Return the names of branches and the like that somebody changed meanwhile."""
    return [name_of(row) for changes in listed.git for row in changes.rows if row.conflict]


async def _ask(ctx: RunContext, child: Child, events: Events, asked: _Asked, draft: EffectsDraft) -> Ruling:
    """Show the changes at the gate, and return the ruling. A proposal of an earlier runner is shown again unchanged.

    Raises _NobodyHere, and _Undecided if the gate refuses them without a person.
    """
    opened, stored = ctx.facts.requests.waiting_for(child.asks_as), None
    if opened is not None and opened.digest == digest_of_draft(draft, ctx.sandbox.kind):
        stored = StoredProposal(opened)
    elif opened is not None:
        _withdraw(ctx, child, events, _MOVED)
    ruling = await ctx.gate.propose(draft, call_id=child.asks_as, events=events, can_stay_open=True, stored=stored)
    if not ruling.approved and ruling.refused_by != "person":
        is_asked = ruling.refused_by == "policy" and ctx.gate.verdict(draft).action == "ask"
        raise _NobodyHere if ruling.is_left_open or is_asked else _Undecided(ruling.reason or _REFUSED)
    asked.was_ruled = True
    for entry in draft.entries:
        paths = set(map(storable_path, entry.paths))
        asked.paths |= paths
        if entry.shown.conflict:
            asked.conflicts |= paths
    for at, own in ruling.entries.items():
        if own.after is not None:
            asked.altered.update(map(storable_path, draft.entries[at].paths))
    return ruling


def _withdraw(ctx: RunContext, child: Child, events: Events, why: str) -> None:
    """Reject the proposal that an earlier runner left open, if there is one."""
    opened = ctx.facts.requests.waiting_for(child.asks_as)
    if opened is not None:
        ctx.gate.postponed.pop(opened.proposal_id)
        rejected = ProposalDecided(proposal_id=opened.proposal_id, decision="reject", by="policy", reason=why)
        events.record(rejected)


async def _until_decidable(ctx: RunContext, child: Child, listed: Listed, waiting: Callable[[bool], None]) -> None:
    """Wait until somebody is there or has decided, if somebody has to decide.

    Raises PersonInterrupted, and _Undecided in a run without a screen that is not a chat: it ends as a hand-off.
    """
    if ctx.journal.views.is_attended():
        return
    found = await asyncio.to_thread(sort_effects, ctx.gate, ctx.workspace.root, listed, ctx.guard, is_hook=False)
    if not found.can_be_decided:
        return

    if ctx.headless and ctx.facts.spec.loop is not LoopKind.CHAT:
        raise _Undecided("nobody is here to decide")

    def can_continue() -> bool:
        opened = ctx.facts.requests.waiting_for(child.asks_as)
        is_decided = opened is not None and opened.proposal_id in ctx.gate.postponed.decisions
        return is_decided or ctx.journal.views.is_attended() or ctx.gate.policy.mode is GateMode.READ

    waiting(True)
    try:
        await ctx.activity.interruptible(ctx.activity.until(can_continue))
    finally:
        waiting(False)


def _note_end(journal: Journal, how: _How) -> None:
    """Record in the journal of the child that nothing is staged any more, unless somebody resumed it."""
    with suppress(JournalError), claim(Path(journal.path)):
        journal.append(StageEnded(how=how), durable=True)
