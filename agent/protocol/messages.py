"""The conversation as every provider understands it."""

from __future__ import annotations

from typing import Any, Literal

import msgspec


class ToolCall(msgspec.Struct, frozen=True):
    call_id: str
    """Made by us; unique in the run."""
    tool: str
    arguments: str
    """The JSON text as the model wrote it; it may be broken."""


class Message(msgspec.Struct, frozen=True, kw_only=True):
    role: Literal["system", "user", "assistant", "tool"]
    text: str = ""
    calls: list[ToolCall] = []
    """Of an assistant message."""
    call_id: str | None = None
    """Of a tool message: the call that it answers."""


class ToolSpec(msgspec.Struct, frozen=True):
    """A tool as it is offered to the model."""

    name: str
    description: str
    parameters: dict[str, Any]
    """A JSON Schema of type object."""
