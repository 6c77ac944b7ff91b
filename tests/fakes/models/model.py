"""A model that plays a script inside the test's process. Implements `protocol.Model`."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any

from rundry.agent.models.counting import image_tokens
from rundry.agent.protocol import (
    FREE,
    CallPart,
    EndPart,
    Message,
    ModelFault,
    Part,
    Price,
    ReasoningPart,
    Request,
    ServedFacts,
    TextPart,
    Tokens,
    ToolCall,
    ToolSpec,
    UsagePart,
)

from ..turns import Turn, say, split

Bill = Callable[[Request, Turn, int], Tokens]
"""Request, answer, our own prompt count -> what the provider bills."""


def honest(request: Request, turn: Turn, counted: int) -> Tokens:
    cached = min(turn.cached, counted)
    return Tokens(counted, turn.billed + turn.reasoning_tokens, cached, turn.reasoning_tokens)


class ScriptedModel:
    """Plays `turns` one a call, then `then` (or the last one again); a ModelFault among them is raised."""

    def __init__(
        self,
        turns: Sequence[Turn | ModelFault] = (),
        *,
        then: Turn | None = None,
        name: str = "scripted",
        local: bool = True,
        window: int = 32_000,
        max_output: int | None = None,
        limits_output: bool = True,
        price: Price | None = FREE,
        sees_images: bool | None = None,
        served: ServedFacts | None = None,
        bill: Bill = honest,
    ) -> None:
        self.turns, self.then = list(turns), then
        self.name, self.local, self.window, self.max_output, self.price = name, local, window, max_output, price
        self.sees_images, self.served, self.limits_output = sees_images, served, limits_output
        self._bill = bill
        self.requests: list[Request] = []
        self.remembered = ""
        self.closed_early = 0
        """Streams that their reader left before the end."""
        self.billed = Tokens()
        """What was billed in all."""
        self.released = asyncio.Event()
        """Set it to continue what `hold_after` holds."""

    def count(self, messages: Sequence[Message], tools: Sequence[ToolSpec]) -> int:
        texts = [m.text + "".join(c.tool + c.arguments for c in m.calls) for m in messages]
        images = sum(image_tokens(image) for m in messages for image in m.images)
        return images + sum(len(t) // 4 + 4 for t in texts) + sum(len(json.dumps(t.parameters)) // 4 for t in tools)

    def count_text(self, text: str) -> int:
        return len(split(text))

    def remember_format(self, form: str) -> None:
        self.remembered = form

    async def probe(self) -> None:
        return

    async def stream(self, request: Request) -> AsyncIterator[Part]:
        turn = self.choose(request)
        self.requests.append(request)
        if isinstance(turn, ModelFault):
            raise turn
        turn, was_cut = turn.cut(request.max_tokens)
        tokens = self._bill(request, turn, self.count(request.messages, request.tools))
        self.billed += tokens
        ended = False
        try:
            async for part in self._parts(turn, was_cut):
                yield part
            if not turn.no_usage:
                yield UsagePart(tokens)
            ended = True
            yield _end(turn, was_cut)
        finally:
            self.closed_early += not ended

    async def _parts(self, turn: Turn, was_cut: bool) -> AsyncIterator[Part]:
        for piece in split(turn.reasoning):
            yield ReasoningPart(piece)
        for place, piece in enumerate(turn.pieces):
            if place == turn.drop_after:
                raise ModelFault("cut", "the stream ended in the middle", retryable=True)
            if place == turn.hold_after:
                await self.released.wait()
            yield TextPart(piece)
        if turn.hold_after is not None and turn.hold_after >= len(turn.pieces):
            await self.released.wait()
        for wanted in turn.calls:
            if not was_cut or _is_json(wanted.json):
                yield CallPart(ToolCall("", wanted.name, wanted.json))

    def choose(self, request: Request) -> Turn | ModelFault:
        """The answer to that request."""
        place = len(self.requests)
        if place < len(self.turns):
            return self.turns[place]
        last: Turn | ModelFault = self.turns[-1] if self.turns else say("ok")
        return self.then or last


def _end(turn: Turn, was_cut: bool) -> EndPart:
    if was_cut:
        return EndPart("length", truncated_call=any(not _is_json(c.json) for c in turn.calls))
    if turn.calls:
        return EndPart("tool_calls")
    return EndPart("stop" if turn.pieces else "empty")


def _is_json(text: str) -> bool:
    try:
        value: Any = json.loads(text)
    except ValueError:
        return False
    return isinstance(value, dict)
