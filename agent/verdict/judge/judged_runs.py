"""Decide which runs are judged before they end as `done`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...protocol import LoopKind

if TYPE_CHECKING:
    from ...protocol import RunSpec


def is_judged(spec: RunSpec) -> bool:
    """Return whether a check or a score decides when the run is done, or what becomes of its passes or items."""
    if spec.loop in (LoopKind.GOAL, LoopKind.CHAT, LoopKind.INTERVAL, LoopKind.PACED):
        return spec.predicates.exist
    is_migration = spec.finder is not None and spec.finder.check is not None
    return spec.improve is not None or is_migration
