"""Check whether the run's limits leave room for work that needs no model."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from ..budget.admission import admit
from ..budget.count_margin import Margin
from ..budget.reserve import reserve_for
from ..protocol import Exhausted, Spent

if TYPE_CHECKING:
    from ..step.resources.run_context import RunContext

OUT_OF_TIME = Exhausted(resource="seconds", detail="time budget: it ran out while items were worked")


def no_room(ctx: RunContext, more: int = 0) -> Exhausted | None:
    """Return the limit that no further work fits, or None if it fits. Only steps and time count: nothing is billed.

    `more`: steps that begin now and are not recorded yet.
    """
    budget = msgspec.structs.replace(ctx.facts.budget, tokens=None, usd=None)
    end = admit(
        budget,
        ctx.usage.spent() + Spent(steps=more),
        0,
        price=ctx.models.current.price,
        margin=Margin([]),
        reserve=reserve_for(budget, ctx.models.current.price, ctx.models.current.window),
        window=ctx.models.current.window,
        max_output=None,
        now=ctx.clock.now(),
    )
    return end if isinstance(end, Exhausted) else None
