"""The definition of a tool: its description for the model, its arguments, and the function that a call runs."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeVar

import msgspec

from ..gate.draft import Draft
from ..protocol import ToolSpec
from ..protocol.tools.traits import TOOL_TRAITS, ToolTraits
from .tool_context import ToolContext
from .tool_result import ToolResult

Arguments = TypeVar("Arguments", bound=msgspec.Struct)
Read = Callable[[Any, ToolContext], Awaitable[ToolResult]]
"""Carries out a call that changes nothing. The arguments are an instance of the tool's struct."""
Plan = Callable[[Any, ToolContext], Draft | ToolResult]
"""Returns the draft of a call for the gate, or the result if there is nothing to decide."""


class Tool(msgspec.Struct, frozen=True, kw_only=True):
    """One tool. Its traits are in `TOOL_TRAITS`."""

    spec: ToolSpec
    arguments: type[msgspec.Struct]
    read: Read | None = None
    """The function of a tool that only reads, or None for other tools."""
    plan: Plan | None = None
    """The function of a tool whose calls pass the gate, or None for other tools."""

    @property
    def name(self) -> str:
        """The name that the model uses."""
        return self.spec.name

    @property
    def traits(self) -> ToolTraits:
        """The row of the tool in `TOOL_TRAITS`: how the rest of the program treats it."""
        return TOOL_TRAITS[self.name]


def described(name: str, about: str, required: Sequence[str], /, **properties: dict[str, Any]) -> ToolSpec:
    """Return a tool's description for the model. `properties`: the JSON Schema of each argument."""
    schema: dict[str, Any] = {"type": "object", "properties": properties, "required": list(required)}
    return ToolSpec(name, about, schema)


def reading_tool(
    spec: ToolSpec, arguments: type[Arguments], read: Callable[[Arguments, ToolContext], Awaitable[ToolResult]]
) -> Tool:
    """Return a tool that changes nothing."""
    return Tool(spec=spec, arguments=arguments, read=read)


def blocking_tool(
    spec: ToolSpec, arguments: type[Arguments], read: Callable[[Arguments, ToolContext], ToolResult]
) -> Tool:
    """Return a tool that changes nothing. `read` blocks, so it runs in a thread."""

    async def in_thread(given: Arguments, ctx: ToolContext) -> ToolResult:
        return await asyncio.to_thread(read, given, ctx)

    return Tool(spec=spec, arguments=arguments, read=in_thread)


def gated_tool(
    spec: ToolSpec, arguments: type[Arguments], plan: Callable[[Arguments, ToolContext], Draft | ToolResult]
) -> Tool:
    """Return a tool whose calls pass the gate. `plan` makes the draft that the gate decides on."""
    return Tool(spec=spec, arguments=arguments, plan=plan)


def web_tool(
    spec: ToolSpec,
    arguments: type[Arguments],
    plan: Callable[[Arguments, ToolContext], Draft | ToolResult],
    read: Callable[[Arguments, ToolContext], Awaitable[ToolResult]],
) -> Tool:
    """Return a tool whose calls pass the gate, except in a search that lists its hosts: there `read` answers them."""
    return Tool(spec=spec, arguments=arguments, plan=plan, read=read)


def text(about: str) -> dict[str, Any]:
    """Return the JSON Schema of a text."""
    return {"type": "string", "description": about}


def number(about: str) -> dict[str, Any]:
    """Return the JSON Schema of a whole number from 1."""
    return {"type": "integer", "description": about, "minimum": 1}


PATH = text("Path relative to the project folder.")  # no example: small models ask for the path that it names
