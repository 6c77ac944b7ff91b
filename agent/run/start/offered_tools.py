"""Choose the tools that a run offers to its model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...protocol import LoopKind
from ...protocol.tools.traits import reading_tools, tools_with

if TYPE_CHECKING:
    from ...protocol import RunSpec

_OFFERED = tools_with("change", "command", "stop", "wait", "plan", "ask")
_CHILDREN = tools_with("child")


def tools_of_run(spec: RunSpec) -> list[str]:
    """Return the tool names, in the order in which the model sees them."""
    if spec.finder is not None:
        reading = reading_tools(spec.finder.hosts)
    else:
        reading = [*reading_tools(()), *(name for name in tools_with("web") if _offers_web(name, spec))]
    usual = [*reading, *(_OFFERED if spec.loop.traits.changes else ())]
    if spec.loop is LoopKind.CHAT and spec.starts_children:
        usual += _CHILDREN
    chosen = [name for name in usual if name in spec.tools] if spec.tools else usual
    return [*chosen, *spec.loop.traits.tools]


def _offers_web(tool: str, spec: RunSpec) -> bool:
    """Return whether a run offers this tool: a person talks with the model, or a rule allows requests without one."""
    if tool == "web_search" and spec.web_search is None:
        return False
    rules = [rule for rule in spec.gate.rules if rule.tool == tool or (rule.tool is None and rule.host is not None)]
    if any(rule.verdict == "deny" and rule.host is None for rule in rules):
        return False
    is_given = spec.parent is not None and tool in spec.tools  # to a child run, whose gate asks in its chat
    return is_given or spec.loop in (LoopKind.CHAT, LoopKind.PLAN) or any(rule.verdict == "allow" for rule in rules)
