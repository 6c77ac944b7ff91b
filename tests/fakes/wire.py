"""Turns and requests as they look on the wire of the chat completions API."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from .turns import Call, Turn, split


@dataclass
class Recorded:
    """One request and what became of it."""

    body: dict[str, Any]
    headers: dict[str, str]
    arrived: float
    """Monotonic seconds."""
    usage: dict[str, Any] = field(default_factory=dict)
    """What was billed."""
    last_byte: float | None = None
    closed_early: bool = False
    """The client went away before the answer was whole."""
    complete: bool = False

    @property
    def messages(self) -> list[dict[str, Any]]:
        return self.body["messages"]

    @property
    def tools(self) -> list[str]:
        return [tool["function"]["name"] for tool in self.body.get("tools") or []]

    @property
    def text(self) -> str:
        """All of its messages, to search in."""
        return json.dumps(self.body["messages"], ensure_ascii=False)

    def answer_to(self, call_id_part: str = "") -> str:
        """The newest tool message's text."""
        answers = [m for m in self.messages if m["role"] == "tool" and call_id_part in m["tool_call_id"]]
        return text_of(answers[-1])


def text_of(message: dict[str, Any]) -> str:
    content = message.get("content") or ""
    return content if isinstance(content, str) else "".join(part.get("text", "") for part in content)


def choice(delta: dict[str, Any], reason: str | None = None) -> dict[str, Any]:
    return {"index": 0, "delta": delta, "finish_reason": reason}


def fragments(index: int, call: Call, number: int) -> list[dict[str, Any]]:
    """Name and id in the first, then the arguments a few characters at a time, as providers send them."""
    name = {"name": call.name, "arguments": ""}
    first = {"index": index, "id": call.call_id or f"call_{number}", "type": "function", "function": name}
    return [first, *({"index": index, "function": {"arguments": piece}} for piece in split(call.json))]


def usage(turn: Turn, body: dict[str, Any], factor: float) -> dict[str, Any]:
    size = len(json.dumps(body.get("messages", []))) + len(json.dumps(body.get("tools") or []))
    prompt, out = max(1, int(size / 5 * factor)), turn.billed + turn.reasoning_tokens
    return {
        "prompt_tokens": prompt,
        "completion_tokens": out,
        "total_tokens": prompt + out,
        "prompt_tokens_details": {"cached_tokens": min(turn.cached, prompt)},
        "completion_tokens_details": {"reasoning_tokens": turn.reasoning_tokens},
    }


def whole(head: dict[str, Any], turn: Turn, usage: dict[str, Any], reason: str) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": "".join(turn.pieces) or None}
    if turn.reasoning:
        message["reasoning_content"] = turn.reasoning
    if turn.calls:
        message["tool_calls"] = [
            {"id": c.call_id or f"call_{i}", "type": "function", "function": {"name": c.name, "arguments": c.json}}
            for i, c in enumerate(turn.calls)
        ]
    choice = {"index": 0, "message": message, "finish_reason": reason}
    return {**head, "object": "chat.completion", "choices": [choice], **({} if turn.no_usage else {"usage": usage})}


def http_error(turn: Turn) -> web.Response:
    error = turn.error
    assert error is not None
    if error.body is not None:
        return web.Response(status=error.status, text=error.body, content_type="text/html", headers=error.headers)
    data = {"error": {"message": error.message, "type": error.kind, "code": error.code}}
    return web.json_response(data, status=error.status, headers=error.headers)
