"""What the judge needs of a live run, and what is prepared for it before the first call."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from ..step.checks.verify import state_of_run
from ..verdict.case import Case
from ..verdict.planting import prepare_plants

if TYPE_CHECKING:
    from ..step.resources.context import RunContext


def case_of(ctx: RunContext) -> Case:
    """Return what the judge needs of a run that is judged."""
    layers, scope = ctx.layers, ctx.scope
    assert layers is not None and scope is not None  # the loop asks for a judge only then
    left = ctx.usage.seconds_for_work()
    return Case(
        facts=ctx.facts,
        journal=ctx.journal,
        layers=layers,
        workspace=ctx.workspace,
        sandbox=ctx.sandbox,
        env=ctx.env,
        scope=scope,
        state=state_of_run(ctx.facts, ctx.usage),
        background=ctx.background.names(),
        until=None if left is None else time.monotonic() + left,
        record=ctx.events.bound(None, None),
    )


async def prepare_judge(ctx: RunContext) -> None:
    """Find out, before the first call, which tests can be planted. A run whose goal is met needs none.

    Raises PersonInterrupted.
    """
    if not ctx.judges or ctx.facts.step:
        return
    is_green = all(check.passed for check in ctx.facts.verdicts.checks.values())
    if not is_green and ctx.facts.verdicts.checks:
        with ctx.usage.running():
            await ctx.activity.interruptible(prepare_plants(case_of(ctx)))
