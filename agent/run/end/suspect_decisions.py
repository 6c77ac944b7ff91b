"""Ask the person about a suspect check: accept the result, or let the model continue (docs/requirements.md 2.3.6)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ...protocol import CheckAccepted, CheckFinished, ItemQueued, Prompted, QuestionAnswered, QuestionAsked, Waiting
from ...state.facts.verdicts import SUSPECT_QUESTION
from ...state.search.suspects import work_of
from ...step.checks.feedback import suspect_feedback
from ..live.live_run import LiveRun, check_predicates
from .suspect import suspect_digest, suspects_of

ACCEPT = "Accept the result"
CONTINUE = "Continue"
_NAMED = 6


class PersonsAnswer(NamedTuple):
    """What a person said about a suspect result."""

    is_accepted: bool
    said: str
    """A sentence of their own. Empty means that they chose to let the model continue."""


async def ask_about_suspects(run: LiveRun) -> bool:
    """Ask the person about suspect results, and act on the answer. Returns False if nobody was there to answer."""
    facts = run.facts
    found = suspects_of(facts)
    if not found:
        return False
    seq = facts.finder.suspects.seq if facts.finder is not None else facts.verdicts.checked_seq
    answer = await accepted_by_person(run, f"{SUSPECT_QUESTION}{seq}", _question(found))
    if answer is None:
        return False
    if answer.is_accepted:
        _accept(run, found)
    elif run.requests.stop is None:
        send_suspects(run, f"\n\nThe person answered: {answer.said}" if answer.said else "")
    return True


async def accepted_by_person(run: LiveRun, name: str, question: str) -> PersonsAnswer | None:
    """Ask whether the result is accepted. Returns None if there was nobody to answer. `name`: id of the question."""
    ctx, facts = run.ctx, run.facts
    if not ctx.journal.views.is_attended():
        return None
    if name not in facts.requests.questions:  # otherwise an earlier runner asked it
        ctx.events.record(QuestionAsked(question_id=name, question=question, options=[ACCEPT, CONTINUE]))
    ctx.events.record(Waiting(why="question"))
    await run.waits.until(
        lambda: name not in facts.requests.questions or bool(facts.queue) or not ctx.journal.views.is_attended()
    )
    if name in facts.requests.questions:
        has_request = bool(facts.queue) or run.requests.stop is not None or run.requests.wants_control
        ctx.events.record(QuestionAnswered(question_id=name, text=CONTINUE if has_request else "", by="program"))
        if not has_request:
            return None
    answer = facts.requests.answers[name].strip()
    return PersonsAnswer(_accepts(answer), "" if answer == CONTINUE else answer)


async def accept_result(run: LiveRun, digest: str) -> None:
    """Accept the suspect result with that digest, if the checks still give it.

    The files may have changed since the user saw the result, so the checks run again. A different result is not
    accepted, so it leads to a new hand-off. In a migration, the check of an item runs when the item is worked again.
    """
    if run.finder is None:
        await check_predicates(run)
    if suspect_digest(run.facts) == digest:
        _accept(run, suspects_of(run.facts))


def _accept(run: LiveRun, found: Sequence[CheckFinished]) -> None:
    if run.finder is not None:
        _queue_items(run, is_accepted=True)
        return
    for check in found:
        run.ctx.events.record(CheckAccepted(command=check.command))


def _queue_items(run: LiveRun, *, is_accepted: bool, said: str = "") -> None:
    """Queue the waiting items of a migration with the user's decision."""
    ctx, finder = run.ctx, run.facts.finder
    assert run.finder is not None and finder is not None  # only a migration has such items
    frontier = run.finder.frontier
    with ctx.events.together():
        for key, one in list(finder.suspects.waiting.items()):
            row = frontier.find(key)
            if row is None:
                continue
            if is_accepted:
                ctx.events.record(CheckAccepted(command=one.check.command), work=work_of(key))
            frontier.requeue(key, "person", attempts=0)
            was = row.state.value
            ctx.events.record(
                ItemQueued(
                    key=key, kind=row.kind, value=row.value, source="person", reason="person", was=was, said=said
                )
            )


def send_suspects(run: LiveRun, more: str = "") -> None:
    """Send the missing tests to the model. In a migration, queue the items again instead. `more`: text to append."""
    found = suspects_of(run.facts)
    if run.finder is not None:
        _queue_items(run, is_accepted=False, said=more.strip())
    elif found:
        run.ctx.events.record(Prompted(kind="check", text="\n\n".join(map(suspect_feedback, found)) + more))


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
