"""Build the outcome of a run from its facts."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import msgspec

from ...protocol import (
    ALWAYS_COMPLETE,
    Evidence,
    FindingCounts,
    Finish,
    Outcome,
    Reason,
    RunEnded,
    exit_code,
)
from ...state.facts.tool_actions import arguments_of
from .evidence_of_run import evidence_of

if TYPE_CHECKING:
    from ...state.facts.run_facts import RunFacts
    from ...state.search.finder_facts import FinderFacts


def outcome_of(
    facts: RunFacts,
    end: Finish,
    *,
    answer: str | None,
    seconds: float,
    journal: Path,
    failed_items: Sequence[str] = (),
    evidence: Evidence | None = None,
    staged: Sequence[str] | None = None,
) -> Outcome:
    """Return the outcome of a run.

    `answer`: the text of a wrap-up. None means that of the accepted `finish`, or the newest text. `seconds`: busy
    seconds that no event has recorded yet. `evidence`: None means that it is collected from the facts. `staged`:
    files that are staged. None means those that the facts know.
    """
    complete = end.reason in ALWAYS_COMPLETE if end.complete is None else end.complete
    finish = arguments_of(facts.finish) if facts.finish is not None else {}
    spent = facts.spent
    found = evidence or evidence_of(facts)
    if found is not None and end.reason is Reason.ANSWERED:  # of a plan whose check passed before the first step
        found = msgspec.structs.replace(found, grade="none")
    if found is not None and (end.help or end.look_first):
        found = msgspec.structs.replace(found, help=end.help, look_first=end.look_first)
    outcome = Outcome(
        reason=end.reason,
        detail=end.detail,
        complete=complete,
        exit_code=exit_code(end.reason, complete=complete, retryable=end.retryable, has_found=has_found(facts)),
        retryable=end.retryable,
        limit=end.limit,
        answer=answer or facts.answer,
        citations=cast("list[Any]", finish.get("citations", [])) if facts.finish is not None else [],
        steps=spent.steps,
        passes=facts.passes,
        restarts=facts.answers.restarts,
        tokens=spent.tokens,
        usd=None if spent.unpriced else spent.usd,
        held=spent.held,
        seconds=spent.seconds + seconds,
        check_seconds=facts.common.ledger.check_seconds,
        files_changed=facts.files_changed,
        staged=facts.staged if staged is None else list(staged),
        failed_items=list(failed_items),
        evidence=found,
        ended_jobs=list(facts.manual.ended_with_run),
        approved_by=list(facts.requests.clients),
        journal=str(journal),
        children=[child.outcome for child in facts.common.children.by_number.values()],
    )
    return outcome if facts.finder is None else _of_search(outcome, facts.finder)


def has_found(facts: RunFacts) -> bool:
    """Return whether the run is a review whose confirmed findings decide about its exit code."""
    search = facts.spec.finder
    if facts.finder is None or search is None or search.review is None or search.review.fail_on == "none":
        return False
    return facts.finder.confirmed_of_review > 0


def _of_search(outcome: Outcome, found: FinderFacts) -> Outcome:
    """Add to the outcome what the search found and what its lenses covered."""
    return msgspec.structs.replace(
        outcome,
        seen=found.seen,
        findings=FindingCounts(found.confirmed, found.refuted),
        coverage=found.coverage() if found.lenses else None,
        estimate=found.estimate() if found.lenses else None,
    )


def ended_event(outcome: Outcome) -> RunEnded:
    """Return the last event of a run, with the fields of its outcome."""
    return RunEnded(**{name: getattr(outcome, name) for name in outcome.__struct_fields__})


def outcome_of_parked(facts: RunFacts, journal: Path) -> Outcome:
    """Return the outcome for a runner that exits while the run waits for a person.

    It is not recorded, because the run has not ended.
    """
    end = Finish(reason=Reason.HANDOFF, detail="parked: the run waits for a person")
    return outcome_of(facts, end, answer=None, seconds=0.0, journal=journal)
