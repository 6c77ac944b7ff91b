"""One model call: admitted, streamed into the journal, charged, and tried again where a fault allows it."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from ..journal import StreamRedactor
from ..protocol import (
    CallAdmitted,
    CallPart,
    Charged,
    Clock,
    ContextTrimmed,
    EndPart,
    Fault,
    Interrupted,
    ModelFault,
    ReasoningArrived,
    ReasoningPart,
    Record,
    ReplyFinished,
    Request,
    TextArrived,
    TextPart,
    Tokens,
    ToolCall,
    ToolSpec,
    UsagePart,
)
from ..stops import Exhausted, Grant, Margin, admit, reserve_for
from .context import Fitted, fit, output_room
from .kit import Kit, PersonInterrupted

RETRIES = 3
ASK_ABOVE = 60.0
"""Seconds: a longer wait that a provider asks for is not waited out silently."""
FLUSH_SECONDS = 1 / 30
"""Text reaches the journal at most this often: one event a token costs seven times as much."""
_BILLED = frozenset({"cut", "stalled", "timeout", "deadline", "chant"})
"""Faults after which the provider may send a bill."""


@dataclass(slots=True)
class Reply:
    """What one call brought."""

    calls: list[ToolCall] = field(default_factory=list[ToolCall])
    text: str = ""
    finish: str = "stop"


@dataclass(frozen=True, slots=True)
class Failed:
    """The call failed for good, after the retries that it deserved."""

    text: str
    retryable: bool


CallResult = Reply | Failed | Exhausted


def prepare(
    kit: Kit, work: str | None, tools: Sequence[ToolSpec], *, wrap_up: bool = False
) -> tuple[Fitted, Grant | Exhausted]:
    """Fits the conversation to the window and asks the budget. Changes nothing."""
    model = kit.model
    room = model.window - output_room(model.window, model.max_output)
    fitted = fit(
        kit.facts.conversation(work),
        count=lambda messages: model.count(messages, tools),
        window=model.window,
        room=room,
    )
    return fitted, _admit(kit, fitted.tokens, wrap_up=wrap_up)


def _admit(kit: Kit, prompt_tokens: int, *, wrap_up: bool, retry: bool = False) -> Grant | Exhausted:
    budget, price = kit.facts.budget, kit.model.price
    return admit(
        budget,
        kit.spent(),
        prompt_tokens,
        price=price,
        margin=Margin(kit.facts.margins),
        reserve=reserve_for(budget, price, kit.model.window),
        window=kit.model.window,
        max_output=kit.model.max_output,
        wrap_up=wrap_up,
        retry=retry,
        now=kit.clock.now(),
    )


async def call(
    kit: Kit,
    work: str | None,
    tools: Sequence[ToolSpec],
    record: Record,
    fitted: Fitted,
    grant: Grant,
    *,
    wrap_up: bool = False,
) -> CallResult:
    """The reply to the fitted conversation. Every attempt is admitted on its own. Raises PersonInterrupted."""
    attempt, trimmed = 0, False
    while True:
        _note_trim(kit, fitted, record)
        record(_admitted(kit, fitted, grant, wrap_up=wrap_up))
        stream = _Stream(kit, record, fitted, grant)
        try:
            with kit.watch.running():
                return await kit.interruptible(
                    stream.run(
                        Request(
                            messages=fitted.messages, tools=tools, max_tokens=grant.max_tokens, seconds=grant.seconds
                        )
                    )
                )
        except PersonInterrupted as how:
            stream.charge_estimate()
            record(Interrupted(what="model", detail=str(how)))
            raise
        except asyncio.CancelledError:
            stream.charge_estimate()
            raise
        except ModelFault as fault:
            if fault.kind in _BILLED or stream.began:
                stream.charge_estimate()
            if fault.kind == "context" and not trimmed:
                trimmed = True
                record(Fault(kind=fault.kind, text=f"{fault.text}; the conversation is trimmed", retry_in=0.0))
                fitted = _fit_harder(kit, work, tools)
            elif (wait := _wait_before_retry(fault, attempt, kit.seconds_left())) is not None:
                attempt += 1
                record(Fault(kind=fault.kind, text=fault.text, retry_in=wait))
                await kit.interruptible(kit.clock.sleep(wait))
            else:
                record(Fault(kind=fault.kind, text=fault.text))
                return _given_up(fault, kit)
        again = _admit(kit, fitted.tokens, wrap_up=wrap_up, retry=True)
        if isinstance(again, Exhausted):
            return again
        grant = again


def _fit_harder(kit: Kit, work: str | None, tools: Sequence[ToolSpec]) -> Fitted:
    model = kit.model
    room = model.window - output_room(model.window, model.max_output)
    return fit(
        kit.facts.conversation(work),
        count=lambda messages: model.count(messages, tools),
        window=model.window,
        room=room,
        harder=True,
    )


def _note_trim(kit: Kit, fitted: Fitted, record: Record) -> None:
    if fitted.dropped or fitted.shortened:
        record(
            ContextTrimmed(
                dropped_messages=fitted.dropped,
                dropped_tokens=0,
                window=kit.model.window,
                upto=fitted.upto,
                shortened=fitted.shortened,
            )
        )


def _admitted(kit: Kit, fitted: Fitted, grant: Grant, *, wrap_up: bool) -> CallAdmitted:
    return CallAdmitted(
        prompt_tokens=fitted.tokens,
        max_tokens=grant.max_tokens,
        worst_usd=grant.worst_usd,
        worst_tokens=grant.worst_tokens,
        model=kit.model.name,
        wrap_up=wrap_up,
    )


def _wait_before_retry(fault: ModelFault, attempt: int, seconds_left: float | None) -> float | None:
    """Seconds until the next attempt, with jitter; None where there is none."""
    if not fault.retryable or attempt >= RETRIES:
        return None
    wait = fault.retry_after if fault.retry_after is not None else 2**attempt * random.uniform(0.5, 1.0)
    if wait > ASK_ABOVE or (seconds_left is not None and wait >= seconds_left):
        return None
    return wait


def _given_up(fault: ModelFault, kit: Kit) -> Failed | Exhausted:
    if fault.kind == "deadline":
        limit = kit.facts.budget.seconds
        return Exhausted(resource="seconds", detail=f"time budget: {kit.spent().seconds:.0f} of {limit or 0:.0f} s")
    text = fault.text
    if fault.retry_after is not None and fault.retry_after > ASK_ABOVE:
        text = f"{text} (the provider asks to wait {fault.retry_after:.0f} s)"
    return Failed(text, fault.retryable or fault.kind == "quota")


class _Stream:
    """One attempt: parts into the journal, merged; what it cost, known or estimated."""

    def __init__(self, kit: Kit, record: Record, fitted: Fitted, grant: Grant) -> None:
        self._kit, self._record, self._fitted, self._grant = kit, record, fitted, grant
        self.began = False
        self._charged = False
        self._reply = Reply()
        self._reasoning = ""
        guard = kit.journal.redactor.stream
        self._text = Merger(lambda text: record(TextArrived(text=text)), kit.clock, guard())
        self._thought = Merger(lambda text: record(ReasoningArrived(text=text)), kit.clock, guard())

    async def run(self, request: Request) -> Reply:
        parts = self._kit.model.stream(request)
        end: EndPart | None = None
        usage: Tokens | None = None
        try:
            async for part in parts:
                self.began = True
                match part:
                    case TextPart(text=text):
                        self._thought.end()
                        self._reply.text += text
                        self._text.feed(text)
                    case ReasoningPart(text=text):
                        self._text.end()
                        self._reasoning += text
                        self._thought.feed(text)
                    case CallPart(call=made):
                        self._reply.calls.append(made)
                    case UsagePart(tokens=tokens):
                        usage = tokens
                    case EndPart():
                        end = part
        finally:
            self._thought.end()
            self._text.end()
            close = getattr(parts, "aclose", None)
            if close is not None:
                await close()
        if usage is not None:
            self._charge(usage)
        else:
            self.charge_estimate(whole=True)
        self._reply.finish = "length" if end and end.truncated_call else end.finish if end else "stop"
        self._record(ReplyFinished(finish=self._reply.finish, calls=len(self._reply.calls)))
        return self._reply

    def _charge(self, tokens: Tokens) -> None:
        self._charged = True
        self._record(
            Charged(
                tokens_in=tokens.in_,
                tokens_out=tokens.out,
                tokens_cached=tokens.cached,
                tokens_reasoning=tokens.reasoning,
                usd=self._kit.model.bill(tokens),
                model=self._kit.model.name,
                prompt_counted=self._fitted.tokens,
            )
        )

    def charge_estimate(self, *, whole: bool = False) -> None:
        """From what arrived; a cut stream's difference to the admitted worst case is held against the limits."""
        if self._charged:
            return
        self._charged = True
        model = self._kit.model
        calls = "".join(call.tool + call.arguments for call in self._reply.calls)
        tokens = Tokens(self._fitted.tokens, model.count_text(self._reply.text + self._reasoning + calls), 0, 0)
        usd = model.bill(tokens)
        held_tokens = max(0, self._grant.worst_tokens - tokens.total)
        held_usd = max(0.0, (self._grant.worst_usd or 0.0) - (usd or 0.0))
        if whole:
            share = min(1.0, (tokens.out * 1.25 + 16) / max(self._grant.max_tokens, 1))
            held_tokens, held_usd = int(held_tokens * share), held_usd * share
        self._record(
            Charged(
                tokens_in=tokens.in_,
                tokens_out=tokens.out,
                usd=usd,
                estimated=True,
                held_tokens=held_tokens,
                held_usd=held_usd,
                model=model.name,
            )
        )


class Merger:
    """Pieces of text, put together until they are worth an event. A key that is split over pieces stays hidden."""

    def __init__(self, write: Callable[[str], object], clock: Clock, guard: StreamRedactor) -> None:
        self._write, self._clock, self._guard = write, clock, guard
        self._held: list[str] = []
        self._last = float("-inf")
        self._timer: asyncio.TimerHandle | None = None

    def feed(self, text: str) -> None:
        """Takes a piece; it is written now or within FLUSH_SECONDS."""
        self._held.append(text)
        if self._clock.monotonic() - self._last >= FLUSH_SECONDS:
            self._flush()
        elif self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(FLUSH_SECONDS, self._flush)

    def end(self) -> None:
        """Writes all that is held: the text is over, or something else comes before it goes on."""
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
