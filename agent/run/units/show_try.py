"""Show what the chosen try of a goal run changed at the gate, as one proposal."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from ...gate.draft import digest_of_draft
from ...gate.resolve_conflict import NOBODY_HERE
from ...gate.waiting_proposal import StoredProposal
from ...protocol import ProposalDecided, Reason, TryChosen, WorkResult
from ...step.tool_calls.effect_entries import sort_effects
from ...step.tool_calls.effects_at_gate import Decided, decide_effects
from .measure import Measured

if TYPE_CHECKING:
    from ...gate.effects_draft import EffectsDraft
    from ...gate.gate import Gate
    from ...gate.ruling import Ruling
    from ...layers.run_layers import Listed
    from ...step.resources.run_context import RunContext

_MOVED = "what it would change is not the same any more"


async def review(ctx: RunContext, chosen: TryChosen, listed: Listed) -> Decided | Measured | WorkResult:
    """Ask the gate about what the try changed. Nothing is written here.

    Returns what was approved; or, if it was refused, why nothing is applied; or the hand-off to someone who can decide.
    Raises PersonInterrupted. Conflicts are not asked about: they are in `refused`.
    """
    gate = ctx.gate.for_worktree(ctx.workspace, ctx.guard, _name(chosen), shows_result=True)
    try:
        return await _reviewed(ctx, gate, chosen, listed)
    finally:
        ctx.gate.forget(gate)


async def _reviewed(ctx: RunContext, gate: Gate, chosen: TryChosen, listed: Listed) -> Decided | Measured | WorkResult:
    rulings = list["Ruling"]()
    found = await asyncio.to_thread(sort_effects, gate, ctx.workspace.root, listed, ctx.guard, is_hook=False)
    shown = [part.draft.shown for part in found.asking]
    conflicts = [*found.refused, *(f"{one.path}: {one.conflict}" for one in shown if one.conflict)]
    if conflicts:
        return Decided({}, refused=conflicts)

    async def ask(draft: EffectsDraft) -> Ruling:
        rulings.append(await _ruling(ctx, gate, chosen, draft))
        return rulings[0]

    events = ctx.events.bound(None, None)
    decided = await decide_effects(ctx, found, listed, _name(chosen), events, asks=True, ask=ask)
    if rulings and not rulings[0].approved:
        return _refused(rulings[0], chosen)
    return decided


async def _ruling(ctx: RunContext, gate: Gate, chosen: TryChosen, draft: EffectsDraft) -> Ruling:
    """Show the change at the gate, and return the ruling.

    If nobody is here to decide, the proposal stays open in the journal, and is shown again unchanged.
    """
    call_id = f"review:{chosen.number}:{chosen.candidate}"  # without a dot, which numbers the proposals
    opened, stored = ctx.facts.requests.waiting_for(call_id), None
    if opened is not None and opened.digest == digest_of_draft(draft, ctx.sandbox.kind):
        stored = StoredProposal(opened)
    elif opened is not None:
        closed = ProposalDecided(proposal_id=opened.proposal_id, decision="reject", by="policy", reason=_MOVED)
        ctx.events.record(closed)
    events = ctx.events.bound(None, None)
    return await gate.propose(draft, call_id=call_id, events=events, can_stay_open=True, stored=stored)


def _refused(ruling: Ruling, chosen: TryChosen) -> Measured | WorkResult:
    """Return why the try is not applied, or the hand-off if nobody was here to decide."""
    reason = ruling.reason or "no reason given"
    if ruling.handoff or ruling.is_left_open or reason.startswith(NOBODY_HERE):
        lines = "" if chosen.lines is None else f" ({chosen.lines} changed lines)"
        return WorkResult(handoff=f"someone has to approve the change of {_name(chosen)}{lines}: it reached the goal")
    ends = Reason.USER if ruling.by != "policy" else None
    return Measured(False, f"{_name(chosen)} was not applied: its change was rejected: {reason}", ends=ends)


def _name(chosen: TryChosen) -> str:
    return f"try {chosen.candidate} of {chosen.tries}"
