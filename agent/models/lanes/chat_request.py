"""Build the request for OpenAI-style chat completions, with the differences of each provider."""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from .wire_texts import CACHE_MARK, EMPTY, arguments_json, encodable, short_id, tool_name

if TYPE_CHECKING:
    from ...protocol import Message, Request, ToolCall, ToolSpec
    from ..endpoint import Endpoint
    from ..provider_traits import Traits

FINAL_USAGE = {"include_usage": True}
USAGE_SO_FAR = {"include_usage": True, "continuous_usage_stats": True}
"""Asks vLLM for the usage so far in each piece (`StreamOptions` in vLLM's entrypoints/openai)."""
_NOT_RECORDED = "(not recorded)"
"""Placeholder for the reasoning of another model's answer, for providers that require some."""


def chat_body(request: Request, at: Endpoint, traits: Traits) -> dict[str, Any]:
    """Build the JSON body of one request."""
    body: dict[str, Any] = {
        "model": wire_name(at, traits),
        "messages": chat_messages(request, at, traits),
        "stream": True,
        traits.limit_field: request.max_tokens,
        **_effort(at, traits),
        **at.temperature(request),
    }
    if traits.asks_usage:
        body["stream_options"] = USAGE_SO_FAR if at.reports_usage else FINAL_USAGE
    if at.reports_reading:
        body["return_progress"] = True
        body["timings_per_token"] = True
    if request.tools:
        body["tools"] = tools_to_wire(request.tools)
        if request.forbids_calls and not at.wants_cache_marks:  # Claude's cached messages depend on the choice
            body["tool_choice"] = "none"
    if request.schema is not None:
        body["response_format"] = schema_to_wire(request.schema)
    return {**body, **at.params}


def wire_name(at: Endpoint, traits: Traits) -> str:
    """Return the model's name in the provider's form."""
    if at.provider == "huggingface" and at.api_base is None and at.model.count("/") == 2:
        vendor, _, model = at.model.partition("/")  # litellm's spelling of the router's `MODEL:VENDOR`
        return f"{model}:{vendor}"
    return at.model if "/" in at.model else traits.name_prefix + at.model


def chat_messages(request: Request, at: Endpoint, traits: Traits) -> list[dict[str, Any]]:
    """Build the messages. For Claude behind a gateway, mark for the cache what `anthropic_body` marks."""
    call_id = short_id if traits.short_call_ids else str
    out = [_message(message, request.blobs, at, traits, call_id) for message in request.messages]
    if at.wants_cache_marks and out:
        for place in _places_to_mark(out):
            _mark(out[place])
    return out


def _places_to_mark(messages: list[dict[str, Any]]) -> set[int]:
    """Return the system prompt, the newest message, and the last message before the newest answer."""
    system = next((i for i, m in enumerate(messages) if m["role"] == "system"), 0)
    newest = len(messages) - 1
    answer = next((i for i in range(newest - 1, 0, -1) if messages[i]["role"] == "assistant"), None)
    return {system, newest} if answer is None else {system, newest, answer - 1}


def tools_to_wire(tools: Sequence[ToolSpec]) -> list[dict[str, Any]]:
    """Convert the offered tools to the `tools` field of the request."""
    return [
        {
            "type": "function",
            "function": {"name": t.name, "description": t.description, "parameters": t.parameters},
        }
        for t in tools
    ]


def schema_to_wire(schema: dict[str, Any]) -> dict[str, Any]:
    """Convert the schema of the answer to the `response_format` field of the request."""
    return {"type": "json_schema", "json_schema": {"name": "answer", "schema": schema, "strict": True}}


def _message(
    message: Message, blobs: Mapping[str, bytes], at: Endpoint, traits: Traits, call_id: Callable[[str], str]
) -> dict[str, Any]:
    text = encodable(message.text)
    match message.role:
        case "tool":
            return {"role": "tool", "tool_call_id": call_id(message.call_id or ""), "content": text}
        case "assistant":
            return _assistant(message, text, blobs, at, traits, call_id)
        case _ if message.images:
            urls = [_data_url(i.media, blobs[i.sha]) for i in message.images if i.sha in blobs]
            images = [{"type": "image_url", "image_url": {"url": url}} for url in urls]
            return {"role": message.role, "content": [{"type": "text", "text": text or EMPTY}, *images]}
        case _:
            return {"role": message.role, "content": text or EMPTY}


def _assistant(
    message: Message,
    text: str,
    blobs: Mapping[str, bytes],
    at: Endpoint,
    traits: Traits,
    call_id: Callable[[str], str],
) -> dict[str, Any]:
    out: dict[str, Any] = {"role": "assistant", "content": text or (None if message.calls else EMPTY)}
    if message.calls:
        out["tool_calls"] = [_call(c, call_id) for c in message.calls]
    own = own_opaque(message, blobs, at)
    for index, extra in own.pop("calls", {}).items():
        if int(index) < len(message.calls):
            out["tool_calls"][int(index)].update(extra)
    if thinking := own.pop("thinking", None):  # Mistral: reasoning is a part of the content
        parts: list[dict[str, Any]] = [{"type": "thinking", "thinking": [{"type": "text", "text": thinking}]}]
        out["content"] = [*parts, *([{"type": "text", "text": text}] if text else [])]
    if "reasoning_details" in own:  # OpenRouter: they take the place of `reasoning`
        own.pop("reasoning", None)
    out.update(own)
    if traits.needs_reasoning:  # DeepSeek and Moonshot: it must not be empty, and `content` must not be `null`
        out["reasoning_content"] = out.get("reasoning_content") or _NOT_RECORDED
        out["content"] = out["content"] or ""
    return out


def own_opaque(message: Message, blobs: Mapping[str, bytes], at: Endpoint) -> dict[str, Any]:
    """Return the message's opaque parts if this provider made them, else an empty dict."""
    ref = message.opaque
    if ref is None or ref.maker != at.opaque_provider or ref.sha not in blobs:
        return {}
    return msgspec.json.decode(blobs[ref.sha], type=dict[str, Any])


def _call(call: ToolCall, call_id: Callable[[str], str]) -> dict[str, Any]:
    function = {"name": tool_name(call.tool), "arguments": arguments_json(call.arguments)}
    return {"id": call_id(call.call_id), "type": "function", "function": function}


def _effort(at: Endpoint, traits: Traits) -> dict[str, Any]:
    if at.effort is None:
        return {}
    word = traits.efforts.get(at.effort, at.effort)
    match traits.effort:
        case "field":
            return {"reasoning_effort": word}
        case "object":
            return {"reasoning": {"effort": word}}
        case "toggle":
            return {"thinking": {"type": "disabled" if at.effort in ("none", "minimal", "low") else "enabled"}}
        case "none":
            return {}


def _data_url(media: str, data: bytes) -> str:
    return f"data:{media};base64,{base64.b64encode(data).decode()}"


def _mark(message: dict[str, Any]) -> None:
    content = message["content"]
    if isinstance(content, str):
        message["content"] = [{"type": "text", "text": content, "cache_control": CACHE_MARK}]
    elif isinstance(content, list) and content:
        content[-1]["cache_control"] = CACHE_MARK
