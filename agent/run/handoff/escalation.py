"""A stronger model takes over where a stall's hint did not help: by rule, once a run."""

from __future__ import annotations

from ...facts.escalations import ESCALATE
from ...loops.state import stall_reason
from ...protocol import Fault, Finish, HandoffRecord, Prompted, Reason, StallDetected
from ..commands.reconfigure import OpenModel, hand_to_model
from ..run_driver import RunDriver
from .handoff import handoff_record

OF_HANDOVER = "handover"
"""Kind of the program's words to a model that takes over."""
_MOST = 8


async def escalate(run: RunDriver, open_model: OpenModel) -> Finish | None:
    """After a stall that the rule is for: None, and the other model goes on; or the end, where it cannot."""
    stall, spec = run.facts.stall, run.facts.spec.escalate
    if stall is None or stall.response != ESCALATE or spec is None:
        return None
    before = run.kit.model.name
    record = handoff_record(run.facts, "", run.kit.journal.blob)
    why = await hand_to_model(run, spec, open_model, by=ESCALATE)
    if why is not None:
        run.kit.record(Fault(kind=ESCALATE, text=f"{spec.name} cannot take over: {why}"))
        return _end(stall, run.kit.stall_ends())
    run.kit.record(Prompted(kind=OF_HANDOVER, text=handover(before, f"{stall.kind}: {stall.signature}", record)))
    return None


def handover(before: str, reason: str, record: HandoffRecord) -> str:
    """What a model hears that takes over from another."""
    tried = [f"- {t.what}{f' ({t.times} times)' if t.times > 1 else ''}: {t.why}" for t in record.tried[-_MOST:]]
    lines = [
        f"You take over from another model ({before}), which could not go on: {reason}.",
        "What stands above is its work, not yours: look at the files before you trust it.",
    ]
    if tried:
        lines += ["What was tried and did not help:", *tried]
    return "\n".join([*lines, "Take a different way."])


def _end(stall: StallDetected, response: str) -> Finish:
    reason = Reason.HANDOFF if response == "handoff" else stall_reason(stall.kind)
    return Finish(reason=reason, detail=f"{stall.kind}: {stall.signature}")
