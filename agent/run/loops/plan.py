"""The plan loop: the model reads and proposes a plan with its check; the run ends when a person accepts it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...budget.stall.hint import stall_hint
from ...protocol import Again, Decision, Finish, Reason, Wait, Work
from .shared.loop_state import LoopState, common_end, is_silent

if TYPE_CHECKING:
    from ...state.facts.run_facts import RunFacts

NUDGE = (
    "This is not a plan yet. When you know enough, call `propose_plan` with the steps and the check. If you need an "
    "answer from the person, call `ask_person`."
)
_ENDS = (Reason.BUDGET, Reason.HANDOFF)


def decide(state: LoopState) -> Decision:
    """Run steps until a plan is accepted.

    An answer that is neither a plan nor a call gets one reminder; after another one, the person speaks next.
    """
    facts = state.facts
    if facts.accepted is not None:
        return Finish(reason=Reason.ANSWERED, detail=accepted_words(facts.accepted.check))
    match common_end(state):
        case Finish(reason=reason) as end if reason in _ENDS:
            return end
        case Finish() | Wait():
            return Wait(None, "message")
        case None:
            pass
    if facts.interrupted or not facts.main.said:
        return Wait(None, "message")
    if is_silent(facts):
        return Wait(None, "message") if _was_reminded(facts) else Again([Work(prompt=NUDGE, prompt_kind="nudge")])
    stall = facts.stall
    text = stall_hint(stall.kind, stall.signature) if stall and stall.response == "hint" else None
    return Again([Work(prompt=text, prompt_kind="hint")])


def accepted_words(check: str | None) -> str:
    """Return how the run of an accepted plan ended."""
    return f"you accepted the plan; its check is {check}" if check else "you accepted the plan; it has no check"


def _was_reminded(facts: RunFacts) -> bool:
    return facts.verdicts.nudged_seq > max(facts.main.said)
