"""Read the stream of Anthropic's messages API: content blocks by index, then the stop reason and the usage."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any

import msgspec

from ..reported_usage import ReportedUsage, as_mapping, cost_in, figure
from .server_sent_events import ErrorInStream, ReadEvents

if TYPE_CHECKING:
    from ..answer import Answer, Finish, Shown

_FINISHES: dict[str, Finish] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "pause_turn": "stop",
    "tool_use": "tool_calls",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "refusal",
}
_SEALED = frozenset({"thinking", "redacted_thinking"})
"""Blocks that are sent back unchanged, because their signature covers them."""
_INPUTS = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")


class _Block(msgspec.Struct):
    type: str = ""
    text: str = ""
    id: Any = None
    name: Any = None
    input: Any = None
    thinking: str = ""
    signature: str = ""
    data: str = ""


@dataclass(slots=True)
class _Open:
    """A block that is still arriving."""

    begun: _Block
    length: int = 0
    """Number of characters of its text."""
    thinking: list[str] = field(default_factory=list[str])
    signature: list[str] = field(default_factory=list[str])


class _Delta(msgspec.Struct):
    type: str = ""
    text: str = ""
    thinking: str = ""
    signature: str = ""
    partial_json: str = ""
    stop_reason: Any = None


class _Event(msgspec.Struct):
    type: str = ""
    index: int = 0
    message: Any = None
    content_block: _Block | None = None
    delta: _Delta | None = None
    usage: Any = None
    error: Any = None


class AnthropicReader:
    """Reads the stream of one answer into an `Answer`."""

    def __init__(self, answer: Answer) -> None:
        self._answer = answer
        self._events = ReadEvents(_decoder, self._read)
        self._open: dict[int, _Open] = {}
        self._order: list[dict[str, Any]] = []
        """Blocks of the answer in order: sealed ones complete, for texts only the length, for calls only the index."""
        self._inputs: dict[str, int] = {}
        self._calls = 0
        self.done = False
        """Whether the message is over."""

    def feed(self, data: bytes) -> Iterator[Shown]:
        """Read new data. Raises BrokenStream, ErrorInStream, TooLong, ModelFault."""
        yield from self._events.feed(data)

    def end(self) -> Iterator[Shown]:
        """Read a last line without line end, and store the sealed blocks."""
        yield from self._events.end()
        if any(block["type"] in _SEALED for block in self._order):
            self._answer.opaque["blocks"] = self._order

    def is_complete(self) -> bool:
        """Whether the message has its stop reason. A usage can arrive earlier, so it does not count."""
        return self._answer.finish is not None

    def _read(self, event: _Event) -> Iterator[Shown]:
        if self.done:
            return
        self._answer.pieces += event.type != "ping"
        match event.type:
            case "message_start":
                self._count(as_mapping(event.message).get("usage"))
            case "content_block_start" if event.content_block is not None:
                yield from self._begin(event.index, event.content_block)
            case "content_block_delta" if event.delta is not None:
                yield from self._add(event.index, event.delta)
            case "content_block_stop":
                self._close(event.index)
            case "message_delta":
                if event.delta is not None and event.delta.stop_reason:
                    self._answer.finish = _FINISHES.get(str(event.delta.stop_reason), "stop")
                self._count(event.usage)
            case "message_stop":
                self.done = True
            case "error":
                raise ErrorInStream(event.error or "the server reported an error")
            case _:
                pass

    def _begin(self, index: int, block: _Block) -> Iterator[Shown]:
        self._open[index] = _Open(block)
        if block.type == "tool_use":
            self._answer.call_piece(index, str(block.id or index), str(block.name or ""), block.input or None)
        yield from self._add(index, _Delta(text=block.text, thinking=block.thinking, signature=block.signature))

    def _add(self, index: int, delta: _Delta) -> Iterator[Shown]:
        block = self._open.get(index)
        if block is None:
            return
        if delta.text:
            block.length += len(delta.text)
            yield from self._answer.text(delta.text)
        if delta.thinking:
            block.thinking.append(delta.thinking)
            yield from self._answer.reasoning(delta.thinking)
        if delta.signature:
            block.signature.append(delta.signature)
        if delta.partial_json and block.begun.type == "tool_use":
            self._answer.call_piece(index, None, "", delta.partial_json)

    def _close(self, index: int) -> None:
        block = self._open.pop(index, None)
        if block is None:
            return
        match block.begun.type:
            case "thinking":
                thinking, signature = "".join(block.thinking), "".join(block.signature)
                self._order.append({"type": "thinking", "thinking": thinking, "signature": signature})
            case "redacted_thinking":
                self._order.append({"type": "redacted_thinking", "data": block.begun.data})
            case "text":
                self._order.append({"type": "text", "length": block.length})
            case "tool_use":
                self._order.append({"type": "tool_use", "place": self._calls})
                self._calls += 1
            case _:
                pass

    def _count(self, usage: object) -> None:
        """Replace earlier figures by later ones: those of `message_delta` are totals.

        The input excludes tokens that were read from the cache or written to it. If all of them are 0, the event does
        not report the input.
        """
        given = as_mapping(usage)
        if any(figure(given, name) for name in _INPUTS):
            self._inputs |= {name: figure(given, name) for name in _INPUTS if given.get(name) is not None}
        plain, written, cached = (self._inputs.get(name, 0) for name in _INPUTS)
        output = figure(given, "output_tokens")
        self._answer.usage |= ReportedUsage(
            prompt=plain + written + cached, output=output, cached=cached, written=written, usd=cost_in(given)
        )


@cache
def _decoder() -> msgspec.json.Decoder[_Event]:
    return msgspec.json.Decoder(_Event)
