"""Build the request for OpenAI's Responses API, as litellm's `aresponses` takes it."""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ..chat_request import own_opaque
from ..wire_texts import EMPTY, arguments_json, encodable, tool_name
from .litellm_arguments import call_settings

if TYPE_CHECKING:
    from ....protocol import Message, Request, ToolCall
    from ...endpoint import Endpoint

_THINKS = re.compile(r"\b(o\d|gpt-[5-9]|gpt-oss|codex|grok|deepseek)")
"""Names of models that think, if the table does not list the model."""


def responses_arguments(request: Request, at: Endpoint, seconds: float, *, reasons: bool | None) -> dict[str, Any]:
    """Build the keyword arguments of `aresponses`. `reasons`: the model thinks, or None if unknown."""
    system = "\n\n".join(encodable(m.text) for m in request.messages if m.role == "system" and m.text)
    arguments: dict[str, Any] = {
        "model": _model(at),
        "input": [i for m in request.messages for i in _items(m, request.blobs, at)],
        "max_output_tokens": request.max_tokens,
        "store": False,
        **at.temperature(request),
        **call_settings(at, seconds),
    }
    if system:
        arguments["instructions"] = system
    if _THINKS.search(at.model.lower()) if reasons is None else reasons:
        arguments["include"] = ["reasoning.encrypted_content"]  # other models refuse it
    if at.effort is not None:
        arguments["reasoning"] = {"effort": at.effort}
    if request.tools:
        arguments["tools"] = [
            {
                "type": "function",
                "name": t.name,
                "description": t.description,
                "parameters": t.parameters,
                "strict": False,
            }
            for t in request.tools
        ]
        if request.forbids_calls:
            arguments["tool_choice"] = "none"
    if request.schema is not None:
        arguments["text"] = {
            "format": {"type": "json_schema", "name": "answer", "schema": request.schema, "strict": True}
        }
    return {**arguments, **at.params}


def _model(at: Endpoint) -> str:
    return f"{at.provider}/{at.model.removeprefix('responses/')}"


def _items(message: Message, blobs: Mapping[str, bytes], at: Endpoint) -> list[dict[str, Any]]:
    text = encodable(message.text)
    match message.role:
        case "system":
            return []
        case "tool":
            return [{"type": "function_call_output", "call_id": message.call_id or "", "output": text or EMPTY}]
        case "assistant":
            return _assistant(text, message.calls, own_opaque(message, blobs, at).get("items") or [])
        case _:
            content: list[dict[str, Any]] = [{"type": "input_text", "text": text or EMPTY}]
            for image in message.images:
                if image.sha in blobs:
                    data = base64.b64encode(blobs[image.sha]).decode()
                    content.append({"type": "input_image", "image_url": f"data:{image.media};base64,{data}"})
            return [{"type": "message", "role": "user", "content": content}]


def _assistant(text: str, calls: list[ToolCall], order: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the answer's items in their original order if it is known and nothing was left out since."""
    places = [i["place"] for i in order if i["type"] == "function_call"]
    length = sum(i["length"] for i in order if i["type"] == "message")
    if len(places) != len(calls) or length != len(text):
        order = [i for i in order if i["type"] == "reasoning"]
        order.append({"type": "message", "length": len(text)})
        order += [{"type": "function_call", "place": i} for i in range(len(calls))]
    out: list[dict[str, Any]] = []
    at = 0
    for item in order:
        match item["type"]:
            case "message":
                piece = text[at : at + item["length"]]
                at += item["length"]
                if piece:
                    out.append(_said(piece, item.get("phase")))
            case "function_call":
                out.append(_call(calls[int(item["place"])]))
            case _ if item.get("encrypted_content") or item.get("content"):
                out.append({"summary": [], **item})
            case _:
                pass  # the server stored nothing, so it does not know this item
    while out and out[-1]["type"] == "reasoning":
        out.pop()  # refused without the item that follows it
    return out


def _said(text: str, phase: str | None) -> dict[str, Any]:
    item: dict[str, Any] = {
        "type": "message",
        "role": "assistant",
        "content": [{"type": "output_text", "text": text, "annotations": []}],
    }
    return item if phase is None else {**item, "phase": phase}


def _call(call: ToolCall) -> dict[str, Any]:
    return {
        "type": "function_call",
        "call_id": call.call_id,
        "name": tool_name(call.tool),
        "arguments": arguments_json(call.arguments),
    }
