"""Decide at the gate of a chat on what its child run staged, and apply what is accepted (decision 0043)."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from ...gate.draft import digest_of_draft
from ...gate.waiting_proposal import StoredProposal
from ...journal.claim import claim
from ...layers.layer_effects import TooMuch
from ...layers.left_layers import remove_unit
from ...layers.namespaces import NamespacesRefused
from ...layers.occupied import Occupied
from ...layers.remedies import LayerRefused
from ...layers.unit import Unit, UnitLost
from ...protocol import ProposalDecided, StageEnded
from ...step.resources.run_stage import Stage, decided_on
from ...step.resources.unit_watch import UnitWatch
from ...step.tool_calls.apply_effects import finish_accepted
from ...step.tool_calls.effect_entries import is_folder, sort_effects
from ...step.tool_calls.effects_at_gate import accept_listed
from .called_child import stage_of_child, words_of_child

if TYPE_CHECKING:
    from collections.abc import Callable

    from ...gate.effects_draft import EffectsDraft
    from ...gate.ruling import Ruling
    from ...journal.journal import Journal
    from ...layers.run_layers import Listed
    from ...state.common.child_facts import Child
    from ...state.recorder import Events
    from ...step.resources.run_context import RunContext

_MOVED = "what it would change is not the same any more"
_UNREADABLE = (LayerRefused, UnitLost, Occupied, TooMuch, NamespacesRefused, OSError)


async def review_child(
    ctx: RunContext, child: Child, journal: Journal, events: Events, waiting: Callable[[bool], None]
) -> list[str]:
    """Decide on what an ended child run staged, and apply what is accepted. Returns lines for the model.

    `journal`: that of the child. `waiting` is called with whether it waits until somebody is there to decide.

    Raises PersonInterrupted: then nothing is applied, and it stays staged.
    """
    name, layers = stage_of_child(journal), ctx.layers
    if name is None or layers is None:
        return []
    folder, command = layers.folder / name, words_of_child(child.number, child.title)
    was_accepted = any(one.command == command for one in ctx.facts.changes.accepted.values())
    lines = await finish_accepted(ctx, layers, events)
    if was_accepted:  # before a kill: what was not accepted then is dropped
        with suppress(OSError):  # `rundry doctor` lists what cannot be removed
            await asyncio.to_thread(remove_unit, folder)
        _note_end(journal, "applied")
        return lines
    if not folder.exists():  # an empty stage does not outlast its runner
        _note_end(journal, "dropped")
        return lines
    try:
        unit = await asyncio.to_thread(Unit.left, layers, folder, is_final=True)
    except _UNREADABLE as error:
        return [*lines, _stays(child, f"it cannot be read: {error}")]
    stage = Stage(unit, layers, ctx.workspace, ctx.sandbox, UnitWatch(ctx.workspace))
    try:
        try:
            listed = await stage.listed()
        except _UNREADABLE as error:
            return [*lines, _stays(child, f"it cannot be listed: {error}")]
        gate = ctx.gate.for_worktree(ctx.workspace, ctx.guard, "", shows_result=True)
        try:
            asking = replace(ctx, gate=gate)
            await _until_decidable(asking, listed, waiting)
            ask = partial(_ask, asking, child, events)
            outcome = await accept_listed(asking, layers, unit.layer, listed, command, events, ask=ask)
        finally:
            ctx.gate.forget(gate)
        clashes = any(one.effect.conflict for group in listed.groups for one in group.entries)
        if clashes or outcome.failed:
            return [*lines, *outcome.lines, _stays(child, "somebody changed the same files meanwhile")]
        await asyncio.to_thread(unit.drop)
        files = [one for one in decided_on(listed) if not is_folder(one)]
        _note_end(journal, "applied" if len(outcome.dropped) < len(files) or not files else "dropped")
        return [*lines, *outcome.lines]
    finally:
        stage.is_empty = False
        if folder.exists():
            await stage.close()


async def _ask(ctx: RunContext, child: Child, events: Events, draft: EffectsDraft) -> Ruling:
    """Show the changes at the gate, and return the ruling. A proposal of an earlier runner is shown again unchanged."""
    opened, stored = ctx.facts.requests.waiting_for(child.call_id), None
    if opened is not None and opened.digest == digest_of_draft(draft, ctx.sandbox.kind):
        stored = StoredProposal(opened)
    elif opened is not None:
        moved = ProposalDecided(proposal_id=opened.proposal_id, decision="reject", by="policy", reason=_MOVED)
        events.record(moved)
    return await ctx.gate.propose(draft, call_id=child.call_id, events=events, can_stay_open=True, stored=stored)


async def _until_decidable(ctx: RunContext, listed: Listed, waiting: Callable[[bool], None]) -> None:
    """Wait until somebody is there, if somebody has to decide. Raises PersonInterrupted."""
    if ctx.journal.views.is_attended():
        return
    found = await asyncio.to_thread(sort_effects, ctx.gate, ctx.workspace.root, listed, ctx.guard, is_hook=False)
    if not found.can_be_decided:
        return
    waiting(True)
    try:
        await ctx.activity.interruptible(ctx.activity.until(ctx.journal.views.is_attended))
    finally:
        waiting(False)


def _stays(child: Child, why: str) -> str:
    return f"Its changes stay in its stage, because {why}. The person can see them with `rundry apply {child.run_id}`."


def _note_end(journal: Journal, how: str) -> None:
    """Record in the journal of the child that nothing is staged any more. Raises RunHeld if somebody resumed it."""
    with claim(Path(journal.path)):
        journal.append(StageEnded(how="applied" if how == "applied" else "dropped"), durable=True)
