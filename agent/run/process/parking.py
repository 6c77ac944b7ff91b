"""Watch a run that waits for a person: end the wait at the deadline, or park the run if no view is attached."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..live.live_run import LiveRun

LOOK_SECONDS = 2.0


async def watch_for_parking(run: LiveRun) -> None:
    """Return once no view was attached for `spec.park` seconds. The caller then exits, and the run can be resumed.

    Meanwhile, wake waiting tasks when the deadline has passed. In a headless run, let the policy decide open proposals
    once no view is attached.
    """
    ctx = run.ctx
    unwatched_since: float | None = None
    while True:
        deadline = ctx.facts.budget.deadline
        left = LOOK_SECONDS if deadline is None else max(0.1, deadline - ctx.clock.now())
        await ctx.clock.sleep(min(LOOK_SECONDS, left))
        ctx.activity.wake()
        if ctx.headless and not ctx.journal.views.is_attended():
            run.gate.decide_all_by_policy()
        at_gate = bool(run.gate.open or ctx.facts.requests.questions or ctx.activity.awaits_person)
        at_gate = at_gate or (run.children is not None and run.children.waits_for_person)
        if not (run.waits.is_for_person or ctx.activity.is_resting or at_gate) or ctx.journal.views.is_attended():
            unwatched_since = None
        elif unwatched_since is None:
            unwatched_since = ctx.clock.monotonic()
        elif (park := ctx.facts.spec.park) is not None and ctx.clock.monotonic() - unwatched_since >= park:
            return
        deadline = ctx.facts.budget.deadline
        if at_gate and deadline is not None and ctx.clock.now() >= deadline:
            run.gate.cancel_all("the deadline passed")
            ctx.activity.interrupt("deadline")
