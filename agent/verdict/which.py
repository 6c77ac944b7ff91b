"""Which runs are judged before they end as `done`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..protocol import LoopKind

if TYPE_CHECKING:
    from ..layers.run_layers import RunLayers
    from ..protocol import RunSpec


def decides(spec: RunSpec) -> bool:
    """Return whether a check or a score decides when the run is done, or what becomes of its passes or items."""
    if spec.loop in (LoopKind.GOAL, LoopKind.CHAT, LoopKind.INTERVAL):
        return spec.predicates.exist
    is_migration = spec.finder is not None and spec.finder.check is not None
    return spec.improve is not None or is_migration


def judges(spec: RunSpec, views: RunLayers | None) -> bool:
    """Return whether the results of a run are judged: a check or a score decides on them, and views can be made.

    `views`: the layers over the workspace, or copies of it; None: there are none, or the run has units in copies.
    Passes with `--commit-hooks` are not: nothing records what a hook does after the commit of an earlier pass.
    """
    has_hooks = spec.commit_hooks and spec.loop not in (LoopKind.GOAL, LoopKind.CHAT)
    return decides(spec) and not has_hooks and views is not None
