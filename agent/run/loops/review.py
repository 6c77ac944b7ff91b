"""The review loop: a search of the diff, a repair of each finding that counts, a search, until one leaves nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ...protocol import Again, ChildFinished, Decision, Finish, Reason, Work, child_name
from ...protocol.text.counts import plural
from .shared.child_end import end_of_child
from .shared.pass_decisions import budget_end

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...protocol import Target
    from ...state.common.child_facts import Child, Children
    from .shared.loop_state import LoopState


def decide(state: LoopState) -> Decision:
    """Continue an open child run, or start the next repair or search; end when a search left nothing to repair."""
    children = state.facts.common.children
    if state.busy:
        return Again([])
    if end := end_of_child(state):
        return end
    if children.open is not None:
        found = children.open
        return Again([Work(work=child_name(found.number), kind="child", about=found.about)])
    now = rounds_of(children)
    if end := _cut_search(now):
        return end
    if not now.pending and not now.is_search_due:
        return _end(now)
    if end := budget_end(state):
        return Finish(reason=Reason.BUDGET, detail=f"{end.detail}; {_left(now)}", limit=end.limit)
    about = now.pending[0].key if now.pending else ""
    return Again([Work(work=child_name(len(children.by_number) + 1), kind="child", about=about)])


class Rounds(NamedTuple):
    """How far a review is."""

    search: Child | None
    """The search that began last."""
    searches: int
    pending: Sequence[Target]
    """Findings of that search that had no repair yet."""
    repaired: int
    """Number of repairs whose changes are in the workspace."""
    is_search_due: bool
    """There was none yet, or a repair changed something since the newest one."""

    @property
    def targets(self) -> Sequence[Target]:
        """What the newest search found."""
        ended = None if self.search is None else self.search.finished
        return (ended.targets if ended is not None else None) or []


def rounds_of(children: Children) -> Rounds:
    """Return how far a review is. A finding that had a repair and is found again is not repaired a second time."""
    every = list(children.by_number.values())
    searches = [child for child in every if not child.about]
    newest = searches[-1] if searches else None
    tried = {child.about for child in every if child.about}
    ended = None if newest is None else newest.finished
    found = (ended.targets if ended is not None else None) or []
    applied = [child for child in every if child.finished is not None and child.finished.repair == "applied"]
    return Rounds(
        search=newest,
        searches=len(searches),
        pending=[target for target in found if target.key not in tried],
        repaired=len(applied),
        is_search_due=newest is None or any(child.number > newest.number for child in applied),
    )


def _cut_search(now: Rounds) -> Finish | None:
    """Return the end of a review whose newest search did not end as dry, or None."""
    ended: ChildFinished | None = None if now.search is None else now.search.finished
    if ended is None or ended.reason is Reason.DRY:
        return None
    return Finish(reason=ended.reason, detail=f"search {now.searches}: {ended.detail}", limit=ended.limit)


def _end(now: Rounds) -> Finish:
    """Return the end after a search that left nothing to repair, or whose findings could not be repaired."""
    ended = None if now.search is None else now.search.finished
    is_complete = ended is not None and ended.complete
    done = f"{plural(now.repaired, 'finding')} repaired"
    if now.targets:
        return Finish(reason=Reason.PARTIAL, detail=f"{done}, {len(now.targets)} not: {_titles(now.targets)}")
    after = f"search {now.searches}, after the last repair, confirmed nothing" if now.repaired else "nothing confirmed"
    why = "" if is_complete or ended is None else f"; not complete: {ended.detail}"
    return Finish(reason=Reason.DRY, detail=f"{after}; {done}{why}", complete=is_complete)


def _left(now: Rounds) -> str:
    return f"{plural(len(now.pending), 'finding')} left" if now.pending else "no search after the last repair"


def _titles(targets: Sequence[Target]) -> str:
    more = f" and {len(targets) - 3} more" if len(targets) > 3 else ""
    return "; ".join(target.title for target in targets[:3]) + more
