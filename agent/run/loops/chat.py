"""The chat loop: each message of the person starts a pass; the person sees every step and can stop it."""

from __future__ import annotations

import msgspec

from ...budget.stall.hint import stall_hint
from ...protocol import FILE_FORMATS, Again, Decision, Finish, Reason, Wait, Work
from .shared.judged_end import judge_first, judge_missing_tests
from .shared.loop_state import LoopState, common_end, is_silent, met


def decide(state: LoopState) -> Decision:
    """Run steps until the model has answered, then wait for the next message.

    In a file format each answer is whole: also if it made an edit, the person speaks next.
    """
    facts = state.facts
    match common_end(state):
        case Finish(reason=Reason.BUDGET) as end:
            return msgspec.structs.replace(end, wrap_up=facts.answers.format not in FILE_FORMATS)
        case Finish() | Wait():
            return Wait(None, "message")
        case None:
            pass
    if facts.answers.format in FILE_FORMATS and facts.reply is not None and not facts.answers.has_reason:
        return Wait(None, "message")
    has_message = any(m.role == "user" for m in facts.main.messages)
    if not has_message or facts.interrupted:
        return Wait(None, "message")
    if is_silent(facts):
        first = judge_first(state) if met(state) else judge_missing_tests(state)
        return (first if facts.changes.standing else None) or Wait(None, "message")
    stall = facts.stall
    text = stall_hint(stall.kind, stall.signature) if stall and stall.response == "hint" else None
    return Again([Work(prompt=text, prompt_kind="hint")])
