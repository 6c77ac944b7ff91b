"""The message that the model gets before its next step."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from ....budget.stall.hint import stall_hint
from ....protocol import Verify
from ....step.checks.feedback import feedback, judged_feedback, unchanged_feedback, unconfirmed_feedback
from .loop_state import failing_checks, held_before, is_silent

if TYPE_CHECKING:
    from ....protocol import CheckFinished, PromptKind
    from ....state.facts.run_facts import RunFacts

_NUDGE = (
    "You stopped without calling a tool, so nothing was done. If the work is finished, call `finish` with citations; "
    "if not, take the next step with a tool. If you need an answer from a person, call `ask_person`."
)
_CUT = (
    "Your answer exceeded the maximum length and was cut off, so no tool was called. "
    "Write less text and call the next tool immediately; write a long file in several shorter edits."
)
_PASSES_BEFORE = (
    "The check passes before the first step, so it does not show whether the plan is carried out. Carry out each step, "
    "keep the check passing, and call `finish` with citations when the plan is done."
)


def next_words(facts: RunFacts) -> tuple[PromptKind, str | None]:
    """Return the kind and the text of the message to send to the model before the next step; the text may be None."""
    parts: list[tuple[PromptKind, str]] = []
    if not facts.step and held_before(facts):
        parts.append(("check", _PASSES_BEFORE))
    claimed = facts.finish is not None and facts.finish_seq > facts.verdicts.prompted_seq
    if facts.verdicts.checked_seq > facts.verdicts.prompted_seq:
        parts += _checks(
            feedback(check, facts.verdicts.sent_outputs.get(check.command)) for check in failing_checks(facts)
        )
    elif claimed or is_silent(facts):
        parts += _checks(unchanged_feedback(check) for check in _not_run_again(facts))
    failed = facts.verdicts.confirmation
    if facts.verdicts.is_unconfirmed and failed and facts.verdicts.confirmation_seq > facts.verdicts.prompted_seq:
        parts.append(("check", unconfirmed_feedback(failed)))
    judged = facts.verdicts.judgement
    if judged and facts.verdicts.is_judged_red and facts.verdicts.judgement_seq > facts.verdicts.prompted_seq:
        parts.append(("check", judged_feedback(judged)))
    parts += _checks(
        f"Not met yet: {judged.name}: {judged.detail}"
        for judged in facts.verdicts.predicates.values()
        if not judged.passed and (claimed or is_silent(facts))
    )
    if claimed:
        parts.append(("check", "Your `finish` was understood, but the goal is not met yet. Continue."))
    if is_silent(facts) and facts.verdicts.nudged_seq <= facts.step_seq:  # otherwise the step named the code's file
        was_cut = facts.reply is not None and facts.reply.finish == "length"
        parts.append(("nudge", _CUT if was_cut else _NUDGE))
    if facts.stall is not None and facts.stall.response == "hint":
        parts.append(("hint", stall_hint(facts.stall.kind, facts.stall.signature)))
    if not parts:
        return "task", None
    return parts[-1][0], "\n\n".join(text for _, text in parts)


def _not_run_again(facts: RunFacts) -> list[CheckFinished]:
    return failing_checks(facts) if facts.spec.predicates.verify is Verify.ON_CHANGE else []


def _checks(texts: Iterable[str]) -> list[tuple[PromptKind, str]]:
    return [("check", text) for text in texts]
