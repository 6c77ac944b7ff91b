"""Read the stream of Bedrock's Converse API: content blocks by index, then the stop reason and the usage."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any

import msgspec

from ...reported_usage import ReportedUsage, figure
from ..chat_chunks import converted
from ..server_sent_events import decode
from .frames import FrameStream

if TYPE_CHECKING:
    from ...answer import Answer, Finish, Shown

_FINISHES: dict[str, Finish] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "tool_use": "tool_calls",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "guardrail_intervened": "refusal",
    "content_filtered": "refusal",
    "malformed_model_output": "error",
    "malformed_tool_use": "error",
}


class _ToolUse(msgspec.Struct):
    toolUseId: Any = None
    name: Any = None
    input: Any = None


class _Reasoning(msgspec.Struct):
    text: str = ""
    signature: str = ""
    redactedContent: str = ""


class _Delta(msgspec.Struct):
    text: str = ""
    toolUse: _ToolUse | None = None
    reasoningContent: _Reasoning | None = None


class _Thought(msgspec.Struct):
    thinking_tokens: int = 0


class _MoreUsage(msgspec.Struct):
    output_tokens_details: _Thought = msgspec.field(default_factory=_Thought)


class _More(msgspec.Struct):
    """Claude's own usage, which litellm requests."""

    usage: _MoreUsage = msgspec.field(default_factory=_MoreUsage)


class ConverseEvent(msgspec.Struct):
    """One event of any type."""

    contentBlockIndex: int = 0
    start: _Delta | None = None
    delta: _Delta | None = None
    stopReason: Any = None
    additionalModelResponseFields: Any = None
    usage: Any = None


class ConverseReader:
    """Reads the stream of one answer into an `Answer`."""

    def __init__(self, answer: Answer) -> None:
        self._answer = answer
        self._frames = FrameStream()
        self._blocks = _Blocks()
        self._thought = 0
        """Tokens of reasoning, if Claude counted them."""
        self.done = False
        """Whether the usage, which comes last, has arrived."""

    def feed(self, data: bytes) -> Iterator[Shown]:
        """Read new data. Raises BrokenStream, ErrorInStream, TooLong, ModelFault."""
        for frame in self._frames.feed(data):
            yield from self.read(frame.event, decode(frame.payload, decoder))

    def end(self) -> Iterator[Shown]:
        """Store the sealed blocks in the answer; nothing is left to show."""
        if blocks := self._blocks.sealed():
            self._answer.opaque["blocks"] = blocks
        yield from ()

    def is_complete(self) -> bool:
        """Whether the message has its stop reason."""
        return self._answer.finish is not None

    def read(self, kind: str, event: ConverseEvent) -> Iterator[Shown]:
        """Read one event of the type `kind`."""
        self._answer.pieces += 1
        match kind:
            case "contentBlockStart" | "contentBlockDelta":
                for delta in (event.start, event.delta):
                    if delta is not None:
                        yield from self._add(event.contentBlockIndex, delta)
            case "messageStop":
                self._answer.finish = _FINISHES.get(str(event.stopReason), "stop")
                if event.additionalModelResponseFields:
                    more = converted(event.additionalModelResponseFields, _More, strict=False)
                    self._thought = more.usage.output_tokens_details.thinking_tokens
            case "metadata":
                self._count(event.usage)
                self.done = True
            case _:
                pass

    def _add(self, index: int, delta: _Delta) -> Iterator[Shown]:
        if delta.text:
            self._blocks.text(index, delta.text)
            yield from self._answer.text(delta.text)
        if (call := delta.toolUse) is not None:
            self._blocks.call(index)
            call_id = str(call.toolUseId) if call.toolUseId else None
            self._answer.call_piece(index, call_id, str(call.name or ""), call.input)
        if (thought := delta.reasoningContent) is not None:
            if thought.redactedContent:
                self._blocks.redacted(index, thought.redactedContent)
            if thought.text or thought.signature:
                self._blocks.thinking(index, thought.text, thought.signature)
            if thought.text:
                yield from self._answer.reasoning(thought.text)

    def _count(self, usage: object) -> None:
        """Store the usage. `inputTokens` excludes tokens that were read from the cache or written to it."""
        cached = figure(usage, "cacheReadInputTokens", "cacheReadInputTokenCount")
        written = figure(usage, "cacheWriteInputTokens", "cacheWriteInputTokenCount")
        output = figure(usage, "outputTokens")
        self._answer.usage |= ReportedUsage(
            prompt=figure(usage, "inputTokens") + cached + written,
            output=output,
            total=figure(usage, "totalTokens"),
            cached=cached,
            written=written,
            reasoning=min(self._thought, output),
        )


@dataclass(slots=True)
class _OpenBlock:
    kind: str = ""
    length: int = 0
    thinking: list[str] = field(default_factory=list[str])
    signature: list[str] = field(default_factory=list[str])
    data: list[str] = field(default_factory=list[str])


class _Blocks:
    """Collects the blocks of one answer by their index. Claude needs the sealed ones back complete, on every cloud.

    A sealed block is signed or encrypted reasoning. Texts are stored by length and calls by place, as in
    `lanes/anthropic.py`.
    """

    def __init__(self) -> None:
        self._blocks: dict[int, _OpenBlock] = {}

    def text(self, index: int, text: str) -> None:
        """Add a piece of text."""
        block = self._at(index, "text")
        block.length += len(text)

    def thinking(self, index: int, text: str = "", signature: str = "") -> None:
        """Add a piece of readable reasoning, or of its signature."""
        block = self._at(index, "thinking")
        block.thinking.append(text)
        block.signature.append(signature)

    def redacted(self, index: int, data: str) -> None:
        """Add a piece of encrypted reasoning."""
        self._at(index, "redacted_thinking").data.append(data)

    def call(self, index: int) -> None:
        """Add the beginning of a call."""
        self._at(index, "tool_use")

    def sealed(self) -> list[dict[str, Any]]:
        """Return the blocks in order; empty if no block is sealed."""
        out: list[dict[str, Any]] = []
        calls = 0
        for block in self._blocks.values():
            match block.kind:
                case "text":
                    out.append({"type": "text", "length": block.length})
                case "tool_use":
                    out.append({"type": "tool_use", "place": calls})
                    calls += 1
                case "redacted_thinking":
                    out.append({"type": block.kind, "data": "".join(block.data)})
                case _ if signature := "".join(block.signature):
                    thinking = "".join(block.thinking)
                    out.append({"type": "thinking", "thinking": thinking, "signature": signature})
                case _:
                    pass  # without a signature the provider refuses it
        return out if any(b["type"] not in ("text", "tool_use") for b in out) else []

    def _at(self, index: int, kind: str) -> _OpenBlock:
        block = self._blocks.setdefault(index, _OpenBlock())
        block.kind = block.kind or kind
        return block


@cache
def decoder() -> msgspec.json.Decoder[ConverseEvent]:
    """Return the decoder for a frame's payload."""
    return msgspec.json.Decoder(ConverseEvent)
