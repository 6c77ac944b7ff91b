"""How a run begins, and how one is taken up that another runner left."""

from __future__ import annotations

from ..journal.facts import replace_budget
from ..protocol import (
    BudgetChanged,
    GateModeChanged,
    HandoffClosed,
    LoopKind,
    ModelSwitched,
    Prompted,
    ProposalOpened,
    RunResumed,
    RunStarted,
    Said,
    ToolCall,
    ToolFinished,
)
from ..step import perform_calls, system_prompt
from .conduct import Conduct
from .orders import Order


def begin(run: Conduct, order: Order) -> None:
    """The first events: what the run is, what the model is told, the task."""
    kit, spec = run.kit, run.facts.spec
    kit.record(
        RunStarted(
            run_id=spec.run_id,
            loop=spec.loop,
            task=spec.task,
            workspace=spec.workspace,
            model=kit.model.name,
            budget=run.facts.budget,
            journal=str(kit.journal.path),
            local=kit.model.local,
            window=kit.model.window,
            priced=kit.model.price is not None,
            sandbox=kit.sandbox.kind,
            gate=spec.gate.mode,
            instructions=spec.instructions,
            notes=[*order.notes, *kit.notes],
        )
    )
    kit.record(Prompted(kind="system", text=system_prompt(spec)))
    if spec.task:
        kit.record(Said(text=spec.task, kind="task"))


async def take_up(run: Conduct, order: Order) -> None:
    """Goes on where another runner stopped: limits changed as asked, dangling calls settled, none repeated blindly."""
    kit, changes = run.kit, order.changes
    before = run.facts.ended
    kit.record(RunResumed(run_id=run.facts.spec.run_id, from_seq=run.facts.last_seq, notes=order.notes))
    for name, value in changes.limits.items():
        kit.record(BudgetChanged(budget=replace_budget(run.facts.budget, name, value)))
    if changes.model is not None:
        kit.record(
            ModelSwitched(
                model=kit.model.name,
                local=kit.model.local,
                window=kit.model.window,
                priced=kit.model.price is not None,
            )
        )
    if changes.gate is not None:
        kit.record(GateModeChanged(mode=changes.gate))
    if run.facts.handoff is not None:
        kit.record(HandoffClosed(by="person", note=changes.hint or ""))
    await _settle(run)
    if changes.hint is not None:
        kit.record(Said(text=changes.hint, kind="steer"))
    elif before is not None and run.facts.spec.loop is not LoopKind.CHAT:
        kit.record(Prompted(kind="note", text="The run was taken up again. Go on."))


async def _settle(run: Conduct) -> None:
    """Calls that have no result: those that may have happened are said to be unknown, the others are made now."""
    facts = run.facts
    dangling = facts.main.unanswered()
    if not dangling:
        return
    record = run.kit.recorder(facts.step or None, None)
    again: list[ToolCall] = []
    for call in dangling:
        approved = facts.approved.get(call.call_id)
        if approved is None:
            again.append(call)
            continue
        record(ToolFinished(call_id=call.call_id, tool=call.tool, ok=False, result=_unknown(run, approved)))
    for opened in list(facts.proposals.values()):
        facts.proposals.pop(opened.proposal_id, None)
    await perform_calls(run.kit, again, record, names=run.tools)


def _unknown(run: Conduct, proposal: ProposalOpened) -> str:
    """What became of an approved action whose runner died."""
    if proposal.path is None or proposal.after is None:
        return (
            "unknown: the program stopped while this command ran; it may have run in part. Look before you repeat it."
        )
    target = run.kit.workspace.root / proposal.path
    data = target.read_bytes() if target.is_file() else None
    if data is not None and data == run.kit.journal.blob(proposal.after):
        return "done: the program stopped after the file was written; its new content is in place."
    if data is None and proposal.before is None:
        return "not done: the program stopped before the file was written."
    if data is not None and proposal.before is not None and data == run.kit.journal.blob(proposal.before):
        return "not done: the program stopped before the file was written; it is unchanged."
    return "unknown: the program stopped during the write and the file is neither the old nor the new one. Read it."
