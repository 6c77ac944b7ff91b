"""Read the stream of Google's `streamGenerateContent?alt=sse`: parts of one candidate, and the usage so far."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING, Any

import msgspec

from ....protocol import ModelFault
from ...reported_usage import ReportedUsage, cost_in, later_figures
from ..server_sent_events import ErrorInStream, ReadEvents

if TYPE_CHECKING:
    from ...answer import Answer, Finish, Shown

_FINISHES: dict[str, Finish] = {
    "STOP": "stop",
    "MAX_TOKENS": "length",
    "BLOCKLIST": "refusal",
    "IMAGE_SAFETY": "refusal",
    "LANGUAGE": "refusal",
    "MODEL_ARMOR": "refusal",
    "PROHIBITED_CONTENT": "refusal",
    "RECITATION": "refusal",
    "SAFETY": "refusal",
    "SPII": "refusal",
    "MALFORMED_FUNCTION_CALL": "error",
    "MALFORMED_RESPONSE": "error",
    "UNEXPECTED_TOOL_CALL": "error",
    "TOO_MANY_TOOL_CALLS": "error",
}
_COUNTS = (
    "promptTokenCount",
    "toolUsePromptTokenCount",
    "candidatesTokenCount",
    "thoughtsTokenCount",
    "cachedContentTokenCount",
    "totalTokenCount",
)


class _FunctionCall(msgspec.Struct):
    name: Any = None
    args: Any = None
    id: Any = None


class _Part(msgspec.Struct):
    text: str = ""
    thought: bool = False
    thoughtSignature: str = ""
    functionCall: _FunctionCall | None = None


class _Content(msgspec.Struct):
    parts: list[_Part] | None = None


class _Candidate(msgspec.Struct):
    content: _Content | None = None
    finishReason: Any = None
    index: int = 0


class _Feedback(msgspec.Struct):
    blockReason: Any = None
    blockReasonMessage: str = ""


class _Event(msgspec.Struct):
    candidates: list[_Candidate] | None = None
    usageMetadata: Any = None
    promptFeedback: _Feedback | None = None
    error: Any = None


class GeminiReader:
    """Reads the stream of one answer into an `Answer`."""

    def __init__(self, answer: Answer) -> None:
        self._answer = answer
        self._events = ReadEvents(_decoder, self._read)
        self._calls: dict[str, str] = {}
        self._text = ""
        self._counts: dict[str, int] = dict.fromkeys(_COUNTS, 0)
        self.done = False

    def feed(self, data: bytes) -> Iterator[Shown]:
        """Read new data. Raises BrokenStream, ErrorInStream, TooLong, ModelFault."""
        yield from self._events.feed(data)

    def end(self) -> Iterator[Shown]:
        """Read a last line without line end, and store the signatures."""
        yield from self._events.end()
        if self._calls or self._text:
            self._answer.opaque["signatures"] = {"text": self._text, "calls": self._calls}

    def is_complete(self) -> bool:
        """Whether the candidate has its finish reason; every event has a usage, so that does not count."""
        return self._answer.finish is not None

    def _read(self, event: _Event) -> Iterator[Shown]:
        if event.error:
            raise ErrorInStream(event.error)
        self._answer.pieces += 1
        self._count(event.usageMetadata)
        if event.promptFeedback is not None and event.promptFeedback.blockReason:
            words = event.promptFeedback.blockReasonMessage or str(event.promptFeedback.blockReason)
            raise ModelFault("filtered", f"the provider's filter refuses the prompt: {words}")
        for candidate in event.candidates or ():
            if candidate.index != 0:  # only one is ever requested
                continue
            for part in (candidate.content.parts if candidate.content else None) or ():
                yield from self._take(part)
            if candidate.finishReason and candidate.finishReason != "FINISH_REASON_UNSPECIFIED":
                self._answer.finish = _FINISHES.get(str(candidate.finishReason), "stop")

    def _take(self, part: _Part) -> Iterator[Shown]:
        if part.text:
            yield from self._answer.reasoning(part.text) if part.thought else self._answer.text(part.text)
        if (call := part.functionCall) is not None:  # it always comes whole
            place = len(self._answer.calls)
            self._answer.call_piece(place, str(call.id) if call.id else None, str(call.name or ""), call.args)
            if part.thoughtSignature:
                self._calls[str(place)] = part.thoughtSignature
        elif part.thoughtSignature and not part.thought:
            self._text = part.thoughtSignature

    def _count(self, usage: object) -> None:
        """Replace earlier figures by later ones: an event can report only some of them."""
        self._counts = later_figures(self._counts, usage)
        prompt, used, output, thoughts, cached, total = (self._counts[name] for name in _COUNTS)
        self._answer.usage |= ReportedUsage(
            prompt=prompt + used,
            output=output + thoughts,
            total=total,
            cached=cached,
            reasoning=thoughts,
            usd=cost_in(usage),
        )


@cache
def _decoder() -> msgspec.json.Decoder[_Event]:
    return msgspec.json.Decoder(_Event)
