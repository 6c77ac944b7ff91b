"""Which runs are judged before they end as `done`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..protocol import LoopKind

if TYPE_CHECKING:
    from ..layers.run_layers import RunLayers
    from ..protocol import RunSpec


def decides(spec: RunSpec) -> bool:
    """Return whether a check decides when the run is done, or whether a pass of a chat is."""
    return spec.loop in (LoopKind.GOAL, LoopKind.CHAT) and spec.predicates.exist


def judges(spec: RunSpec, layers: RunLayers | None) -> bool:
    """Return whether the result of a run is judged: a goal run or a chat with a check, whose commands run in layers.

    `layers`: where commands of the run write; None: in the workspace, in a copy, or in a unit of work.
    """
    return decides(spec) and spec.tries is None and layers is not None and layers.namespaces is not None
