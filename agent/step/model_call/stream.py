"""Make one attempt at a model call: record the parts of its answer, and charge what it cost."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import msgspec

from ...budget.ledger import charged_for
from ...journal.stream_redactor import StreamRedactor
from ...protocol import (
    CallPart,
    Clock,
    EndPart,
    FinishKind,
    Opaque,
    OpaquePart,
    Part,
    PromptRead,
    PromptReadPart,
    ReasoningArrived,
    ReasoningKept,
    ReasoningPart,
    ReplyFinished,
    Request,
    TextArrived,
    TextPart,
    Tokens,
    ToolCall,
    UsagePart,
)
from ...protocol.text.plan_text import plan_in_answer
from ..resources.growing_pauses import GrowingPauses
from .written_ending import calls_of_ending

if TYPE_CHECKING:
    from ...protocol import CallAdmitted
    from ...state.recorder import Events
    from ..formats.text_edits import TextEdits
    from ..resources.run_context import RunContext

FLUSH_SECONDS = 1 / 30
"""Seconds between two writes of text to the journal: one event for each token costs seven times as much."""


@dataclass(slots=True)
class Reply:
    """The answer to one call."""

    calls: list[ToolCall] = field(default_factory=list[ToolCall])
    text: str = ""
    finish: FinishKind = "stop"


class Stream:
    """One attempt at a model call: it merges and records the parts of the answer, and charges what it cost."""

    def __init__(
        self,
        ctx: RunContext,
        events: Events,
        admitted: CallAdmitted,
        edits: TextEdits | None = None,
        *,
        written: str | None = None,
    ) -> None:
        """`edits` makes calls of the answer's text, in a file format.

        `written`: the tool whose call is read from the text of an answer without calls.
        """
        self._written = written
        self._ctx, self._events, self._admitted = ctx, events, admitted
        self._edits = edits
        self._is_ended = False
        """The stream was ended before its end, because the answer was complete."""
        self.began = False
        self._charged = False
        self._usage: UsagePart | None = None
        """What the provider has reported so far."""
        self._reply = Reply()
        self._reasoning = ""
        self._read: PromptReadPart | None = None
        redactor = ctx.journal.redactor
        self._text = Merger(lambda text: events.record(TextArrived(text=text)), ctx.clock, StreamRedactor(redactor))
        self._thought = Merger(
            lambda text: events.record(ReasoningArrived(text=text)), ctx.clock, StreamRedactor(redactor)
        )

    async def run(self, request: Request) -> Reply:
        """Return the whole reply, charged and recorded. Raises ModelFault; what had arrived by then is recorded.

        The model is a `RemoteModel` (`models/remote_model.py`), except in tests and for a run without one.
        """
        end, opaque = await self._receive(self._ctx.models.current.stream(request))
        self.charge(None, is_cut=self._is_ended and not self._ctx.models.current.local)
        self._reply.finish = "length" if end and end.truncated_call else end.finish if end else "stop"
        if opaque is not None and self._edits is None:
            self._keep(opaque, self._usage)
        if self._edits is not None:
            read, self._reply.calls = await asyncio.to_thread(self._edits.read, self._reply.text)
            if read is not None:
                self._events.record(read)
        elif self._written is not None and not self._reply.calls and self._reply.finish == "stop":
            text, is_plan = self._reply.text, self._written == "propose_plan"
            self._reply.calls = calls_of_plan(text) if is_plan else calls_of_ending(self._written, text)
        self._events.record(ReplyFinished(finish=self._reply.finish, calls=len(self._reply.calls)))
        return self._reply

    async def _receive(self, parts: AsyncIterator[Part]) -> tuple[EndPart | None, Opaque | None]:
        """Record the parts as they arrive. Returns the end and the provider's own data, if they came."""
        end: EndPart | None = None
        opaque: Opaque | None = None
        reading = GrowingPauses(self._record_reading)
        try:
            async for part in parts:
                if isinstance(part, PromptReadPart):
                    self._read = part
                    reading.changed()
                    continue
                if isinstance(part, UsagePart):
                    self._usage = part
                    continue
                reading.stop()
                self.began = True
                match part:
                    case TextPart(text=text):
                        self._thought.end()
                        self._reply.text += text
                        self._text.feed(text)
                        if (
                            ("`" in text or "\n" in text)
                            and self._edits is not None
                            and self._edits.is_complete(self._reply.text)
                        ):
                            self._is_ended = True
                            break
                    case ReasoningPart(text=text):
                        self._text.end()
                        self._reasoning += text
                        self._thought.feed(text)
                    case OpaquePart(opaque=received):
                        opaque = received
                    case CallPart(call=made):
                        self._reply.calls.append(made)
                    case EndPart():
                        end = part
        finally:
            reading.stop()
            self._thought.end()
            self._text.end()
            close = getattr(parts, "aclose", None)
            if close is not None:
                await close()
        return end, opaque

    def _record_reading(self) -> None:
        if self._read is not None:
            self._events.record(PromptRead(read=self._read.read, total=self._read.total))

    def _keep(self, opaque: Opaque, usage: UsagePart | None) -> None:
        """Store the provider's data as a blob, which is sent back byte for byte. No screen or export shows it."""
        data = msgspec.json.encode(opaque.data)
        reported = usage.tokens.reasoning if usage else 0
        tokens = self._ctx.models.current.count_text(self._reasoning) or reported or len(data) // 4
        self._events.record(ReasoningKept(maker=opaque.maker, sha=self._ctx.journal.blobs.keep(data), tokens=tokens))

    def charge(self, reported: UsagePart | None, *, is_cut: bool = False) -> None:
        """Charge what the provider reported, or an estimate from what arrived. A second call does nothing.

        `reported`: what a fault reports. None means what arrived with the stream.

        `is_cut`: the answer was not complete, so that the report may not be final.
        """
        if self._charged:
            return
        self._charged = True
        model = self._ctx.models.current
        calls = "".join(call.tool + call.arguments for call in self._reply.calls)
        arrived = model.count_text(self._reply.text + self._reasoning + calls)
        own = Tokens(self._admitted.prompt_tokens, arrived)
        self._events.record(charged_for(own, reported or self._usage, self._admitted, model, is_cut=is_cut))


def calls_of_plan(text: str) -> list[ToolCall]:
    """Return the call that proposes the plan in an answer in words; small models do not call the tool."""
    plan = plan_in_answer(text)
    if plan is None:
        return []
    arguments = msgspec.json.encode({"steps": plan.lines, "check": plan.check or ""}).decode()
    return [ToolCall("", "propose_plan", arguments, from_text=True)]


class Merger:
    """Merges pieces of text into larger events. A key that is split over pieces stays hidden."""

    def __init__(self, write: Callable[[str], object], clock: Clock, guard: StreamRedactor) -> None:
        self._write, self._clock, self._guard = write, clock, guard
        self._held: list[str] = []
        self._last = float("-inf")
        self._timer: asyncio.TimerHandle | None = None

    def feed(self, text: str) -> None:
        """Add a piece of text. It is written now or within FLUSH_SECONDS."""
        self._held.append(text)
        if self._clock.monotonic() - self._last >= FLUSH_SECONDS:
            self._flush()
        elif self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(FLUSH_SECONDS, self._flush)

    def end(self) -> None:
        """Write everything that is held back, because the text ended or something else follows."""
        self._flush()
        if rest := self._guard.flush():
            self._write(rest)

    def _flush(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._held:
            text, self._held = self._guard.feed("".join(self._held)), []
            self._last = self._clock.monotonic()
            if text:
                self._write(text)
