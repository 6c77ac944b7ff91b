"""Choose the tools that a run offers to its model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...protocol.tools.traits import reading_tools, tools_with

if TYPE_CHECKING:
    from ...protocol import RunSpec

_OFFERED = tools_with("change", "command", "stop", "wait", "plan", "ask")


def tools_of_run(spec: RunSpec) -> list[str]:
    """Return the tool names, in the order in which the model sees them."""
    reading = reading_tools(spec.finder.hosts if spec.finder is not None else ())
    usual = [*reading, *(_OFFERED if spec.loop.traits.changes else ())]
    chosen = [name for name in usual if name in spec.tools] if spec.tools else usual
    return [*chosen, *spec.loop.traits.tools]
