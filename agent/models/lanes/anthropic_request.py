"""Build the request for Anthropic's messages API."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from .chat_request import own_opaque
from .wire_texts import CACHE_MARK, EMPTY, arguments_object, encodable, tool_name

if TYPE_CHECKING:
    from ...protocol import Message, Request, ToolCall, ToolSpec
    from ..endpoint import Endpoint

VERSION = "2023-06-01"
INTERLEAVED = "interleaved-thinking-2025-05-14"
"""Beta header: older models without adaptive thinking need it to think between tool calls."""
_LEAST_THINKING = 1024
"""Least `budget_tokens` (Anthropic, "Extended thinking")."""
_SHARE = {"minimal": 0.1, "low": 0.2, "medium": 0.4, "high": 0.6, "xhigh": 0.8}
"""Share of the answer's tokens for thinking, for models that take a number instead of an effort."""


def anthropic_body(request: Request, at: Endpoint) -> dict[str, Any]:
    """Build the JSON body of one request."""
    messages = _messages(request, at)
    thinking = _thinking(at, request.max_tokens)
    body: dict[str, Any] = {
        "model": at.model,
        "max_tokens": request.max_tokens,
        "stream": True,
        "messages": messages,
        **thinking,
    }
    if not thinking and not at.user_sets("thinking"):  # a model that thinks accepts only its default
        body |= at.temperature(request)
    system = "\n\n".join(encodable(m.text) for m in request.messages if m.role == "system" and m.text)
    if system:
        body["system"] = [{"type": "text", "text": system, "cache_control": CACHE_MARK}]
    for turn in _turns_to_mark(messages):
        turn["content"][-1]["cache_control"] = CACHE_MARK
    if request.tools:  # without a `tool_choice`, also if calls are forbidden: another choice voids the cached messages
        body["tools"] = [_tool(t) for t in request.tools]
    elif names := {tool_name(c.tool) for m in request.messages for c in m.calls}:
        # A conversation with calls needs their tools, even if the model must not call one now.
        body["tools"] = [{"name": n, "input_schema": {"type": "object"}} for n in sorted(names)]
        body["tool_choice"] = {"type": "none"}
    if request.schema is not None:
        config: dict[str, Any] = body.setdefault("output_config", {})
        config["format"] = {"type": "json_schema", "schema": request.schema}
    return {**body, **at.params}


def anthropic_headers(at: Endpoint) -> dict[str, str]:
    """Return version, key, and the beta features that the request uses."""
    headers = {"anthropic-version": VERSION}
    if at.key_is_token:
        headers["Authorization"] = f"Bearer {at.key}"
    elif at.key is not None:
        headers["x-api-key"] = at.key
    if at.effort not in (None, "none") and not at.adaptive:
        headers["anthropic-beta"] = INTERLEAVED
    return headers


def _thinking(at: Endpoint, max_tokens: int) -> dict[str, Any]:
    if at.effort is None:
        return {}
    if at.effort == "none":
        return {"thinking": {"type": "disabled"}} if at.adaptive else {}
    if at.adaptive:
        effort = "low" if at.effort == "minimal" else at.effort
        return {"thinking": {"type": "adaptive"}, "output_config": {"effort": effort}}
    tokens = int(max_tokens * _SHARE.get(at.effort, 0.4))
    return {"thinking": {"type": "enabled", "budget_tokens": tokens}} if tokens >= _LEAST_THINKING else {}


def _tool(tool: ToolSpec) -> dict[str, Any]:
    return {"name": tool.name, "description": tool.description, "input_schema": tool.parameters}


def _messages(request: Request, at: Endpoint) -> list[dict[str, Any]]:
    """Alternate turns of user and assistant: tool results and the user's text form one turn."""
    out: list[dict[str, Any]] = []
    for message in request.messages:
        if message.role == "system":
            continue
        role = "assistant" if message.role == "assistant" else "user"
        blocks = _blocks(message, request.blobs, at)
        if out and out[-1]["role"] == role:
            out[-1]["content"] += blocks
        else:
            out.append({"role": role, "content": blocks})
    return out


def _turns_to_mark(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the newest turn, and the user's turn before the newest answer: where the request before put its mark.

    From a mark, Anthropic looks for what is cached only in the 20 blocks before it ("Prompt caching"). Ten parallel
    calls and their results are 20 blocks already. A request may have four marks; the third is on the system prompt.
    """
    asked = [message for message in messages[:-1] if message["role"] == "user"]
    return [*asked[-1:], *messages[-1:]]


def _blocks(message: Message, blobs: Mapping[str, bytes], at: Endpoint) -> list[dict[str, Any]]:
    text = encodable(message.text)
    match message.role:
        case "tool":
            return [{"type": "tool_result", "tool_use_id": message.call_id or "", "content": text or EMPTY}]
        case "assistant":
            return _assistant(text, message.calls, own_opaque(message, blobs, at).get("blocks") or [])
        case _:
            images = [_image(i.media, blobs[i.sha]) for i in message.images if i.sha in blobs]
            return [*images, {"type": "text", "text": text or EMPTY}]


def _assistant(text: str, calls: Sequence[ToolCall], order: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the answer's blocks in their original order if it is known and nothing was left out since."""
    places: list[int] = [b["place"] for b in order if b["type"] == "tool_use"]
    length = sum(b["length"] for b in order if b["type"] == "text")
    if len(places) != len(calls) or length != len(text):
        sealed = [b for b in order if b["type"] not in ("text", "tool_use")]
        order = [*sealed, {"type": "text", "length": len(text)}]
        order += [{"type": "tool_use", "place": i} for i in range(len(calls))]
    out: list[dict[str, Any]] = []
    at = 0
    for block in order:
        if block["type"] == "text":
            piece = text[at : at + block["length"]]
            at += block["length"]
            if piece.strip():
                out.append({"type": "text", "text": piece})
        elif block["type"] == "tool_use":
            out.append(_call(calls[int(block["place"])]))
        else:
            out.append(dict(block))
    return out or [{"type": "text", "text": EMPTY}]


def _call(call: ToolCall) -> dict[str, Any]:
    arguments = arguments_object(call.arguments)
    return {"type": "tool_use", "id": call.call_id, "name": tool_name(call.tool), "input": arguments}


def _image(media: str, data: bytes) -> dict[str, Any]:
    source = {"type": "base64", "media_type": media, "data": base64.b64encode(data).decode()}
    return {"type": "image", "source": source}
