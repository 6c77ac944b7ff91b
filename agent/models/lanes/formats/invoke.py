"""Read the stream of Bedrock's InvokeModel API: frames around events in the format of each model's vendor."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING, Any, cast

import msgspec

from ...reported_usage import ReportedUsage, figure
from ..anthropic import AnthropicReader
from ..chat_chunks import FINISHES, ChatReader, as_dicts, converted
from ..server_sent_events import BrokenStream, decode
from .converse import ConverseEvent, ConverseReader
from .frames import FrameStream

if TYPE_CHECKING:
    from ...answer import Answer, Shown

_METRICS = "amazon-bedrock-invocationMetrics"
_TEXTS = ("outputText", "generation", "text", "completion")
"""Fields with the text: Titan, Llama, Cohere Command, Claude 2."""
_REASONS = ("completionReason", "stop_reason", "finish_reason")


class InvokeReader:
    """Reads the stream of one answer into an `Answer`."""

    def __init__(self, answer: Answer) -> None:
        self._answer = answer
        self._frames = FrameStream()
        self._claude = AnthropicReader(answer)
        self._chat = ChatReader(answer)
        self._nova = ConverseReader(answer)
        self._metrics = ReportedUsage()

    @property
    def done(self) -> bool:
        """Whether the last event has arrived."""
        return self._claude.done or self._nova.done or bool(self._metrics)

    def feed(self, data: bytes) -> Iterator[Shown]:
        """Read new data. Raises BrokenStream, ErrorInStream, TooLong, ModelFault."""
        for frame in self._frames.feed(data):
            try:
                inner = base64.b64decode(decode(frame.payload, _decoder).bytes)
            except binascii.Error as e:
                raise BrokenStream("a frame of the event stream has unexpected content") from e
            yield from self._event(inner)

    def end(self) -> Iterator[Shown]:
        """Store what must be sent back, and Bedrock's usage."""
        for reader in (self._claude, self._chat, self._nova):
            yield from reader.end()
        self._answer.usage |= self._metrics

    def is_complete(self) -> bool:
        """Whether the model gave a finish reason, or Bedrock sent its own count, which comes last."""
        return self._answer.finish is not None or bool(self._metrics)

    def _event(self, inner: bytes) -> Iterator[Shown]:
        event = decode(inner, _events)
        line = b"data: " + inner.replace(b"\n", b" ").replace(b"\r", b" ") + b"\n"
        if "choices" in event:
            yield from self._chat.feed(line)
        elif "type" in event:
            yield from self._claude.feed(line)
        elif nova := [name for name in event if name.startswith(("message", "content", "metadata"))]:
            for name in nova:
                yield from self._nova.read(name, converted(event[name], ConverseEvent, strict=False))
        else:
            yield from self._plain(event)
        if isinstance(metrics := event.get(_METRICS), dict):
            self._count(cast(dict[str, Any], metrics))

    def _plain(self, event: dict[str, Any]) -> Iterator[Shown]:
        """Read an event of a model that only writes text."""
        self._answer.pieces += 1
        for piece in (event, *as_dicts(event.get("outputs"))):
            text = next((piece[n] for n in _TEXTS if isinstance(piece.get(n), str)), "")
            if text:
                yield from self._answer.text(text)
            if reason := next((piece[n] for n in _REASONS if piece.get(n)), None):
                self._answer.finish = FINISHES.get(str(reason).lower(), "stop")

    def _count(self, metrics: dict[str, Any]) -> None:
        self._metrics |= ReportedUsage(
            prompt=figure(metrics, "inputTokenCount"), output=figure(metrics, "outputTokenCount")
        )


class _Chunk(msgspec.Struct):
    bytes: str = ""


@cache
def _decoder() -> msgspec.json.Decoder[_Chunk]:
    return msgspec.json.Decoder(_Chunk)


@cache
def _events() -> msgspec.json.Decoder[dict[str, Any]]:
    return msgspec.json.Decoder(dict[str, Any])
