"""Check whether the predicates of a run hold for a tree of files."""

from __future__ import annotations

from ...loops import LoopState
from ...loops.state import met
from ...step import RunContext, verify
from ..passes.pass_words import red


async def look_at_predicates(ctx: RunContext) -> str | None:
    """Describe what holds; None: not enough holds, or there are no predicates. Raises PersonInterrupted."""
    if not ctx.files.is_verified_at(ctx.facts.world) or ctx.facts.world is None:
        await verify(ctx, ctx.events.bound(None, None), claim=True, baseline=True)
    return met(LoopState(ctx.facts))


async def why_red(ctx: RunContext) -> str | None:
    """Return which predicate does not hold; None: all hold, or there are none. Raises PersonInterrupted."""
    if not ctx.facts.spec.predicates.exist or await look_at_predicates(ctx) is not None:
        return None
    return red(ctx.facts)
