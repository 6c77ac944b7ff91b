"""Choose the tools that a loop offers to the model."""

from __future__ import annotations

from ...facts.passes import WAKE
from ...protocol import LoopKind, RunSpec

_READING = ["read_file", "list_files", "search"]
_CHANGING = ["edit_file", "write_file", "run_command", "start_command", "stop_command"]


def tools_of(spec: RunSpec) -> list[str]:
    """Return the tool names, in the order in which the model sees them."""
    web = ["fetch_url"] if spec.finder is not None and spec.finder.hosts else []
    tools = [*_READING, *web, *_CHANGING, "update_plan", "ask_person"]
    if spec.loop is LoopKind.CHAT:
        return tools
    return [*tools, *([WAKE] if spec.loop is LoopKind.PACED else []), "finish"]
