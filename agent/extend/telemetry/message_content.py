"""Conversations and answers as the JSON that the conventions prescribe for `gen_ai.input.messages` and others."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ...protocol.text.shorten_text import middle_cut
from .conventions import MOST_CONTENT

if TYPE_CHECKING:
    from ...protocol import FinishKind
    from ...protocol.messages import Message, ToolCall

_MOST_TASK = 4_000
"""Characters of the first message of the person, which is sent even if there is no room for others."""
_LEAST = 500
"""Characters below which a message is left out, and not cut."""
_FINISHES = {"tool_calls": "tool_call", "refusal": "content_filter"}
"""How the answer ended, where the conventions have another word."""


def text_part(text: str, limit: int = MOST_CONTENT) -> dict[str, Any]:
    """Return a text as a part of a message."""
    return {"type": "text", "content": middle_cut(_valid(text), limit)}


def call_part(call_id: str, tool: str, arguments: Any) -> dict[str, Any]:  # noqa: ANN401 - arguments have any type
    """Return a tool call as a part of a message. Long arguments become a text, which is cut."""
    written = _json(arguments)
    given = arguments if len(written) <= MOST_CONTENT else middle_cut(written, MOST_CONTENT)
    return {"type": "tool_call", "id": _valid(call_id), "name": _valid(tool), "arguments": given}


def input_messages(messages: Sequence[Message]) -> tuple[str, str, int]:
    """Return the system prompt, the other messages as JSON, and how many were left out because of their length.

    The first message of the person and the newest messages stay.
    """
    system = [text_part(one.text) for one in messages if one.role == "system"]
    others = [one for one in messages if one.role != "system"]
    kept, room = list[dict[str, Any]](), MOST_CONTENT - min(_MOST_TASK, MOST_CONTENT)
    for at, one in reversed(list(enumerate(others))):
        limit = room if at else room + _MOST_TASK
        written = _message(one)
        if len(_json(written)) > limit:
            if limit < _LEAST and at:
                kept = [_message(others[0], _MOST_TASK), *kept]
                break
            written = _message(one, max(limit, _LEAST))
        kept = [written, *kept]
        room -= len(_json(written))
    return _json(system) if system else "", _json(kept), len(others) - len(kept)


def output_message(text: str, reasoning: str, calls: Sequence[dict[str, Any]], finish: FinishKind | None) -> str:
    """Return the answer of the model as JSON, or an empty text if it has no content. `calls`: see `call_part`."""
    parts: list[dict[str, Any]] = []
    if reasoning:
        parts.append({"type": "reasoning", "content": middle_cut(_valid(reasoning), MOST_CONTENT)})
    if text:
        parts.append(text_part(text))
    parts += calls
    said = {"role": "assistant", "parts": parts, "finish_reason": _FINISHES.get(finish or "", finish or "error")}
    return _json([said]) if parts else ""


def _message(one: Message, limit: int = MOST_CONTENT) -> dict[str, Any]:
    """Return a message with texts of at most `limit` characters in sum, about."""
    if one.role == "tool":
        response = middle_cut(_valid(one.text), limit)
        return {
            "role": "tool",
            "parts": [{"type": "tool_call_response", "id": one.call_id or "", "response": response}],
        }
    parts = [text_part(one.text, limit)] if one.text else []
    parts += [
        {"type": "file", "modality": "image", "mime_type": image.media, "file_id": image.sha} for image in one.images
    ]
    share = max(_LEAST // 4, limit // (len(one.calls) + 1))
    parts += [_asked(call, share) for call in one.calls]
    return {"role": one.role, "parts": parts}


def _asked(call: ToolCall, limit: int) -> dict[str, Any]:
    if len(call.arguments) > limit:
        return call_part(call.call_id, call.tool, middle_cut(call.arguments, limit))
    try:
        return call_part(call.call_id, call.tool, json.loads(call.arguments))
    except (ValueError, RecursionError):
        return call_part(call.call_id, call.tool, call.arguments)


def _valid(text: str) -> str:
    return text.encode(errors="replace").decode()


def _json(value: Any) -> str:  # noqa: ANN401 - parsed arguments have any type
    return _valid(json.dumps(value, ensure_ascii=False, default=str))
