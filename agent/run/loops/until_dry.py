"""The until-dry loop: continues while it finds new keys, whatever the model claims (docs/requirements.md 2.4)."""

from __future__ import annotations

from collections.abc import Sequence

from ...protocol import Again, Decision, Finish, Reason, Wait, WorkResult
from ...protocol.text.counts import plural
from ...search.search_state import FinderState, works
from .shared.judged_end import judge_first, judged_end, red_handoff
from .shared.loop_state import LoopState, handoff_with_suspects

RECHECK_SECONDS = 5.0
"""Maximum seconds between two decisions while all workers are busy."""


def decide(state: LoopState) -> Decision:
    """Return the next work orders, a wait, or the end of the run."""
    finder = state.finder
    assert finder is not None  # the runner creates it for this loop
    if end := _ends(finder, state.results):
        return end if not finder.in_flight else Again([])
    wanted = works(finder)
    free = max(0, finder.spec.concurrency - finder.in_flight)
    if wanted and free:
        return Again(wanted[:free], within=_within(finder))
    if wanted or finder.in_flight:
        return Again([], within=_within(finder))
    if finder.due_in is not None:
        deadline = state.facts.budget.deadline
        if deadline is not None and finder.now + finder.due_in >= deadline:
            detail = f"time budget: the next attempt is due in {finder.due_in:,.0f} s, after the deadline"
            return Finish(reason=Reason.BUDGET, detail=detail + _left(finder), limit="deadline")
        return Wait(max(0.01, finder.due_in), "retry")
    if found := finder.facts.suspects.checks:
        return handoff_with_suspects(found)
    verdicts = state.facts.verdicts
    if verdicts.is_judged_red and verdicts.judgement is not None:
        return judged_end(state) or red_handoff(verdicts.judgement)
    return (judge_first(state) if finder.facts.done else None) or _dry(finder)


def _within(finder: FinderState) -> float | None:
    return None if finder.due_in is None else max(0.01, min(finder.due_in, RECHECK_SECONDS))


def _ends(finder: FinderState, results: Sequence[WorkResult]) -> Finish | None:
    """Return the end of a search that ends before it is dry, or None."""
    if finder.exhausted is not None:
        end = finder.exhausted
        return Finish(reason=Reason.BUDGET, detail=end.detail + _left(finder), limit=end.resource)
    for result in results:
        if result.fault is not None:
            reason = Reason.ERROR if finder.facts.seen else Reason.REFUSED
            return Finish(reason=reason, detail=result.fault, retryable=result.retryable)
        if result.handoff is not None:
            return Finish(reason=Reason.HANDOFF, detail=result.handoff)
    if finder.broken is not None:
        return Finish(reason=Reason.ERROR, detail=finder.broken, retryable=finder.retryable)
    return None


def _left(finder: FinderState) -> str:
    """Return how many items are left unworked, as a suffix; empty for a search without items."""
    left = 0 if finder.by_lenses and not finder.works_leads else finder.facts.queued + finder.facts.working
    return f"; {plural(left, 'item')} left" if left else ""


def _keys_seen(count: int) -> str:
    return f"{plural(count, 'key')} seen"


def _dry(finder: FinderState) -> Finish:
    facts, gaps = finder.facts, finder.gaps()
    found = f"{facts.confirmed} confirmed, {facts.refuted} refuted" if facts.findings else _keys_seen(facts.seen)
    if facts.unverified:
        judged = f"; {facts.confirmed - facts.unverified} confirmed, {facts.refuted} refuted"
        found = f"{facts.unverified} found and not judged{judged if len(facts.findings) > facts.unverified else ''}"
    if outside := sum(one.relation == "outside" and one.verdict == "confirmed" for one in facts.findings.values()):
        found += f", {outside} of them outside of the diff"
    if finder.spec.traits.fetches_pages and facts.findings:
        found = f"{_keys_seen(facts.seen)}, {plural(facts.confirmed, 'dead link')}"
    if finder.spec.check is not None:
        left = "nothing else that can be fixed" if facts.set_aside else "nothing left to do"
        how, found = f"a full scan found {left}: {facts.scanned}", f"{facts.done:,} done"
    elif facts.lenses:
        who = "every lens that works" if any(lens.failed for lens in facts.lenses.values()) else "every lens"
        how = f"{plural(facts.streak, 'pass')} in a row in which {who} ran found nothing new"
    else:
        how = "the frontier is drained"
        if forbidden := facts.unread.get("robots"):
            how += f", except for {plural(forbidden, 'page')} that robots.txt forbids"
        if others := facts.unread.get("no_page"):
            found += f", {others:,} of them not {'a page' if others == 1 else 'pages'}"
        if elsewhere := facts.unread.get("elsewhere"):
            found += f", {elsewhere:,} redirected to another host"
    detail = f"{how}; {found}"
    is_complete = not gaps and not facts.unread.get("robots")
    return Finish(reason=Reason.DRY, detail="; ".join([detail, *gaps]), complete=is_complete)
