"""The conversation in the shape that litellm takes (OpenAI chat completions)."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import msgspec

from ..protocol import Message, ToolCall, ToolSpec

_MARK = {"type": "ephemeral"}
"""Anthropic, "Prompt caching": everything up to a marked block is cached for five minutes."""


def to_wire(messages: Sequence[Message], *, provider: str, marks: bool) -> list[dict[str, Any]]:
    """The messages for one call. `marks`: the system prompt and the newest message carry Anthropic's cache marks."""
    call_id = _nine_letters if provider in ("mistral", "codestral") else _same
    out = [_message(message, call_id) for message in messages]
    if marks and out:
        for place in {next((i for i, m in enumerate(messages) if m.role == "system"), 0), len(out) - 1}:
            _mark(out[place])
    return out


def tools_to_wire(tools: Sequence[ToolSpec]) -> list[dict[str, Any]]:
    """The tools on offer."""
    return [
        {
            "type": "function",
            "function": {"name": t.name, "description": t.description, "parameters": t.parameters},
        }
        for t in tools
    ]


def schema_to_wire(schema: dict[str, Any]) -> dict[str, Any]:
    """What the answer's text is held to."""
    return {"type": "json_schema", "json_schema": {"name": "answer", "schema": schema, "strict": True}}


def is_object(arguments: str) -> bool:
    """The text is one whole JSON object."""
    try:
        return isinstance(msgspec.json.decode(arguments), dict)
    except (msgspec.DecodeError, UnicodeEncodeError):
        return False


def _message(message: Message, call_id: Callable[[str], str]) -> dict[str, Any]:
    text = _encodable(message.text)
    if message.role == "tool":
        return {"role": "tool", "tool_call_id": call_id(message.call_id or ""), "content": text}
    if message.calls:
        calls = [_call(c, call_id) for c in message.calls]
        return {"role": "assistant", "content": text or None, "tool_calls": calls}
    # Anthropic and Bedrock refuse a message without text.
    return {"role": message.role, "content": text or "(nothing)"}


def _call(call: ToolCall, call_id: Callable[[str], str]) -> dict[str, Any]:
    function = {"name": call.tool or "unnamed", "arguments": _arguments(call.arguments)}
    return {"id": call_id(call.call_id), "type": "function", "function": function}


@lru_cache(maxsize=1024)
def _arguments(text: str) -> str:
    """Broken JSON is wrapped: several servers parse what a model wrote before, and fail on it."""
    if is_object(text):
        return text
    return msgspec.json.encode({"not_json": _encodable(text)}).decode() if text.strip() else "{}"


def _encodable(text: str) -> str:
    # A lone surrogate (a file name that is not UTF-8) cannot go into a request.
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def _mark(message: dict[str, Any]) -> None:
    if message["role"] == "tool" or not isinstance(message["content"], str):
        message["cache_control"] = _MARK
    else:
        message["content"] = [{"type": "text", "text": message["content"], "cache_control": _MARK}]


def _same(call_id: str) -> str:
    return call_id


def _nine_letters(call_id: str) -> str:
    """Mistral takes call ids of nine letters and digits only."""
    return hashlib.sha256(call_id.encode()).hexdigest()[:9]
