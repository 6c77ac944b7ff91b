"""Check whether the predicates of a run hold in a tree of files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...step.checks.verify import verify
from ..loops.shared.loop_state import LoopState, met
from .pass_texts import describe_failure

if TYPE_CHECKING:
    from ...step.resources.run_context import RunContext


async def predicates_met(ctx: RunContext) -> str | None:
    """Return which predicates hold, in words.

    Returns None if not enough hold, or there are none. Raises PersonInterrupted.
    """
    if not ctx.files.is_verified_at(ctx.facts.world) or ctx.facts.world is None:
        await verify(ctx, ctx.events.bound(None, None), claim=True, baseline=True)
    return met(LoopState(ctx.facts))


async def why_failing(ctx: RunContext) -> str | None:
    """Return which predicate does not hold, or None if all hold, or there are none. Raises PersonInterrupted."""
    if not ctx.facts.spec.predicates.exist or await predicates_met(ctx) is not None:
        return None
    return describe_failure(ctx.facts)
