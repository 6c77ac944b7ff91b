"""One model, spoken to through litellm."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Any

import msgspec

from ..protocol import Message, ModelFault, Part, Price, Request, Tokens, ToolSpec
from .counting import Counter
from .endpoint import Endpoint
from .faults import NotAStream, fault_of, stalled
from .leaks import LeakReader
from .library import Foreign, litellm, warm
from .prices import Tariff
from .reach import check_reachable, missing_key
from .reading import Reply, tokens_of
from .wire import to_wire, tools_to_wire


class Patience(msgspec.Struct, frozen=True, kw_only=True):
    """Seconds that the adapter waits before it calls a stream stalled."""

    first: float
    """Until the first chunk: a local model reads the whole prompt before it."""
    between: float = 60.0
    """Between two chunks."""


class LiteModel:
    """protocol.Model over litellm. Never retries: that is `step`'s, where it is visible and within the budget."""

    def __init__(
        self,
        at: Endpoint,
        *,
        name: str,
        window: int,
        window_known: bool,
        max_output: int,
        price: Price | None,
        tariff: Tariff | None,
        patience: Patience,
        redact: Callable[[str], str],
        read_leaks: bool,
        extra: dict[str, Any],
    ) -> None:
        self.name = name
        self.local = at.local
        self.window = window
        self.window_known = window_known
        """False: nobody said, `window` is an assumption."""
        self.max_output: int | None = max_output
        self.price = price
        self._at = at
        self._tariff = tariff
        self._patience = patience
        self._redact = redact
        self._read_leaks = read_leaks
        self._extra = extra
        self._counter = Counter(at.model)

    def count(self, messages: Sequence[Message], tools: Sequence[ToolSpec]) -> int:
        """Prompt tokens by our own count."""
        return self._counter.prompt(messages, tools)

    def count_text(self, text: str) -> int:
        """Tokens of a text."""
        return self._counter.text(text)

    def bill(self, tokens: Tokens) -> float | None:
        """USD at the rates of the prompt's tier, cached and cache-written tokens at theirs; None when unpriced."""
        return None if self._tariff is None else self._tariff.bill(tokens)

    async def probe(self) -> None:
        """Raises Refusal where the server cannot be reached, the key is missing or the model is unknown."""
        await check_reachable(self._at, self.name)

    async def close(self) -> None:
        """Closes the connections that are kept for the next call. No call may run."""
        await close_connections()

    async def stream(self, request: Request) -> AsyncGenerator[Part, None]:
        """The answer as it arrives. Raises ModelFault. Closing the iterator closes the connection at once."""
        if self._at.key is None:
            raise ModelFault("auth", missing_key(self._at))
        tools = [t.name for t in request.tools]
        reply = Reply(LeakReader(tools) if self._read_leaks else None)
        timer = _Timer(self._at, self._patience, request.seconds)
        wrapper: Foreign = None
        try:
            await warm()
            wrapper = await timer.waits(litellm().acompletion(**self._arguments(request)))
            async for chunk in _chunks(wrapper, timer):
                for part in reply.feed(chunk):
                    yield part
            _settle(wrapper, reply, begun=timer.begun)
            for part in reply.end():
                yield part
        except ModelFault:
            raise
        except Exception as e:  # litellm lets through whatever its parts raise; here it becomes data
            raise fault_of(e, self._at, redact=self._redact, in_stream=timer.begun) from e
        finally:
            if wrapper is not None:
                with suppress(TimeoutError):
                    async with asyncio.timeout(1.0):
                        await wrapper.aclose()

    def _arguments(self, request: Request) -> dict[str, Any]:
        at = self._at
        seconds = self._patience.first + self._patience.between  # ours run out before
        arguments: dict[str, Any] = {
            "model": at.name,
            "messages": to_wire(request.messages, provider=at.provider, marks=at.wants_cache_marks),
            "stream": True,
            "stream_options": {"include_usage": True},
            "max_tokens": request.max_tokens,
            "timeout": seconds,
            "max_retries": 0,
            "num_retries": 0,
            "_skip_mcp_handler": True,
            "api_key": at.key,
            **self._extra,
        }
        if at.api_base is not None:
            arguments["api_base"] = at.api_base
        if request.tools:
            arguments["tools"] = tools_to_wire(request.tools)
        return arguments


class _Timer:
    """Waits for the next thing no longer than patience and deadline allow."""

    def __init__(self, at: Endpoint, patience: Patience, seconds: float | None) -> None:
        self._at = at
        self._patience = patience
        self._end = None if seconds is None else time.monotonic() + seconds
        self._first_by = time.monotonic() + patience.first
        self.begun = False
        """The first chunk has arrived."""

    async def waits(self, coming: Awaitable[Foreign]) -> Foreign:
        """The result. Raises ModelFault `stalled`, `timeout` or `deadline`; cancels what it waited for."""
        now = time.monotonic()
        patience = self._patience.between if self.begun else self._first_by - now
        left = patience if self._end is None else min(patience, self._end - now)
        running = asyncio.timeout(max(left, 0))
        try:
            async with running:
                return await coming
        except TimeoutError:
            if not running.expired():
                raise
        if self._end is not None and time.monotonic() >= self._end:
            raise ModelFault("deadline", "the time limit ended the answer")
        waited = self._patience.between if self.begun else self._patience.first
        raise stalled(self._at, waited, in_stream=self.begun)


async def _chunks(wrapper: Foreign, timer: _Timer) -> AsyncIterator[Foreign]:
    """The chunks of a stream, each awaited under the timer."""
    given = await _source(wrapper)
    source = aiter(given)
    while True:
        try:
            chunk = await timer.waits(anext(source))
        except StopAsyncIteration:
            return
        timer.begun = True
        yield chunk
        if given is wrapper and getattr(chunk, "usage", None) is not None:
            return  # the last one; to ask for more sets litellm's own bookkeeping of the call off


async def _source(wrapper: Foreign) -> Foreign:
    """The provider's own stream where it already speaks OpenAI's chunks, else litellm's wrapper around it.

    The wrapper costs 0.8 ms of CPU a chunk, invents the finish reason "stop" and estimates a usage that is missing.
    """
    raw = _openai_stream(wrapper)
    if raw is None:
        return wrapper
    kind = raw.response.headers.get("content-type", "")
    if "html" in kind or "json" in kind:
        body = await raw.response.aread()
        raise NotAStream(f"it sent {kind} instead of a stream: {body[:200].decode(errors='replace')}")
    return raw


def _openai_stream(wrapper: Foreign) -> Foreign | None:
    raw = getattr(wrapper, "completion_stream", None)
    return raw if any(c.__name__ == "AsyncStream" for c in type(raw).__mro__) else None


def _settle(wrapper: Foreign, reply: Reply, *, begun: bool) -> None:
    """The stream is over: takes back what litellm invented. Raises ModelFault where it was cut."""
    is_whole = reply.finish is not None or reply.usage is not None
    if _openai_stream(wrapper) is None:
        reply.finish = wrapper.received_finish_reason
        if not any(tokens_of(getattr(chunk, "usage", None)) for chunk in wrapper.chunks):
            reply.usage = None
        is_whole = reply.finish is not None  # Anthropic sends a first usage at the very beginning
    if not is_whole and (reply.any or not begun):
        raise ModelFault("cut", "the answer broke off: the stream ended without a finish", retryable=True)


async def close_connections() -> None:
    """Closes what litellm keeps open between calls, on the loop that runs."""
    lib = litellm()
    await lib.close_litellm_async_clients()
    lib.in_memory_llm_clients_cache.flush_cache()
