"""Switch to a stronger model (`escalate`), once per run, if the hint after a stall did not help."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...facts.common.handoff import ESCALATE
from ...loops.shared.state import stall_reason
from ...protocol import Fault, Finish, HandoffRecord, MessageKind, Prompted, Reason, StallDetected, StallEnd
from ...view.reducer.titles import stall_name
from ..commands.reconfigure import OpenModel, hand_to_model
from .handoff import handoff_record

if TYPE_CHECKING:
    from ..live.live_run import LiveRun

OF_HANDOVER: MessageKind = "handover"
"""Kind of the message to a model that takes over."""
_MOST = 8


async def escalate(run: LiveRun, open_model: OpenModel) -> Finish | None:
    """Switch to the stronger model if a stall requires it.

    Returns None, or the end of the run if that model cannot take over.
    """
    stall, spec = run.facts.stall, run.facts.spec.escalate
    if stall is None or stall.response != ESCALATE or spec is None:
        return None
    before = run.ctx.models.current.name
    record = handoff_record(run.facts, "", run.ctx.journal.blob)
    why = await hand_to_model(run, spec, open_model, by=ESCALATE)
    if why is not None:
        run.ctx.events.record(Fault(kind=ESCALATE, text=f"{spec.name} cannot take over: {why}"))
        return _end(stall, run.ctx.stall_ends())
    reason = f"{stall_name(stall.kind)}: {stall.signature}"
    run.ctx.events.record(Prompted(kind=OF_HANDOVER, text=handover(before, reason, record)))
    return None


def handover(before: str, reason: str, record: HandoffRecord) -> str:
    """Return the message to a model that takes over from model `before`."""
    tried = [f"- {t.what}{f' ({t.times} times)' if t.times > 1 else ''}: {t.why}" for t in record.tried[-_MOST:]]
    lines = [
        f"You take over from another model ({before}), which could not continue: {reason}.",
        "Everything above is its work, not yours: look at the files before you trust it.",
    ]
    if tried:
        lines += ["What was tried and did not help:", *tried]
    return "\n".join([*lines, "Take a different approach."])


def _end(stall: StallDetected, response: StallEnd) -> Finish:
    reason = Reason.HANDOFF if response == "handoff" else stall_reason(stall.kind)
    return Finish(reason=reason, detail=f"{stall_name(stall.kind)}: {stall.signature}")
