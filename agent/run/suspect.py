"""Ask the person about a suspect check: accept the result, or let the model continue (REQUIREMENTS 2.3.6)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..journal.verdicts import SUSPECT_QUESTION, result_of
from ..protocol import CheckAccepted, CheckFinished, Prompted, QuestionAnswered, QuestionAsked, Waiting
from ..step.feedback import suspect_words
from ..step.kit import Kit

if TYPE_CHECKING:
    from .conduct import Conduct

ACCEPT = "Accept the result"
CONTINUE = "Continue"
_NAMED = 6


async def settled_by_person(run: Conduct) -> bool:
    """False: nobody is there to be asked. After an acceptance the checks have passed; else the model was told."""
    kit, facts = run.kit, run.facts
    found = facts.verdicts.suspects
    if not found or not kit.watched():
        return False
    name = f"{SUSPECT_QUESTION}{facts.verdicts.checked_seq}"
    if name not in facts.asking.questions:  # else an earlier runner asked
        kit.record(QuestionAsked(question_id=name, question=_question(found), options=[ACCEPT, CONTINUE]))
    kit.record(Waiting(why="question"))
    await run.until(lambda: name not in facts.asking.questions or bool(facts.queue) or not kit.watched())
    if name in facts.asking.questions:
        is_heard = bool(facts.queue) or run.stop is not None or run.wheel_asked
        kit.record(QuestionAnswered(question_id=name, text=CONTINUE if is_heard else "", by="program"))
        if not is_heard:
            return False
    answer = facts.asking.answers[name].strip()
    if _accepts(answer):
        for check in found:
            kit.record(CheckAccepted(command=check.command))
    elif run.stop is None:
        tell_suspects(run, "" if answer == CONTINUE else f"\n\nThe person answered: {answer}")
    return True


async def accept_result(run: Conduct, digest: str) -> None:
    """Accept the suspect result of that digest, where the checks still give it.

    The files can have changed since a person looked at it, so the checks are asked again. Another result is not
    accepted: the run is handed over with that one.
    """
    await run.ask_checks()
    verdicts = run.facts.verdicts
    if verdicts.suspect_digest == digest:
        for check in verdicts.suspects:
            run.kit.record(CheckAccepted(command=check.command))


def accept_same_results(kit: Kit) -> None:
    """Accept the suspect results that the person accepted in this pass, where the checks gave them once more."""
    verdicts = kit.facts.verdicts
    for check in verdicts.suspects:
        if result_of(check) in verdicts.accepted_results:
            kit.record(CheckAccepted(command=check.command))


def tell_suspects(run: Conduct, more: str = "") -> None:
    """The model hears which tests are missing."""
    found = run.facts.verdicts.suspects
    if found:
        run.kit.record(Prompted(kind="check", text="\n\n".join(map(suspect_words, found)) + more))


def _accepts(answer: str) -> bool:
    return answer.casefold().rstrip(".!") in (ACCEPT.casefold(), "accept", "1", "yes", "y")


def _question(found: list[CheckFinished]) -> str:
    parts: list[str] = []
    for check in found:
        names = "".join(f"\n- {name}" for name in check.missing[:_NAMED])
        left = check.missing_count - _NAMED
        more = f"\n- and {left} more" if left > 0 else ""
        parts.append(f"Suspect check `{check.command}`: {check.suspect}.{names}{more}")
    return "\n\n".join([*parts, "Accept the result as done, or let the model continue?"])
