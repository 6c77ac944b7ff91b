"""Resume the run of an earlier runner, which ended or died: record what changes, then settle what it left open."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ...budget.admission import replace_budget
from ...protocol import (
    BUDGET,
    BudgetChanged,
    Charged,
    GateModeChanged,
    HandoffClosed,
    LimitsChanged,
    LimitValue,
    LoopKind,
    Prompted,
    Reason,
    RunEnded,
    RunResumed,
    Said,
    Snapshotted,
    Tokens,
    WorkResult,
    bill,
)
from ..commands.control_report import end_manual_control
from ..commands.reconfigure import model_switched
from ..commands.undo_command import finish_undo
from ..end.suspect_decisions import accept_result, send_suspects
from ..loops.shared.loop_state import LoopState, suspect_handoff
from ..units.item_unit import finish_left_items
from .begin_run import enforceable_budget, is_direct, record_scope_read, record_stage
from .changed_since import changed_since, note_changed
from .concurrent_runs import concurrent_runs
from .damaged_journal import note_damage, settle_spend
from .sandbox_of_run import missing_guarantees
from .settle import settle

if TYPE_CHECKING:
    from ...state.facts.run_facts import RunFacts
    from ...state.recorder import Recorder
    from ...step.resources.run_context import RunContext
    from ..client.start_request import ResumeChanges
    from ..live.live_run import LiveRun
    from .begin_run import Beginning
    from .changed_since import ChangedSince


async def resume(run: LiveRun, beginning: Beginning) -> Sequence[WorkResult]:
    """Resume the run: apply the requested changes, and settle open calls without repeating one that may have run.

    Returns the results of the step that this finished.
    """
    ctx, facts, order, damage = run.ctx, run.facts, beginning.order, beginning.damage
    changes = order.changes
    was_asking = facts.ended is None and facts.handoffs.tier is not None
    before = None if facts.verdicts.is_check_due else facts.ended
    arrived = {work: conversation.pending for work, conversation in facts.conversations.items()}
    others = concurrent_runs(facts.spec, ctx.journal.path, ctx.clock.now())
    notes = [*order.notes, *beginning.notes, *others, *_already_complete(before)]
    newest = ctx.journal.read(ctx.journal.last_seq() - 1)[-1].at
    different = await asyncio.to_thread(changed_since, facts, ctx.workspace, newest)
    resumed = _resumed_event(ctx, notes, changes.executor, max(0.0, ctx.clock.now() - newest), different)
    if damage:
        resumed = note_damage(ctx.facts, ctx.workspace, resumed, damage, newest)
    ctx.events.record(resumed, durable=bool(damage))
    if facts.changes.world is not None:
        ctx.events.record(Snapshotted(world=None))  # an earlier version took them
    record_stage(ctx)
    record_scope_read(ctx, beginning.scope)
    _charge_lost_calls(ctx, arrived)
    settle_spend(ctx.facts, ctx.events, damage, resumed.notes[len(notes) :])
    _change_limits(ctx.facts, ctx.events, changes.limits, by=changes.by)
    if (kept := enforceable_budget(ctx.facts, ctx.models)) != facts.budget:
        ctx.events.record(BudgetChanged(budget=kept, by="program"))
    if changes.model is not None:
        ctx.events.record(model_switched(run.tools, run.facts, ctx.models.current, changes.model))
    if changes.gate is not None:
        ctx.events.record(GateModeChanged(mode=changes.gate, channel=changes.channel))
    if facts.handoff is not None and not (was_asking and changes.hint is None):
        ctx.events.record(HandoffClosed(by=changes.by, note=changes.hint or ""))
    left = None if run.passes is None else await run.passes.reopen()
    ctx = run.ctx
    if run.finder is not None:
        await finish_left_items(ctx)
        run.finder.resume(after_end=before is not None and before.reason is Reason.DRY)
    if changes.decision is not None:
        ctx.gate.decide_later(changes.decision)
    await finish_undo(run)
    results = await settle(run, said=changes.hint, by=changes.by)
    await end_manual_control(ctx)
    if left is not None:
        return [left]
    if changes.accept is not None and not facts.main.unanswered():
        await accept_result(run, changes.accept)
        return results
    return () if _note_resumed(run, changes, before, different) else results


def _charge_lost_calls(ctx: RunContext, arrived: Mapping[str | None, str]) -> None:
    """Charge the calls that were running when a runner died. Their bill is unknown, so the worst case is assumed.

    Charges what arrived as an estimate, and holds the rest of the admitted worst case against the limits.

    `arrived`: for each conversation, the text of the answer that was cut off.
    """
    for work, admitted in list(ctx.facts.admitted.items()):
        known = admitted.model in ("", ctx.models.current.name)
        tokens = Tokens(admitted.prompt_tokens, ctx.models.current.count_text(arrived.get(work, "")))
        usd = bill(ctx.models.current.price, tokens) if known else admitted.worst_usd
        ctx.events.record(
            Charged(
                tokens_in=tokens.in_,
                tokens_out=tokens.out,
                usd=None if admitted.worst_usd is None else usd,
                estimated=True,
                held_tokens=max(0, admitted.worst_tokens - tokens.total),
                held_usd=max(0.0, (admitted.worst_usd or 0.0) - (usd or 0.0)),
                is_cut=True,
                model=admitted.model,
            ),
            work=work,
        )


def _resumed_event(
    ctx: RunContext, notes: list[str], executor: str | None, rested: float, different: ChangedSince
) -> RunResumed:
    not_held = missing_guarantees(ctx.sandbox, ctx.gate.policy.rules)
    facts = ctx.facts
    return RunResumed(
        run_id=facts.spec.run_id,
        from_seq=facts.last_seq,
        notes=notes,
        not_held=not_held,
        direct=is_direct(ctx),
        executor=executor,
        rested=rested,
        changed=different.files,
        head=different.head,
    )


def _note_resumed(run: LiveRun, changes: ResumeChanges, before: RunEnded | None, different: ChangedSince) -> bool:
    """Inform the model that the run was resumed, and what is different. Returns whether there was a hint."""
    ctx, facts = run.ctx, run.facts
    if facts.main.unanswered():  # the result of an open proposal's call must come first
        return False
    if (note := note_changed(facts, different)) is not None:
        ctx.events.record(note)
    has_items = facts.finder is not None and bool(facts.finder.suspects.waiting)
    is_suspect = before is not None and (has_items or suspect_handoff(LoopState(facts)) is not None)
    is_unasked = changes.hint is not None or not ctx.journal.views.is_attended()
    if is_suspect and is_unasked:  # otherwise the person is asked first
        send_suspects(run, (changes.hint or "") if has_items else "")
    if changes.hint is not None:
        ctx.events.record(Said(text=changes.hint, kind="steer", images=changes.images, by=changes.by))
        return True
    if changes.decision is not None:
        return False
    is_left = before is not None and not before.complete and not is_suspect
    if is_left and facts.spec.loop is LoopKind.GOAL and not facts.wrapped_up:
        ctx.events.record(Prompted(kind="note", text="The run was resumed. Continue."))
    return False


def _change_limits(facts: RunFacts, events: Recorder, limits: Mapping[str, LimitValue], *, by: str) -> None:
    for name, value in limits.items():
        if name in BUDGET and not isinstance(value, str):
            events.record(BudgetChanged(budget=replace_budget(facts.budget, name, value), by=by))
    others = {name: value for name, value in limits.items() if name not in BUDGET}
    if others:
        events.record(LimitsChanged(limits=others, by=by))


def _already_complete(before: RunEnded | None) -> list[str]:
    """Return a note if the run is already complete."""
    return (
        [f"this run already ended with {before.reason}: {before.detail}"]
        if before is not None and before.complete
        else []
    )
