"""Check whether the predicates of a run hold for a tree of files."""

from __future__ import annotations

from ...loops import LoopState
from ...loops.state import met
from ...step import Kit, verify
from ..passes.pass_words import red


async def look_at_predicates(kit: Kit) -> str | None:
    """Describe what holds; None: not enough holds, or there are no predicates. Raises PersonInterrupted."""
    if not kit.files.is_verified_at(kit.facts.world) or kit.facts.world is None:
        await verify(kit, kit.events.bound(None, None), claim=True, baseline=True)
    return met(LoopState(kit.facts))


async def why_red(kit: Kit) -> str | None:
    """Return which predicate does not hold; None: all hold, or there are none. Raises PersonInterrupted."""
    if not kit.facts.spec.predicates.exist or await look_at_predicates(kit) is not None:
        return None
    return red(kit.facts)
