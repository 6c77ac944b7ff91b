"""The wire formats that harnesses speak: what a request offers, and an answer as JSON or as server-sent events."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from .answer import Answer

_numbers = itertools.count(1)

Event = tuple[str, Mapping[str, Any] | str]
"""Name of the event (empty in chat completions), and its data."""


def offered(body: Mapping[str, Any]) -> list[str]:
    """Return the names of the tools that the request offers, in any of the formats."""
    tools = body.get("tools") or []
    return [tool.get("function", tool).get("name") or tool.get("type", "") for tool in tools]


def chat(body: Mapping[str, Any], answer: Answer) -> Iterator[Event]:
    """OpenAI chat completions, as a stream."""
    number = next(_numbers)
    head = {"id": f"chatcmpl-{number}", "object": "chat.completion.chunk", "created": 0, "model": body.get("model", "")}

    def chunk(delta: Mapping[str, Any], reason: str | None = None) -> Event:
        return "", {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": reason}]}

    yield chunk({"role": "assistant", "content": answer.text})
    if answer.tool:
        yield chunk({"tool_calls": [{"index": 0, **_chat_call(answer, number)}]})
    yield chunk({}, "tool_calls" if answer.tool else "stop")
    yield "", {**head, "choices": [], "usage": _chat_usage()}
    yield "", "[DONE]"


def chat_whole(body: Mapping[str, Any], answer: Answer) -> dict[str, Any]:
    """OpenAI chat completions, in one piece."""
    number = next(_numbers)
    calls = {"tool_calls": [_chat_call(answer, number)]} if answer.tool else {}
    message = {"role": "assistant", "content": answer.text or None, **calls}
    choice = {"index": 0, "message": message, "finish_reason": "tool_calls" if answer.tool else "stop"}
    head = {"id": f"chatcmpl-{number}", "object": "chat.completion", "created": 0, "model": body.get("model", "")}
    return {**head, "choices": [choice], "usage": _chat_usage()}


def _chat_call(answer: Answer, number: int) -> dict[str, Any]:
    function = {"name": answer.tool, "arguments": answer.json}
    return {"id": f"call_{number}", "type": "function", "function": function}


def _chat_usage() -> dict[str, int]:
    return {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120}


def responses(body: Mapping[str, Any], answer: Answer) -> Iterator[Event]:
    """OpenAI responses, as a stream."""
    whole = responses_whole(body, answer)
    item = whole["output"][0]
    numbers = itertools.count()

    def event(kind: str, **fields: Any) -> Event:
        return kind, {"type": kind, "sequence_number": next(numbers), **fields}

    yield event("response.created", response={**whole, "status": "in_progress", "output": []})
    yield event("response.output_item.added", output_index=0, item={**item, "status": "in_progress"})
    if answer.text:
        place = {"item_id": item["id"], "output_index": 0, "content_index": 0}
        yield event("response.output_text.delta", **place, delta=answer.text)
        yield event("response.output_text.done", **place, text=answer.text)
    yield event("response.output_item.done", output_index=0, item=item)
    yield event("response.completed", response=whole)


def responses_whole(body: Mapping[str, Any], answer: Answer) -> dict[str, Any]:
    """OpenAI responses, in one piece."""
    number = next(_numbers)
    usage = {"input_tokens": 100, "output_tokens": 20, "total_tokens": 120}
    head = {"id": f"resp_{number}", "object": "response", "created_at": 0, "model": body.get("model", "")}
    return {**head, "status": "completed", "output": [_item(answer, number)], "usage": usage}


def _item(answer: Answer, number: int) -> dict[str, Any]:
    call = {"call_id": f"call_{number}", "name": answer.tool, "status": "completed"}
    if answer.tool and isinstance(answer.arguments, str):
        return {"type": "custom_tool_call", "id": f"ctc_{number}", **call, "input": answer.arguments}
    if answer.tool:
        return {"type": "function_call", "id": f"fc_{number}", **call, "arguments": answer.json}
    content = [{"type": "output_text", "text": answer.text, "annotations": []}]
    return {"type": "message", "id": f"msg_{number}", "role": "assistant", "status": "completed", "content": content}


def messages(body: Mapping[str, Any], answer: Answer) -> Iterator[Event]:
    """Anthropic messages, as a stream."""
    whole = messages_whole(body, answer)
    block = whole["content"][0]
    start = {**block, "text": ""} if answer.text else {**block, "input": {}}
    text = {"type": "text_delta", "text": answer.text}
    delta = text if answer.text else {"type": "input_json_delta", "partial_json": answer.json}
    stop = {"stop_reason": whole["stop_reason"], "stop_sequence": None}
    rows: Sequence[tuple[str, dict[str, Any]]] = [
        ("message_start", {"message": {**whole, "content": [], "stop_reason": None}}),
        ("content_block_start", {"index": 0, "content_block": start}),
        ("content_block_delta", {"index": 0, "delta": delta}),
        ("content_block_stop", {"index": 0}),
        ("message_delta", {"delta": stop, "usage": whole["usage"]}),
        ("message_stop", {}),
    ]
    for kind, fields in rows:
        yield kind, {"type": kind, **fields}


def messages_whole(body: Mapping[str, Any], answer: Answer) -> dict[str, Any]:
    """Anthropic messages, in one piece."""
    number = next(_numbers)
    call = {"type": "tool_use", "id": f"toolu_{number}", "name": answer.tool, "input": answer.arguments}
    block = call if answer.tool else {"type": "text", "text": answer.text}
    head = {"id": f"msg_{number}", "type": "message", "role": "assistant", "model": body.get("model", "")}
    end = {"stop_reason": "tool_use" if answer.tool else "end_turn", "stop_sequence": None}
    return {**head, "content": [block], **end, "usage": {"input_tokens": 100, "output_tokens": 20}}


def as_stream(events: Iterator[Event]) -> bytes:
    """Return server-sent events."""
    lines: list[str] = []
    for name, data in events:
        lines += [f"event: {name}\n"] if name else []
        lines.append(f"data: {data if isinstance(data, str) else json.dumps(data)}\n\n")
    return "".join(lines).encode()


WIRES = {
    "/chat/completions": (chat, chat_whole),
    "/responses": (responses, responses_whole),
    "/messages": (messages, messages_whole),
}
"""By the end of the path of a request."""
