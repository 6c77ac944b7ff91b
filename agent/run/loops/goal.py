"""The goal loop: continues while a check fails. Done means that a check passed, never that the model said so."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...protocol import FILE_FORMATS, NO_BASE, Again, Confirm, Decision, Finish, Reason, Restart, Work
from ...step.formats.choose_format import FIRST, writes_code_only
from . import restarts
from .shared.judged_end import judge_first, judge_missing_tests, judged_end
from .shared.loop_state import (
    LoopState,
    common_end,
    held_before,
    is_answered,
    met,
    never_started,
    no_answer,
    not_confirmed,
    suspect_handoff,
    suspects_left,
)
from .shared.next_words import next_words

if TYPE_CHECKING:
    from ...state.facts.run_facts import RunFacts

NO_PROOF = "the check passed before the first step, too, so it does not show that"


def decide(state: LoopState) -> Decision:
    """Return the next step, with the messages to send to the model first, or the end of the run."""
    facts = state.facts
    if over := end_of_met(state):
        return over
    if ended := never_started(facts) or suspect_handoff(state):
        return ended
    if facts.finish is not None and not facts.spec.predicates.exist:
        return Finish(reason=Reason.ANSWERED, detail="a cited finish was accepted")
    if facts.answers.format in FILE_FORMATS or facts.answers.newest is not None:
        return restarts.decide(state)
    of_question = _end_of_question(facts) if facts.spec.answers_in_text else None
    if found := of_question or restarts.start_over(state) or common_end(state):
        return found
    if writes_code_only(facts):
        why = f"the model wrote code and called no tool; {FIRST} instead of tools"
        return Restart(why=why, base=NO_BASE, format=FIRST, temperature=0.0)
    kind, text = next_words(facts)
    return Again([Work(prompt=text, prompt_kind=kind)])


def end_of_met(state: LoopState) -> Decision | None:
    """Return the end of a run whose predicates hold, or what comes before that end, or None if it continues."""
    facts, fired = state.facts, met(state)
    if facts.verdicts.is_judged_red and not suspects_left(facts):
        return judged_end(state)
    if missing := judge_missing_tests(state):
        return missing
    if not fired or (facts.spec.needs_finish and facts.finish is None):
        return None
    if held_before(facts):
        return _end_of_plan(facts)
    if first := judge_first(state):
        return first
    if facts.spec.predicates.confirming and facts.verdicts.is_confirmation_due:
        return Confirm()
    if unconfirmed := not_confirmed(facts):
        return unconfirmed
    early = ", already met" if facts.step == 0 else ""
    return Finish(reason=Reason.DONE, detail=f"{fired}{early}")


def _end_of_plan(facts: RunFacts) -> Finish | None:
    """Return the end of a plan whose predicates held before the first step, or None if the model still works on it.

    A claim that was answered with a message, such as that of a failed check, does not count. A file format has no call
    for it: an answer that leaves them met is one.
    """
    is_newest = facts.finish is not None and facts.finish_seq > facts.verdicts.prompted_seq
    claimed = is_newest or (facts.answers.format in FILE_FORMATS and facts.step > 0)
    why = f"the model says that the plan is carried out; {NO_PROOF}"
    return Finish(reason=Reason.ANSWERED, detail=why) if claimed else None


def _end_of_question(facts: RunFacts) -> Finish | None:
    """Return the end of a run that only asks a question: there is an answer, or there will be none."""
    if is_answered(facts):
        return Finish(reason=Reason.ANSWERED, detail="the model answered in text")
    why = no_answer(facts)
    return Finish(reason=Reason.ERROR, detail=why) if why else None
