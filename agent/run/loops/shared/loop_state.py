"""The input of a loop's decision: the facts of the run and the results of the last works."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ....protocol import CheckFinished, Confirmed, Finish, Price, Reason, StallKind, Wait, WorkResult
from ....state.facts.verdicts import cannot_start, passed_words, result_of
from ....state.view.show.titles import stall_name

if TYPE_CHECKING:
    from ....search.search_state import FinderState
    from ....state.facts.run_facts import RunFacts

_NAMED = 3
"""Number of missing tests named in a reason."""
_EMPTY_REPLIES = 2
"""Number of empty answers in a row after which a question is not asked again."""
_SAID = 300
"""Number of characters of a check's last output quoted in a reason."""


@dataclass(frozen=True, slots=True)
class LoopState:
    """The only input of `decide`."""

    facts: RunFacts
    results: Sequence[WorkResult] = ()
    """Results of the work that ended since the last decision; empty at the start and after a wait."""
    watched: bool = False
    """Whether a view is attached, so that a person can be asked."""
    finder: FinderState | None = None
    """The state of the search; only in an until-dry loop."""
    busy: frozenset[str] = frozenset()
    """Names of the running works."""
    now: float = 0.0
    """Current time in Unix seconds."""
    price: Price | None = None
    """Price of the current model."""
    judges: bool = False
    """Whether a result is judged before the run ends as `done`."""


def common_end(state: LoopState) -> Finish | Wait | None:
    """Return the end of the run for a reason that all loops share (a permanent fault, a budget, a stall), or None."""
    if end := ended_work(state):
        return end
    stall = state.facts.stall
    if stall is None or stall.response == "hint":
        return None
    detail = f"{stall_name(stall.kind)}: {stall.signature}"
    if stall.response == "handoff":
        return Finish(reason=Reason.HANDOFF, detail=detail)
    return Finish(reason=stall_reason(stall.kind), detail=detail)


def ended_work(state: LoopState) -> Finish | None:
    """Return the end of the run because its last works ended in a budget, a hand-off or a fault, or None."""
    for result in state.results:
        if result.exhausted is not None:
            end = result.exhausted
            return Finish(reason=Reason.BUDGET, detail=end.detail, limit=end.resource, wrap_up=True)
        if result.handoff is not None:
            return Finish(reason=Reason.HANDOFF, detail=result.handoff)
        if result.fault is not None:
            return Finish(reason=Reason.ERROR, detail=result.fault, retryable=result.retryable)
    return None


def stall_reason(kind: StallKind) -> Reason:
    """Return the outcome's reason for a kind of stall (docs/requirements.md 4.3, 4.4)."""
    match kind:
        case "cycle" | "oscillation":
            return Reason.OSCILLATION
        case "tool-errors":
            return Reason.TOOL_ERRORS
        case "repeat" | "error" | "same-error" | "refused" | "monologue" | "empty" | "stagnation" | "poll" | "chant":
            return Reason.STAGNATION


def met(state: LoopState) -> str | None:
    """Describe which success predicates hold, if enough of them do, or None if not yet.

    A predicate that failed in a clean checkout does not hold.
    """
    if state.facts.verdicts.is_unconfirmed:
        return None
    verdicts = _verdicts(state.facts)
    passed = [name for name, ok in verdicts.items() if ok]
    return ", ".join(passed) if _are_enough(state.facts, passed, verdicts) else None


def held_before(facts: RunFacts) -> bool:
    """Return whether the predicates hold before the first step of a run that carries out an accepted plan.

    Then they never decide whether it is carried out (docs/decisions/0043).
    """
    if facts.spec.plan_of is None:
        return False
    verdicts, first = _verdicts(facts), facts.verdicts.passed_first
    passed = [name for name, ok in verdicts.items() if (ok if first is None else name in first)]
    return _are_enough(facts, passed, verdicts)


def _are_enough(facts: RunFacts, passed: Collection[str], wanted: Collection[str]) -> bool:
    return bool(passed) and (facts.spec.predicates.any or len(passed) == len(wanted))


def suspect_handoff(state: LoopState) -> Finish | None:
    """Return the hand-off if only suspect checks are left, and the model has not received their results."""
    verdicts, found = state.facts.verdicts, suspects_left(state.facts)
    return handoff_with_suspects(found) if found and verdicts.checked_seq > verdicts.prompted_seq else None


def undecided_handoff(state: LoopState) -> Finish | None:
    """Return that hand-off at the end of a pass, also if no person has been asked about this result yet."""
    found = suspects_left(state.facts)
    is_new = any(result_of(check) not in state.facts.verdicts.asked for check in found)
    return handoff_with_suspects(found) if is_new else suspect_handoff(state)


