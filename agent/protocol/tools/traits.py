"""The model's tools: one row for each, from which the loops, the rules, the prompts and the views take what they need.

What a tool does, its arguments and its description are in `agent/tools/`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, get_args

import msgspec

from .mcp import server_of

ToolEffect = Literal[
    "read", "web", "change", "command", "mcp", "stop", "wait", "child", "ask", "plan", "agree", "finish", "end"
]
"""What a call does. `change`, `command` and `mcp` pass the gate: they write a file, run a command line, or call a tool
of an MCP server. `web` requests something of a host, and passes it too, except in a search that lists its hosts.
`agree` passes it as well: a person accepts a plan. `wait` waits without a model call, and `child` for a child run.
`finish` ends the task with an answer, and `end` ends a work that has its own tool for its result."""
EndingTool = Literal["finish", "wake_after", "report", "judge", "propose"]
"""The tools with the effect `finish` or `end`."""
LeftOut = Literal["first", "second", "third"]
"""The order in which tools are left out for a model with a small window. Tools to read, edit and write files stay."""


class ToolTraits(msgspec.Struct, frozen=True, kw_only=True):
    """The properties of one tool that other parts of the program use."""

    effect: ToolEffect
    verb: str = ""
    """The first word of its title in the transcript. Empty means that the title is the tool's name."""
    subject: str = ""
    """The argument that follows the verb in the title."""
    path: str | None = "path"
    """For a tool that reads or waits: the argument to compare with the path of a `deny` rule. None means that no
    argument is a path of the workspace."""
    left_out: LeftOut | None = None
    """When it is left out for a small window. None means never."""
    for_person: bool = False
    """Whether a person in control can use it."""


TOOL_TRAITS: dict[str, ToolTraits] = {
    "read_file": ToolTraits(effect="read", verb="read", subject="path", for_person=True),
    "list_files": ToolTraits(effect="read", verb="list", subject="path", left_out="second", for_person=True),
    "search": ToolTraits(effect="read", verb="search", subject="pattern", left_out="second", for_person=True),
    "fetch_url": ToolTraits(effect="web", verb="fetch", subject="url", path=None, left_out="second"),
    "web_search": ToolTraits(effect="web", verb="search the web for", subject="query", path=None, left_out="second"),
    "edit_file": ToolTraits(effect="change", verb="edit", subject="path", for_person=True),
    "write_file": ToolTraits(effect="change", verb="write", subject="path", for_person=True),
    "run_command": ToolTraits(effect="command", verb="run", subject="command", left_out="third", for_person=True),
    "start_command": ToolTraits(effect="command", verb="start", subject="command", left_out="first"),
    "stop_command": ToolTraits(effect="stop", verb="stop", subject="name", left_out="first"),
    "wait_for": ToolTraits(effect="wait", verb="wait for", path="file", left_out="first"),
    "start_child": ToolTraits(effect="child", verb="child run", subject="name", path=None, left_out="first"),
    "update_plan": ToolTraits(effect="plan", left_out="first"),
    "ask_person": ToolTraits(effect="ask", verb="ask", subject="question", left_out="first"),
    "propose_plan": ToolTraits(effect="agree", verb="propose a plan"),
    "finish": ToolTraits(effect="finish", for_person=True),
    "wake_after": ToolTraits(effect="end", verb="wake after", subject="seconds"),
    "report": ToolTraits(effect="end"),
    "judge": ToolTraits(effect="end", verb="judge", subject="verdict"),
    "propose": ToolTraits(effect="end"),
}
"""All tools, in the order in which the model sees them."""


_MCP = ToolTraits(effect="mcp", path=None)


def traits_of(name: str) -> ToolTraits:
    """Return the traits of a tool of this program or of an MCP server. Raises KeyError for another name."""
    traits = TOOL_TRAITS.get(name)
    if traits is None and server_of(name) is not None:
        return _MCP
    return TOOL_TRAITS[name] if traits is None else traits


def tools_with(*effects: ToolEffect) -> tuple[str, ...]:
    """Return the names of the tools with one of these effects."""
    return tuple(name for name, tool in TOOL_TRAITS.items() if tool.effect in effects)


def ending_tool(name: str) -> EndingTool:
    """Return the name as that of a tool that ends the task or the work. Raises ValueError for another one."""
    for tool in get_args(EndingTool):
        if tool == name:
            return tool
    raise ValueError(f"the tool {name} does not end a work order")


def reading_tools(hosts: Sequence[str]) -> list[str]:
    """Return the names of the tools that a search offers for reading. `hosts`: what it may contact."""
    return [*tools_with("read"), *(["fetch_url"] if hosts else [])]
