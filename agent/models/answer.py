"""Collect one streamed answer: text, reasoning, complete calls, opaque parts, usage, and how it ended.

The readers of the wire formats call it; nothing here depends on a format.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Literal

from ..protocol import (
    CallPart,
    EndPart,
    ModelFault,
    Opaque,
    OpaquePart,
    PromptReadPart,
    ReasoningPart,
    TextPart,
    UsagePart,
)
from .call_fragments import Calls
from .reported_usage import ReportedUsage

if TYPE_CHECKING:
    from .written_calls.call_reader import CallReader

MOST_REPEATS = 100
"""Repetitions in a row of one piece of more than two characters that end an answer (litellm's own limit)."""
MOST_CALLS = 128
"""Most calls in one answer; a model that sends more repeats itself."""
_CHARS_PER_TOKEN = 32
_LEAST_CHARS = 65_536

Shown = PromptReadPart | TextPart | ReasoningPart
Finish = Literal["stop", "tool_calls", "length", "refusal", "error"]
"""How the answer ended, in the provider's words."""


class TooLong(Exception):
    """The answer is far longer than allowed, or has more than `MOST_CALLS` calls."""


class Answer:
    """Collects one answer. The methods that receive text return what can be shown immediately."""

    def __init__(self, *, max_tokens: int, call_reader: CallReader | None = None) -> None:
        self.calls = Calls()
        self.finish: Finish | None = None
        """How the answer ended, or None if the provider did not report it."""
        self.usage = ReportedUsage()
        """What the provider has reported so far."""
        self.usage_so_far = ReportedUsage()
        """What a server that reports in each piece has counted up to the newest one. It does not show an end."""
        self.pieces = 0
        """Number of pieces that arrived, without those that only keep the connection alive."""
        self.opaque: dict[str, Any] = {}
        """JSON data that the provider needs back with this message."""
        self.sent: dict[str, Any] = {}
        """Optional fields of the request that the server could refuse."""
        self._call_reader = call_reader
        self._room = max(_LEAST_CHARS, max_tokens * _CHARS_PER_TOKEN)
        self._too_long = False
        self._last, self._same = "", 0
        self._has_content = False
        self._refused = False

    @property
    def begun(self) -> bool:
        """Whether the first piece of the answer arrived."""
        return self.pieces > 0

    def text(self, text: str) -> list[Shown]:
        """Add a piece of the answer's text. Raises ModelFault if the model repeats itself endlessly, TooLong."""
        self._check_repeats(text)
        parts: list[Shown] = [*self._call_reader.feed(text)] if self._call_reader else [TextPart(text)]
        self._has_content = self._has_content or bool(parts)
        return parts

    def reasoning(self, text: str) -> list[Shown]:
        """Add a piece of readable reasoning. Raises ModelFault if the model repeats itself endlessly, TooLong."""
        self._check_repeats(text)
        self._has_content = True
        return [ReasoningPart(text)]

    def refusal(self, text: str) -> list[Shown]:
        """Add a piece of the text with which the model refuses."""
        self._refused = True
        self._has_content = True
        return [TextPart(text)]

    def call_piece(self, index: object, call_id: str | None, name: str, arguments: object) -> None:
        """Add a fragment of a call. Raises TooLong."""
        if len(self.calls) > MOST_CALLS:
            self._stop_reading()
        self._use_room(self.calls.feed(index, call_id, name, arguments))

    def end(self, provider: str) -> Iterator[TextPart | ReasoningPart | CallPart | OpaquePart | UsagePart | EndPart]:
        """Yield the parts that are known at the end of the stream. `provider`: it can read the opaque parts."""
        calls, cut = self.calls.complete(cut_by_length=self.finish == "length" or self._too_long)
        calls, cut = calls[:MOST_CALLS], cut or len(calls) > MOST_CALLS
        if self._call_reader is not None:
            rest, written = self._call_reader.flush()
            self._has_content = self._has_content or bool(rest)
            yield from rest
            calls = calls or written[:MOST_CALLS]
        if self.opaque and not cut:
            yield OpaquePart(Opaque(maker=provider, data=self.opaque))
        yield from (CallPart(call) for call in calls)
        if usage := self.usage_so_far | self.usage:
            yield usage.part()
        yield EndPart(self._finish_kind(bool(calls)), truncated_call=cut)

    def _finish_kind(self, has_calls: bool) -> Literal["stop", "tool_calls", "length", "empty", "refusal"]:
        if self.finish == "length" or self._too_long:
            return "length"
        if self._refused or self.finish == "refusal":
            return "refusal"
        if has_calls:
            return "tool_calls"
        return "stop" if self._has_content else "empty"

    def _check_repeats(self, text: str) -> None:
        self._use_room(len(text))
        if text != self._last:
            self._last, self._same = text, 1
            return
        self._same += 1
        if self._same >= MOST_REPEATS and len(text) > 2:
            raise ModelFault("chant", f"the model repeats the same piece again and again: {text[:40]!r}")

    def _use_room(self, characters: int) -> None:
        self._room -= characters
        if self._room < 0:
            self._stop_reading()

    def _stop_reading(self) -> None:
        self._too_long = True
        raise TooLong