def not_confirmed(facts: RunFacts) -> Finish | None:
    """Return the hand-off of a result for which no clean checkout could be made, although the user asked for one.

    Otherwise a model could avoid the confirmation by a change of a dependency folder.
    """
    found = facts.verdicts.confirmation
    if not facts.spec.predicates.confirming or found is None or found.result is not Confirmed.NOT_CONFIRMED:
        return None
    step = "resume the run once that is fixed, or start it without --confirm"
    return Finish(reason=Reason.HANDOFF, detail=f"the check passes, but is not confirmed: {found.detail}; {step}")


def suspects_left(facts: RunFacts) -> list[CheckFinished]:
    """Return the suspect checks if all other predicates hold, else an empty list."""
    found = [check for check in failing_checks(facts) if check.suspect is not None]
    rest = [name for name, ok in _verdicts(facts).items() if not ok]
    return found if len(rest) <= len(found) or facts.spec.predicates.any else []


def handoff_with_suspects(found: Sequence[CheckFinished]) -> Finish:
    """Return the hand-off that asks for a decision about these suspect checks."""
    more = f"; and {len(found) - 1} more" if len(found) > 1 else ""
    return Finish(reason=Reason.HANDOFF, detail=f"suspect check: {_what_is_missing(found[0])}{more}", suspect=True)


def _what_is_missing(check: CheckFinished) -> str:
    names = ", ".join(check.missing[:_NAMED])
    more = f" and {check.missing_count - _NAMED} more" if check.missing_count > _NAMED else ""
    return f"`{check.command}`: {check.suspect}{f' ({names}{more})' if names else ''}"


def failing_checks(facts: RunFacts) -> list[CheckFinished]:
    """Return the checks whose newest verdict is not a pass, in the order of the command line."""
    checks = facts.verdicts.checks
    return [c for c in map(checks.get, facts.spec.predicates.until) if c and not c.passed]


def not_prepared(facts: RunFacts) -> Finish | None:
    """Return the refusal of a run whose setup failed, or whose second check cannot be started.

    Returns None if neither did.
    """
    if facts.step or facts.spent.steps:
        return None
    setup = facts.verdicts.setup
    if setup is not None and setup.problem:
        return Finish(reason=Reason.REFUSED, detail=f"the setup `{setup.command}` failed: {setup.problem}")
    second = facts.verdicts.holdout
    if second is not None and second.problem:
        return Finish(reason=Reason.REFUSED, detail=f"the second check cannot be started: {second.problem}")
    return None


def never_started(facts: RunFacts) -> Finish | None:
    """Return the refusal of a run whose check cannot be started before the first step.

    Returns None if every check ran.
    """
    if facts.step or facts.spent.steps:
        return None
    for check in failing_checks(facts):
        if cannot_start(check):
            lines = [line.strip() for line in check.output.splitlines() if line.strip()]
            said = check.error or (lines[-1][:_SAID] if lines else "it printed nothing")
            detail = f"the check `{check.command}` cannot be started (exit code {check.exit_code}): {said}"
            return Finish(reason=Reason.REFUSED, detail=detail)
    return None


def is_silent(facts: RunFacts) -> bool:
    """Return whether the newest answer called no tool."""
    return facts.reply is not None and facts.reply.calls == 0


def is_answered(facts: RunFacts) -> bool:
    """Return whether the newest answer is a complete text without a tool call."""
    return is_silent(facts) and facts.reply is not None and facts.reply.finish == "stop"


def no_answer(facts: RunFacts) -> str:
    """Return why a question gets no answer, however often it is asked, or empty if it may get one.

    A refusal is final. An empty answer is asked for once more.
    """
    if is_silent(facts) and facts.reply is not None and facts.reply.finish == "refusal":
        return "the model refused to answer, or the filter of its provider withheld the answer"
    if facts.empty_replies >= _EMPTY_REPLIES:
        return f"the model answered nothing, {facts.empty_replies} times in a row"
    return ""


def _verdicts(facts: RunFacts) -> dict[str, bool]:
    """Map each required predicate to whether it holds, according to its newest verdict."""
    wanted = facts.spec.predicates
    verdicts = {passed_words(c): bool((r := facts.verdicts.checks.get(c)) and r.passed) for c in wanted.until}
    of_answer = [*(f"until-py {p}" for p in wanted.until_py), *([f"schema {wanted.schema}"] if wanted.schema else [])]
    others = [
        *(f"until-file {p}" for p in wanted.until_file),
        *of_answer,
        *(f"require {a}" for a in wanted.require),
    ]
    passed = {name for name, judged in facts.verdicts.predicates.items() if judged.passed}
    stale = {name for name in of_answer if not facts.verdicts.is_about(name, facts.answer)}
    return verdicts | {name: name in passed - stale for name in others}
