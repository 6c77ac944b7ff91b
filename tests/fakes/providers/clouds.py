"""Answers in the formats of Gemini, OpenAI Responses, Bedrock and Cohere, written for the tests.

Each answer thinks, says one sentence, and makes two calls at once. `events` are what `body` is made of, so that a test
can leave some out.
"""

from __future__ import annotations

import base64
import json
import struct
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

Event = dict[str, Any]


def sse(events: Sequence[Event]) -> bytes:
    """Server-sent events."""
    return "".join(f"data: {json.dumps(e, ensure_ascii=False)}\n\n" for e in events).encode()


def frames(events: Sequence[Event]) -> bytes:
    """AWS event stream: one frame for each event, whose only key is its type."""
    return b"".join(frame(name, json.dumps(payload).encode()) for e in events for name, payload in e.items())


def invoke_frames(events: Sequence[Event]) -> bytes:
    """Bedrock's InvokeModel: each event in base64 in a frame of its own."""
    wrapped = [{"bytes": base64.b64encode(json.dumps(e).encode()).decode()} for e in events]
    return b"".join(frame("chunk", json.dumps(w).encode()) for w in wrapped)


def frame(event: str, payload: bytes, *, kind: str = "event") -> bytes:
    """One frame with its checksums; `kind` may be `exception`."""
    names = {":message-type": kind, f":{kind}-type": event, ":content-type": "application/json"}
    headers = b"".join(
        bytes([len(n)]) + n.encode() + b"\x07" + struct.pack("!H", len(v)) + v.encode() for n, v in names.items()
    )
    start = struct.pack("!II", 16 + len(headers) + len(payload), len(headers))
    whole = start + struct.pack("!I", zlib.crc32(start)) + headers + payload
    return whole + struct.pack("!I", zlib.crc32(whole))


@dataclass(frozen=True)
class Cloud:
    """One provider's answer, and its error."""

    name: str
    """Of the model."""
    path: str
    """What the request's path ends with."""
    events: tuple[Event, ...]
    finish_at: int
    """Index of the event that ends the answer."""
    encode: Callable[[Sequence[Event]], bytes]
    content_type: str
    usage: tuple[int, int, int, int]
    """In, out, cached, reasoning."""
    error: tuple[int, dict[str, str], Event]
    """Status, headers and body."""
    kind: str
    """Of the error."""
    delay: float | None
    """Seconds that the error asks to wait."""


TEXT, THOUGHT = "Ich prüfe beide Orte.", "Two places, two calls."
CALLS = [("read_file", {"path": "a.md"}), ("read_file", {"path": "b/ü.md"})]
_ARGS = [json.dumps(arguments) for _, arguments in CALLS]


def _gemini_part(**part: Any) -> Event:
    return {"candidates": [{"index": 0, "content": {"role": "model", "parts": [part]}}]}


GEMINI = Cloud(
    name="gemini/gemini-3-pro-preview",
    path="/models/gemini-3-pro-preview:streamGenerateContent",
    events=(
        _gemini_part(text=THOUGHT, thought=True) | {"usageMetadata": {"promptTokenCount": 90, "totalTokenCount": 90}},
        _gemini_part(text=TEXT[:7]),
        _gemini_part(text=TEXT[7:], thoughtSignature="c2lnLXRleHQ="),
        _gemini_part(functionCall={"name": "read_file", "args": CALLS[0][1]}, thoughtSignature="c2lnLWNhbGw="),
        _gemini_part(functionCall={"name": "read_file", "args": CALLS[1][1]}),
        {
            "candidates": [{"index": 0, "content": {"role": "model", "parts": [{"text": ""}]}, "finishReason": "STOP"}],
            "usageMetadata": {
                "promptTokenCount": 90,
                "cachedContentTokenCount": 64,
                "candidatesTokenCount": 20,
                "thoughtsTokenCount": 11,
                "totalTokenCount": 121,
            },
        },
    ),
    finish_at=5,
    encode=sse,
    content_type="text/event-stream",
    usage=(90, 31, 64, 11),
    error=(
        429,
        {},
        {
            "error": {
                "code": 429,
                "message": "Slow down, please.",
                "status": "RESOURCE_EXHAUSTED",
                "details": [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "37.5s"}],
            }
        },
    ),
    kind="rate-limit",
    delay=37.5,
)


def _call_item(place: int, **more: Any) -> Event:
    return {"type": "function_call", "id": f"fc_{place}", "call_id": f"c{place}", "name": "read_file", **more}


def _done(index: int, item: Event) -> Event:
    return {"type": "response.output_item.done", "output_index": index, "item": item}


def _arguments(index: int, text: str) -> Event:
    return {"type": "response.function_call_arguments.delta", "output_index": index, "delta": text}


