"""Check whether the run's limits leave room for work that needs no model."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from ..budget.admission import CallRequest, admit
from ..budget.count_margin import Margin
from ..budget.ledger import Left
from ..budget.reserve import reserve_for
from ..protocol import Exhausted, Spent

if TYPE_CHECKING:
    from ..step.resources.run_context import RunContext

OUT_OF_TIME = Exhausted(resource="seconds", detail="time budget: it ran out while items were worked")


def no_room(ctx: RunContext, more: int = 0) -> Exhausted | None:
    """Return the limit that no further work fits, or None if it fits. Only steps and time count: nothing is billed.

    `more`: steps that begin now and are not recorded yet.
    """
    budget, model = msgspec.structs.replace(ctx.facts.budget, tokens=None, usd=None), ctx.models.current
    reserve = reserve_for(budget, model.price, model.window)
    left = Left(budget=budget, spent=ctx.limits.spent() + Spent(steps=more), reserve=reserve)
    request = CallRequest(prompt_tokens=0, margin=Margin([]), window=model.window, max_output=None, now=ctx.clock.now())
    end = admit([left], model.price, request)
    return end if isinstance(end, Exhausted) else None
