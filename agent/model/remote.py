"""One model, spoken to through litellm."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing, suppress
from typing import Any

from ..protocol import Message, ModelFault, Part, Price, Request, Tokens, ToolSpec
from .counting import Counter
from .endpoint import Endpoint
from .faults import fault_of
from .leaks import LeakReader
from .library import Foreign, litellm, warm
from .prices import Tariff
from .reach import check_reachable, missing_key
from .reading import Reply
from .source import Patience, Timer, chunks_of, settle
from .wire import schema_to_wire, to_wire, tools_to_wire


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
        timer = Timer(self._at, self._patience, request.seconds)
        wrapper: Foreign = None
        try:
            await warm()
            wrapper = await timer.waits(litellm().acompletion(**self._arguments(request)))
            async with aclosing(chunks_of(wrapper, timer)) as chunks:
                async for chunk in chunks:
                    for part in reply.feed(chunk):
                        yield part
            settle(wrapper, reply, begun=timer.begun)
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
        if request.schema is not None:
            arguments["response_format"] = schema_to_wire(request.schema)
        return arguments


async def close_connections() -> None:
    """Closes what litellm keeps open between calls, on the loop that runs."""
    lib = litellm()
    await lib.close_litellm_async_clients()
    lib.in_memory_llm_clients_cache.flush_cache()