RESPONSES = Cloud(
    name="openai/responses/gpt-5",
    path="/responses",
    events=(
        {"type": "response.created", "response": {"id": "resp_1", "status": "in_progress"}},
        {"type": "response.reasoning_summary_text.delta", "output_index": 0, "delta": THOUGHT},
        _done(
            0,
            {
                "type": "reasoning",
                "id": "rs_1",
                "summary": [{"type": "summary_text", "text": THOUGHT}],
                "encrypted_content": "ZW5jcnlwdGVk",
            },
        ),
        {"type": "response.output_text.delta", "output_index": 1, "delta": TEXT[:5]},
        {"type": "response.output_text.delta", "output_index": 1, "delta": TEXT[5:]},
        _done(1, {"type": "message", "phase": "commentary", "content": [{"type": "output_text", "text": TEXT}]}),
        {"type": "response.output_item.added", "output_index": 2, "item": _call_item(0, arguments="")},
        {"type": "response.output_item.added", "output_index": 3, "item": _call_item(1, arguments="")},
        _arguments(2, _ARGS[0][:4]),
        _arguments(3, _ARGS[1]),
        _arguments(2, _ARGS[0][4:]),
        _done(2, _call_item(0, arguments=_ARGS[0])),
        _done(3, _call_item(1, arguments=_ARGS[1])),
        {
            "type": "response.completed",
            "response": {
                "status": "completed",
                "usage": {
                    "input_tokens": 90,
                    "input_tokens_details": {"cached_tokens": 64},
                    "output_tokens": 31,
                    "output_tokens_details": {"reasoning_tokens": 11},
                },
            },
        },
    ),
    finish_at=13,
    encode=sse,
    content_type="text/event-stream",
    usage=(90, 31, 64, 11),
    error=(
        400,
        {},
        {"error": {"message": "The key is not right.", "type": "invalid_request_error", "code": "invalid_api_key"}},
    ),
    kind="auth",
    delay=None,
)


def _delta(index: int, **delta: Any) -> Event:
    return {"contentBlockDelta": {"contentBlockIndex": index, "delta": delta, "p": "abc"}}


def _stop(index: int) -> Event:
    return {"contentBlockStop": {"contentBlockIndex": index}}


def _tool(index: int) -> Event:
    start = {"toolUse": {"toolUseId": f"t{index}", "name": "read_file"}}
    return {"contentBlockStart": {"contentBlockIndex": index, "start": start}}


CONVERSE = Cloud(
    name="bedrock/converse/us.anthropic.claude-sonnet-4-5-20250929-v1:0",
    path="/model/us.anthropic.claude-sonnet-4-5-20250929-v1:0/converse-stream",
    events=(
        {"messageStart": {"role": "assistant"}},
        _delta(0, reasoningContent={"redactedContent": "c2VjcmV0"}),
        _stop(0),
        _delta(1, reasoningContent={"text": THOUGHT}),
        _delta(1, reasoningContent={"signature": "c2lnbmF0dXJl"}),
        _stop(1),
        _delta(2, text=TEXT[:9]),
        _delta(2, text=TEXT[9:]),
        _stop(2),
        _tool(3),
        _delta(3, toolUse={"input": _ARGS[0][:3]}),
        _delta(3, toolUse={"input": _ARGS[0][3:]}),
        _stop(3),
        _tool(4),
        _delta(4, toolUse={"input": _ARGS[1]}),
        _stop(4),
        {"messageStop": {"stopReason": "tool_use"}},
        {"metadata": {"usage": {"inputTokens": 26, "cacheReadInputTokens": 64, "outputTokens": 31}}},
    ),
    finish_at=16,
    encode=frames,
    content_type="application/vnd.amazon.eventstream",
    usage=(90, 31, 64, 0),
    error=(400, {}, {"message": "Input is too long for requested model."}),
    kind="context",
    delay=None,
)


def _cohere(kind: str, message: Event | None = None, **more: Any) -> Event:
    return {"type": kind, **more, **({"delta": {"message": message}} if message is not None else {})}


def _cohere_call(place: int) -> tuple[Event, ...]:
    begun = {"id": f"t{place}", "type": "function", "function": {"name": "read_file", "arguments": ""}}
    return (
        _cohere("tool-call-start", {"tool_calls": begun}, index=place),
        _cohere("tool-call-delta", {"tool_calls": {"function": {"arguments": _ARGS[place]}}}, index=place),
        _cohere("tool-call-end", index=place),
    )


COHERE = Cloud(
    name="cohere_chat/command-a-reasoning-08-2025",
    path="/v2/chat",
    events=(
        _cohere("message-start", {"role": "assistant", "content": []}),
        _cohere("content-start", {"content": {"type": "thinking", "thinking": ""}}, index=0),
        _cohere("content-delta", {"content": {"thinking": THOUGHT}}, index=0),
        _cohere("content-end", index=0),
        _cohere("content-delta", {"content": {"text": TEXT}}, index=1),
        *_cohere_call(0),
        *_cohere_call(1),
        {
            "type": "message-end",
            "delta": {
                "finish_reason": "TOOL_CALL",
                "usage": {"tokens": {"input_tokens": 90, "output_tokens": 31, "reasoning_tokens": 11}},
            },
        },
    ),
    finish_at=11,
    encode=sse,
    content_type="text/event-stream",
    usage=(90, 31, 0, 11),
    error=(429, {"retry-after": "3"}, {"message": "You are using a trial key, which is limited to 20 calls a minute."}),
    kind="rate-limit",
    delay=3.0,
)

CLOUDS = {"gemini": GEMINI, "responses": RESPONSES, "converse": CONVERSE, "cohere": COHERE}
AWS = {"AWS_ACCESS_KEY_ID": "AKIAIOSFODNN7EXAMPLE", "AWS_SECRET_ACCESS_KEY": "s" * 40, "AWS_REGION_NAME": "us-east-1"}
KEYS = {"GEMINI_API_KEY": "k", "OPENAI_API_KEY": "k", "COHERE_API_KEY": "k", "AZURE_API_KEY": "k", **AWS}
