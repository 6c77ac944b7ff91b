"""An answer that comes as one JSON object although a stream was asked for: some gateways do that."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

import msgspec

from ..answer import Answer, Shown
from .anthropic import AnthropicReader
from .chat_chunks import ChatReader, as_dicts
from .events import ErrorInStream, NotAStream


def feed_whole(wire: str, body: bytes, content_type: str, answer: Answer) -> Iterator[Shown]:
    """Read the object as if it had been streamed. Raises NotAStream, ErrorInStream."""
    start = body[:200].decode(errors="replace")
    try:
        value = msgspec.json.decode(body)
    except (msgspec.DecodeError, RecursionError) as e:
        raise NotAStream(f"it sent {content_type} instead of a stream: {start}") from e
    given = cast(dict[str, Any], value) if isinstance(value, dict) else {}
    if given.get("error"):
        raise ErrorInStream(given["error"])
    if wire == "chat" and isinstance(given.get("choices"), list):
        reader = ChatReader(answer)
        yield from reader.feed(b"data: " + msgspec.json.encode(given) + b"\n")
        yield from reader.end()
    elif wire == "anthropic" and isinstance(given.get("content"), list):
        yield from _anthropic(given, AnthropicReader(answer))
    else:
        raise NotAStream(f"it sent {content_type} instead of a stream: {start}")


def _anthropic(message: dict[str, Any], reader: AnthropicReader) -> Iterator[Shown]:
    events: list[dict[str, Any]] = [{"type": "message_start", "message": {"usage": message.get("usage")}}]
    for index, block in enumerate(as_dicts(message["content"])):
        events.append({"type": "content_block_start", "index": index, "content_block": block})
        events.append({"type": "content_block_stop", "index": index})
    events.append({"type": "message_delta", "delta": {"stop_reason": message.get("stop_reason")}})
    for event in events:
        yield from reader.feed(b"data: " + msgspec.json.encode(event) + b"\n")
    yield from reader.end()
