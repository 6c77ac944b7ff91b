"""Every provider without a row of its own: litellm knows how to reach it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterator
from contextlib import suppress
from typing import Any

from ...protocol import ModelFault, Request
from ..answer import Answer, Shown, TooLong
from ..endpoint import Endpoint
from ..faults import fault_of
from ..library import Foreign, litellm, warm
from ..traits import Traits
from .chat_chunks import FINISHES, tokens_of
from .chat_request import chat_messages, schema_to_wire, tools_to_wire
from .patience import Timer

_SHAPE = Traits()
"""litellm takes the usual form of chat completions for every provider."""


class LitellmLane:
    """One model that litellm reaches."""

    def __init__(self, at: Endpoint, *, seconds: float) -> None:
        """`seconds`: when litellm gives up; our own timer runs out before."""
        self._at = at
        self._seconds = seconds

    async def stream(self, request: Request, answer: Answer, timer: Timer) -> AsyncGenerator[Shown, None]:
        """What can be shown, as it arrives; the rest is in `answer` at the end. Raises ModelFault."""
        wrapper: Foreign = None
        try:
            await warm()
            wrapper = await timer.wait(litellm().acompletion(**self._arguments(request)))
            source = aiter(wrapper)
            while True:
                try:
                    chunk = await timer.wait(anext(source))
                except StopAsyncIteration:
                    break
                timer.arrived()
                for part in _read(chunk, answer):
                    yield part
                if getattr(chunk, "usage", None) is not None:
                    break  # the last one; to ask for more sets litellm's own bookkeeping of the call off
            _settle(wrapper, answer)
        except TooLong:
            return
        except (ModelFault, asyncio.CancelledError, GeneratorExit):
            raise
        except Exception as e:  # litellm lets through whatever its parts raise; here it becomes data
            raise fault_of(e, self._at, in_stream=timer.begun) from e
        finally:
            if wrapper is not None:
                with suppress(TimeoutError):
                    async with asyncio.timeout(1.0):
                        await wrapper.aclose()

    def _arguments(self, request: Request) -> dict[str, Any]:
        at = self._at
        arguments: dict[str, Any] = {
            "model": at.name,
            "messages": chat_messages(request, at, _SHAPE),
            "stream": True,
            "stream_options": {"include_usage": True},
            "max_tokens": request.max_tokens,
            "timeout": self._seconds,
            "max_retries": 0,
            "num_retries": 0,
            "_skip_mcp_handler": True,
        }
        if at.key is not None:
            arguments["api_key"] = at.key
        if at.api_base is not None:
            arguments["api_base"] = at.api_base
        if at.effort is not None:
            arguments["reasoning_effort"] = at.effort
        if request.tools:
            arguments["tools"] = tools_to_wire(request.tools)
        if request.schema is not None:
            arguments["response_format"] = schema_to_wire(request.schema)
        return {**arguments, **at.params}


def _read(chunk: Foreign, answer: Answer) -> Iterator[Shown]:
    """One chunk of litellm's."""
    if (usage := getattr(chunk, "usage", None)) is not None:
        answer.usage = tokens_of(usage) or answer.usage
    for choice in chunk.choices[:1]:
        answer.pieces += 1
        delta = choice.delta
        if choice.finish_reason:
            answer.finish = FINISHES.get(choice.finish_reason, "stop")
        if delta is None:
            continue
        if reasoning := getattr(delta, "reasoning_content", None):
            yield from answer.reasoning(reasoning)
        if delta.content:
            yield from answer.text(delta.content)
        for fragment in getattr(delta, "tool_calls", None) or ():
            function = fragment.function
            answer.call_piece(fragment.index, fragment.id, function.name or "", function.arguments)


def _settle(wrapper: Foreign, answer: Answer) -> None:
    """The stream is over: take back what litellm invented. Raises ModelFault where it was cut."""
    raw = wrapper.received_finish_reason
    answer.finish = None if raw is None else FINISHES.get(raw, "stop")
    if not any(tokens_of(getattr(chunk, "usage", None)) for chunk in wrapper.chunks):
        answer.usage = None
    if answer.finish is None:
        raise ModelFault("cut", "the answer broke off: the stream ended without a finish", retryable=True)


async def close_litellm() -> None:
    """Close what litellm keeps open between calls, on the loop that runs."""
    lib = litellm()
    await lib.close_litellm_async_clients()
    lib.in_memory_llm_clients_cache.flush_cache()
