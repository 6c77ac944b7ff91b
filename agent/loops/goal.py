"""The goal loop: continues while a check fails. Done means that a check passed, never that the model said so."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from ..protocol import CONSTRAINED, Again, Confirm, Decision, Finish, PromptKind, Reason, Work
from ..step.checks.feedback import feedback, unconfirmed_feedback
from ..step.constrained import NO_EDIT
from ..step.detect_stalls import stall_hint
from .state import LoopState, common_end, failing_checks, is_answered, is_silent, met, never_started, suspect_handoff

if TYPE_CHECKING:
    from ..facts.facts import RunFacts

NUDGE = (
    "You stopped without calling a tool, so nothing was done. If the work is finished, call `finish` with citations; "
    "if not, take the next step with a tool. If you need an answer from a person, call `ask_person`."
)
CUT = (
    "Your answer exceeded the maximum length and was cut off, so no tool was called. "
    "Write less text and call the next tool immediately; write a long file in several shorter edits."
)


def decide(state: LoopState) -> Decision:
    """Return the next step, with the messages to send to the model first, or the end of the run."""
    facts = state.facts
    fired = met(state)
    if fired and not (facts.spec.needs_finish and facts.finish is None):
        if facts.spec.predicates.confirming and facts.verdicts.is_confirmation_due:
            return Confirm()
        early = ", already met" if facts.step == 0 else ""
        return Finish(reason=Reason.DONE, detail=f"{fired}{early}")
    if refused := never_started(facts):
        return refused
    if doubt := suspect_handoff(state):
        return doubt
    if facts.finish is not None and not facts.spec.predicates.exist:
        return Finish(reason=Reason.ANSWERED, detail="a cited finish was accepted")
    if facts.spec.answers_in_text and is_answered(facts):
        return Finish(reason=Reason.ANSWERED, detail="the model answered in text")
    if end := common_end(state):
        return end
    kind, text = next_words(facts)
    return Again([Work(prompt=text, prompt_kind=kind)])


def next_words(facts: RunFacts) -> tuple[PromptKind, str | None]:
    """Return the kind and the text of the message to send to the model before the next step; the text may be None."""
    parts: list[tuple[PromptKind, str]] = []
    claimed = facts.finish is not None and facts.finish_seq > facts.verdicts.prompted_seq
    if facts.verdicts.checked_seq > facts.verdicts.prompted_seq:
        parts += _checks(
            feedback(check, facts.verdicts.sent_outputs.get(check.command)) for check in failing_checks(facts)
        )
    failed = facts.verdicts.confirmation
    if facts.verdicts.is_unconfirmed and failed and facts.verdicts.confirmation_seq > facts.verdicts.prompted_seq:
        parts.append(("check", unconfirmed_feedback(failed)))
    parts += _checks(
        f"Not met yet: {judged.name}: {judged.detail}"
        for judged in facts.verdicts.predicates.values()
        if not judged.passed and (claimed or is_silent(facts))
    )
    if claimed:
        parts.append(("check", "Your `finish` was understood, but the goal is not met yet. Continue."))
    if is_silent(facts):
        was_cut = facts.reply is not None and facts.reply.finish == "length"
        said = NO_EDIT if facts.spec.edit_format == CONSTRAINED else NUDGE
        parts.append(("nudge", CUT if was_cut else said))
    if facts.stall is not None and facts.stall.response == "hint":
        parts.append(("hint", stall_hint(facts.stall.kind, facts.stall.signature)))
    if not parts:
        return "task", None
    return parts[-1][0], "\n\n".join(text for _, text in parts)


def _checks(texts: Iterable[str]) -> list[tuple[PromptKind, str]]:
    return [("check", text) for text in texts]
