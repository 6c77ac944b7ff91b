"""Build litellm's arguments: the usual chat request, with opaque parts where each provider expects them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from ...provider_traits import Traits
from ..chat_request import chat_messages, schema_to_wire, tools_to_wire

if TYPE_CHECKING:
    from ....protocol import Request
    from ...endpoint import Endpoint

_SHAPE = Traits()
"""litellm accepts the usual form of chat completions for every provider."""
_SEND_USAGE_UNASKED = frozenset({"oci"})
"""Providers for which litellm refuses `stream_options`."""


def call_settings(at: Endpoint, seconds: float) -> dict[str, Any]:
    """Return server, key, and the settings with which litellm makes one attempt without retries."""
    settings: dict[str, Any] = {
        "stream": True,
        "timeout": seconds,
        "max_retries": 0,
        "_skip_mcp_handler": True,
        **at.settings,
    }
    if at.headers:
        settings["extra_headers"] = at.headers
    if at.key is not None:
        settings["api_key"] = at.key
    if at.api_base is not None:
        settings["api_base"] = _whole_address(at.provider, at.api_base)
    return settings


def chat_arguments(request: Request, at: Endpoint, seconds: float) -> dict[str, Any]:
    """Build the keyword arguments of `acompletion`."""
    arguments: dict[str, Any] = {
        "model": at.name,
        "messages": [_place_opaque(m) for m in chat_messages(request, at, _SHAPE)],
        "max_tokens": request.max_tokens,
        **at.temperature(request),
        **call_settings(at, seconds),
    }
    if at.provider not in _SEND_USAGE_UNASKED:
        arguments["stream_options"] = {"include_usage": True}
    if at.effort is not None:
        arguments["reasoning_effort"] = at.effort
    if request.tools and (at.wants_cache_marks or not request.forbids_calls):
        arguments["tools"] = tools_to_wire(request.tools)
        # litellm's table is older than many models: let the provider decide whether the model accepts tools.
        arguments["allowed_openai_params"] = ["tools"]
    if request.schema is not None:
        arguments["response_format"] = schema_to_wire(request.schema)
    return {**arguments, **at.params}


def _whole_address(provider: str, base: str) -> str:
    """Complete Cohere's address with its path, as litellm expects."""
    if provider not in ("cohere", "cohere_chat") or urlsplit(base).path.endswith("/chat"):
        return base
    return f"{base}/chat" if base.endswith(("/v1", "/v2")) else f"{base}/v2/chat"


def _place_opaque(message: dict[str, Any]) -> dict[str, Any]:
    """Move what the readers in `lanes/formats` and `lanes/anthropic.py` stored to where litellm looks for it."""
    if blocks := message.pop("blocks", None):
        message["thinking_blocks"] = [b for b in blocks if b["type"] not in ("text", "tool_use")]
    if signatures := message.pop("signatures", None):
        calls: list[dict[str, Any]] = message.get("tool_calls") or []
        for place, signature in signatures["calls"].items():
            if int(place) < len(calls):
                calls[int(place)]["provider_specific_fields"] = {"thought_signature": signature}
        if signatures["text"]:
            message["provider_specific_fields"] = {"thought_signatures": [signatures["text"]]}
    if thinking := message.pop("content_thinking", None):  # Cohere
        text = message.get("content")
        parts: list[dict[str, Any]] = [{"type": "thinking", "thinking": thinking}]
        message["content"] = [*parts, *([{"type": "text", "text": text}] if text else [])]
    return message
