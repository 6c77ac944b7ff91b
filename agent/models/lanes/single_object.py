"""Read an answer that comes as one JSON object although a stream was requested: some gateways do that."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, cast

import msgspec

from ...protocol.text.broken_json import BROKEN_JSON
from .chat_chunks import as_dicts
from .server_sent_events import BOM, ErrorInStream, NotAStream

if TYPE_CHECKING:
    from ..answer import Shown
    from ..provider_traits import WireFormat
    from .wire_reader import Reader


def feed_object(wire: WireFormat, reader: Reader, body: bytes, content_type: str) -> Iterator[Shown]:
    """Read the object as if it had been streamed. Raises NotAStream, ErrorInStream."""
    body = body.removeprefix(BOM)
    start = body[:200].decode(errors="replace")
    try:
        value = msgspec.json.decode(body)
    except BROKEN_JSON as e:
        raise NotAStream(f"it sent {content_type} instead of a stream: {start}") from e
    given = cast(dict[str, Any], value) if isinstance(value, dict) else {}
    if given.get("error"):
        raise ErrorInStream(given["error"])
    events = _EVENTS[wire](given) if wire in _EVENTS else None
    if events is None:
        raise NotAStream(f"it sent {content_type} instead of a stream: {start}")
    for event in events:
        yield from reader.feed(b"data: " + msgspec.json.encode(event) + b"\n")
    yield from reader.end()


def _chat(given: dict[str, Any]) -> list[dict[str, Any]] | None:
    return [given] if isinstance(given.get("choices"), list) else None


def _anthropic(message: dict[str, Any]) -> list[dict[str, Any]] | None:
    if not isinstance(message.get("content"), list):
        return None
    events: list[dict[str, Any]] = [{"type": "message_start", "message": {"usage": message.get("usage")}}]
    for index, block in enumerate(as_dicts(message["content"])):
        events.append({"type": "content_block_start", "index": index, "content_block": block})
        events.append({"type": "content_block_stop", "index": index})
    events.append({"type": "message_delta", "delta": {"stop_reason": message.get("stop_reason")}})
    return events


def _gemini(given: dict[str, Any]) -> list[dict[str, Any]] | None:
    return [given] if "candidates" in given or "promptFeedback" in given else None


def _responses(response: dict[str, Any]) -> list[dict[str, Any]] | None:
    if not isinstance(response.get("output"), list):
        return None
    items = as_dicts(response["output"])
    events: list[dict[str, Any]] = [
        {"type": "response.output_item.done", "output_index": i, "item": item} for i, item in enumerate(items)
    ]
    return [*events, {"type": f"response.{response.get('status')}", "response": response}]


_EVENTS: dict[str, Callable[[dict[str, Any]], list[dict[str, Any]] | None]] = {
    "chat": _chat,
    "anthropic": _anthropic,
    "gemini": _gemini,
    "responses": _responses,
}
"""Return the events of an equivalent stream; None for an object that is not an answer."""
