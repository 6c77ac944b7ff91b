"""One answer in each wire format that the product reads: the same turn, written as each provider would.

`events` are what the body is made of, in order, so that a test can cut, repeat or damage them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from .clouds import AWS, frame, sse

Event = dict[str, Any]
KEY = "sk-test-Abcdef0123456789Abcdef0123456789"
KEYS = {"ANTHROPIC_API_KEY": KEY, "OPENAI_API_KEY": KEY, "GEMINI_API_KEY": KEY, "COHERE_API_KEY": KEY, **AWS}


@dataclass(frozen=True)
class Said:
    """What the model says."""

    texts: Sequence[str] = ()
    reasoning: str = ""
    calls: Sequence[tuple[str | None, str]] = ()
    """Id and arguments of calls of `read_file`."""
    finish: str = "stop"
    """`stop`, `tool_calls`, `length`, `filtered` or any other word."""
    usage: bool = True


@dataclass(frozen=True)
class Wire:
    """One format."""

    model: str
    write: Callable[[Said], list[Event]]
    """The last event that is not about usage ends the answer."""
    encode: Callable[[Sequence[Event]], bytes]
    content_type: str
    tail: int
    """Events from the one with the finish reason on."""
    failed: Event
    """An error of the server in the middle of an answer."""
    free_arguments: bool = True
    """Arguments travel as text, so they can be malformed."""
    own_ids: bool = True
    """Calls have ids."""
    garbage: bytes = b"data: {no json\n\n"
    env: dict[str, str] = field(default_factory=lambda: KEYS)

    def body(self, said: Said) -> bytes:
        """Return the whole answer."""
        return self.encode(self.write(said))


def _chat(said: Said) -> list[Event]:
    deltas: list[Event] = [{"reasoning_content": said.reasoning}] if said.reasoning else []
    deltas += [{"content": text} for text in said.texts]
    for index, (name, arguments) in enumerate(said.calls):
        start = {"index": index, "type": "function", "function": {"name": "read_file", "arguments": ""}}
        deltas += [{"tool_calls": [start | ({"id": name} if name is not None else {})]}]
        deltas += [{"tool_calls": [{"index": index, "function": {"arguments": piece}}]} for piece in _halves(arguments)]
    chunks = [_chunk({"index": 0, "delta": delta, "finish_reason": None}) for delta in deltas]
    finish = {"filtered": "content_filter"}.get(said.finish, said.finish)
    chunks.append(_chunk({"index": 0, "delta": {}, "finish_reason": finish}))
    usage = {"prompt_tokens": 90, "completion_tokens": 31, "total_tokens": 121}
    return [*chunks, _chunk(usage=usage)] if said.usage else chunks


def _chunk(*choices: Event, **more: Any) -> Event:
    return {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": list(choices), **more}


def _chat_body(events: Sequence[Event]) -> bytes:
    return sse(events) + b"data: [DONE]\n\n"


def _anthropic(said: Said) -> list[Event]:
    used = {"input_tokens": 90, "output_tokens": 1} if said.usage else {}
    start = {"id": "msg", "type": "message", "role": "assistant", "content": [], "model": "m", "usage": used}
    events: list[Event] = [{"type": "message_start", "message": start}]
    blocks: list[tuple[Event, list[Event]]] = []
    if said.reasoning:
        thought = {"type": "thinking_delta", "thinking": said.reasoning}
        blocks.append(({"type": "thinking", "thinking": ""}, [thought]))
    if said.texts:
        blocks.append(({"type": "text", "text": ""}, [{"type": "text_delta", "text": text} for text in said.texts]))
    for name, arguments in said.calls:
        pieces = [{"type": "input_json_delta", "partial_json": piece} for piece in _halves(arguments)]
        blocks.append(({"type": "tool_use", "id": name, "name": "read_file", "input": {}}, pieces))
    for index, (block, deltas) in enumerate(blocks):
        events.append({"type": "content_block_start", "index": index, "content_block": block})
        events += [{"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas]
        events.append({"type": "content_block_stop", "index": index})
    words = {"stop": "end_turn", "tool_calls": "tool_use", "length": "max_tokens", "filtered": "refusal"}
    finish = {"stop_reason": words.get(said.finish, said.finish), "stop_sequence": None}
    told = {"usage": {"output_tokens": 31}} if said.usage else {}
    return [*events, {"type": "message_delta", "delta": finish, **told}, {"type": "message_stop"}]


def _anthropic_body(events: Sequence[Event]) -> bytes:
    return "".join(f"event: {e['type']}\ndata: {json.dumps(e, ensure_ascii=False)}\n\n" for e in events).encode()


def _ollama(said: Said) -> list[Event]:
    messages: list[Event] = [{"thinking": said.reasoning}] if said.reasoning else []
    messages += [{"content": text} for text in said.texts]
    messages += [
        {"tool_calls": [{"function": {"name": "read_file", "arguments": json.loads(arguments)}}]}
        for _, arguments in said.calls
    ]
    lines: list[Event] = [{"model": "m", "message": {"role": "assistant", "content": ""} | m} for m in messages]
    end = {"model": "m", "message": {"role": "assistant", "content": ""}, "done": True, "done_reason": said.finish}
    return [*lines, end | ({"prompt_eval_count": 90, "eval_count": 31} if said.usage else {})]


def _lines(events: Sequence[Event]) -> bytes:
    return "".join(json.dumps(event, ensure_ascii=False) + "\n" for event in events).encode()


def _gemini(said: Said) -> list[Event]:
    parts: list[Event] = [{"text": said.reasoning, "thought": True}] if said.reasoning else []
    parts += [{"text": text} for text in said.texts]
    parts += [
        {"functionCall": {"name": "read_file", "args": json.loads(arguments)} | ({"id": name} if name else {})}
        for name, arguments in said.calls
    ]
    events: list[Event] = [{"candidates": [{"index": 0, "content": {"role": "model", "parts": [p]}}]} for p in parts]
    words = {"stop": "STOP", "tool_calls": "STOP", "length": "MAX_TOKENS", "filtered": "SAFETY"}
    finish = {"index": 0, "content": {"role": "model", "parts": [{"text": ""}]}}
    end: Event = {"candidates": [finish | {"finishReason": words.get(said.finish, said.finish.upper())}]}
    used = {"promptTokenCount": 90, "candidatesTokenCount": 31, "totalTokenCount": 121}
    return [*events, end | ({"usageMetadata": used} if said.usage else {})]


def _responses(said: Said) -> list[Event]:
    events: list[Event] = [{"type": "response.created", "response": {"id": "resp", "status": "in_progress"}}]
    if said.reasoning:
        events.append({"type": "response.reasoning_summary_text.delta", "output_index": 0, "delta": said.reasoning})
    events += [{"type": "response.output_text.delta", "output_index": 1, "delta": text} for text in said.texts]
    for index, (name, arguments) in enumerate(said.calls, 2):
        item = {"type": "function_call", "id": f"fc{index}", "name": "read_file"}
        item |= {} if name is None else {"call_id": name}
        added = {"type": "response.output_item.added", "output_index": index, "item": item | {"arguments": ""}}
        done = {"type": "response.output_item.done", "output_index": index, "item": item | {"arguments": arguments}}
        pieces = [
            {"type": "response.function_call_arguments.delta", "output_index": index, "delta": piece}
            for piece in _halves(arguments)
        ]
        events += [added, *pieces, done]
    usage = {"input_tokens": 90, "output_tokens": 31, "total_tokens": 121}
    response: Event = {"id": "resp", "status": "completed"} | ({"usage": usage} if said.usage else {})
    if said.finish in ("stop", "tool_calls"):
        return [*events, {"type": "response.completed", "response": response}]
    reasons = {"length": "max_output_tokens", "filtered": "content_filter"}
    why = {"status": "incomplete", "incomplete_details": {"reason": reasons.get(said.finish, said.finish)}}
    return [*events, {"type": "response.incomplete", "response": response | why}]


def _converse(said: Said) -> list[Event]:
    events: list[Event] = [{"messageStart": {"role": "assistant"}}]
    blocks: list[tuple[Event | None, list[Event]]] = []
    if said.reasoning:
        blocks.append((None, [{"reasoningContent": {"text": said.reasoning}}]))
    if said.texts:
        blocks.append((None, [{"text": text} for text in said.texts]))
    for name, arguments in said.calls:
        start = {"toolUse": {"toolUseId": name, "name": "read_file"}}
        blocks.append((start, [{"toolUse": {"input": piece}} for piece in _halves(arguments)]))
    for index, (start, deltas) in enumerate(blocks):
        if start is not None:
            events.append({"contentBlockStart": {"contentBlockIndex": index, "start": start}})
        events += [{"contentBlockDelta": {"contentBlockIndex": index, "delta": delta}} for delta in deltas]
        events.append({"contentBlockStop": {"contentBlockIndex": index}})
    words = {"stop": "end_turn", "tool_calls": "tool_use", "length": "max_tokens", "filtered": "content_filtered"}
    events.append({"messageStop": {"stopReason": words.get(said.finish, said.finish)}})
    used = {"inputTokens": 90, "outputTokens": 31, "totalTokens": 121}
    return [*events, {"metadata": {"usage": used}}] if said.usage else events


def _frames(events: Sequence[Event]) -> bytes:
    return b"".join(
        frame(name, json.dumps(payload).encode(), kind="exception" if name.endswith("Exception") else "event")
        for event in events
        for name, payload in event.items()
    )


def _cohere(said: Said) -> list[Event]:
    def message(kind: str, index: int, content: Event) -> Event:
        return {"type": kind, "index": index, "delta": {"message": content}}

    events: list[Event] = [{"type": "message-start", "delta": {"message": {"role": "assistant", "content": []}}}]
    if said.reasoning:
        events.append(message("content-delta", 0, {"content": {"thinking": said.reasoning}}))
    events += [message("content-delta", 1, {"content": {"text": text}}) for text in said.texts]
    for index, (name, arguments) in enumerate(said.calls, 2):
        begun = {"type": "function", "function": {"name": "read_file", "arguments": ""}}
        begun |= {} if name is None else {"id": name}
        events.append(message("tool-call-start", index, {"tool_calls": begun}))
        events += [
            message("tool-call-delta", index, {"tool_calls": {"function": {"arguments": piece}}})
            for piece in _halves(arguments)
        ]
        events.append({"type": "tool-call-end", "index": index})
    words = {"stop": "COMPLETE", "tool_calls": "TOOL_CALL", "length": "MAX_TOKENS", "filtered": "ERROR_TOXIC"}
    end: Event = {"finish_reason": words.get(said.finish, said.finish.upper())}
    end |= {"usage": {"tokens": {"input_tokens": 90, "output_tokens": 31}}} if said.usage else {}
    return [*events, {"type": "message-end", "delta": end}]


def _halves(text: str) -> list[str]:
    return [piece for piece in (text[: len(text) // 2], text[len(text) // 2 :]) if piece]


_SSE = "text/event-stream"
_OOPS = "the engine crashed"
WIRES = {
    "chat": Wire("fake", _chat, _chat_body, _SSE, tail=2, failed={"error": {"message": _OOPS, "type": "server_error"}}),
    "anthropic": Wire(
        "anthropic/claude-sonnet-4-5",
        _anthropic,
        _anthropic_body,
        _SSE,
        tail=2,
        failed={"type": "error", "error": {"type": "overloaded_error", "message": _OOPS}},
        garbage=b"event: content_block_delta\ndata: {no json\n\n",
    ),
    "ollama": Wire(
        "ollama/qwen3:8b",
        _ollama,
        _lines,
        "application/x-ndjson",
        tail=1,
        failed={"error": _OOPS},
        free_arguments=False,
        own_ids=False,
        garbage=b"{no json\n",
    ),
    "gemini": Wire(
        "gemini/gemini-3-pro-preview",
        _gemini,
        sse,
        _SSE,
        tail=1,
        failed={"error": {"code": 500, "message": _OOPS, "status": "INTERNAL"}},
        free_arguments=False,
        own_ids=False,
    ),
    "responses": Wire(
        "openai/responses/gpt-5",
        _responses,
        sse,
        _SSE,
        tail=1,
        failed={"type": "response.failed", "response": {"status": "failed", "error": {"message": _OOPS}}},
    ),
    "converse": Wire(
        "bedrock/converse/us.anthropic.claude-sonnet-4-5-20250929-v1:0",
        _converse,
        _frames,
        "application/vnd.amazon.eventstream",
        tail=2,
        failed={"internalServerException": {"message": _OOPS}},
        garbage=b"\0\0\0\x20 no frame at all, but long enough",
    ),
    "cohere": Wire(
        "cohere_chat/command-a-03-2025",
        _cohere,
        sse,
        _SSE,
        tail=1,
        failed={"type": "message-end", "delta": {"finish_reason": "ERROR", "error": _OOPS}},
    ),
}
