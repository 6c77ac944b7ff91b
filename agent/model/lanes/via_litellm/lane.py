"""The lane to the providers without a row in `TRAITS`: litellm connects to them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress
from typing import TYPE_CHECKING

from ....protocol import ModelFault, Request
from ...answer import Answer, Shown, TooLong
from ...faults.raised import fault_of_litellm
from ...litellm_use.environment import only_variables
from ...litellm_use.library import litellm, load_litellm
from ...pricing.table import find
from ..exchange import Outgoing, exchange, foreign_host
from ..formats.by_path import reader_of
from .arguments import chat_arguments
from .capture import ForeignHost, RequestBuilt, RequestCapture, capturing, offers_tools
from .chunks import finish_stream, read_chunk
from .responses_request import responses_arguments

if TYPE_CHECKING:
    from ...endpoint import Endpoint
    from ...litellm_use.untyped import Untyped
    from ..timer import Timer


class LitellmLane:
    """A lane to one model through litellm."""

    def __init__(self, at: Endpoint, *, seconds: float) -> None:
        """`seconds`: litellm's time-out; our own timer ends earlier."""
        self._at = at
        self._seconds = seconds

    async def stream(self, request: Request, answer: Answer, timer: Timer) -> AsyncGenerator[Shown, None]:
        """Yield what can be shown, as it arrives; the rest is in `answer` at the end. Raises ModelFault."""
        opened = await self._open(request, timer)
        if isinstance(opened, Outgoing):
            if request.tools and not offers_tools(opened.data):
                raise ModelFault("bad-request", f"{self._at.name} does not accept tools: choose another model")
            parts = exchange(opened, reader_of(opened.wire, answer), self._at, answer, timer)
        else:
            parts = self._read(opened, answer, timer)
        async with aclosing(parts) as shown:
            async for part in shown:
                yield part

    async def _open(self, request: Request, timer: Timer) -> Outgoing | Untyped:
        """Return the request that litellm built, or its stream if litellm must read the answer. Raises ModelFault."""
        capture = RequestCapture(self._at)
        try:
            await load_litellm()  # takes seconds the first time
            timer.start()
            return await timer.wait(self._call(request, capture))
        except (ModelFault, asyncio.CancelledError):
            raise
        except Exception as e:  # litellm raises exceptions of any class; they become faults here
            raise fault_of_litellm(e, self._at, sent=capture.sent, in_stream=False) from e

    async def _call(self, request: Request, capture: RequestCapture) -> Outgoing | Untyped:
        at = self._at
        entry = find(at.provider, at.model)
        with capturing(capture), only_variables(at.variables):
            try:
                if at.model.startswith("responses/") or (entry and entry.fields.get("mode") == "responses"):
                    reasons = None if entry is None else entry.reasons
                    return await litellm().aresponses(
                        **responses_arguments(request, at, self._seconds, reasons=reasons)
                    )
                wrapper: Untyped = await litellm().acompletion(**chat_arguments(request, at, self._seconds))
                if getattr(wrapper, "completion_stream", wrapper) is None:
                    await wrapper.fetch_stream()  # else litellm sends the request with the first chunk
                return wrapper
            except RequestBuilt as built:
                return built.outgoing
            except ForeignHost as foreign:
                raise foreign_host(foreign.url, at) from None

    async def _read(self, wrapper: Untyped, answer: Answer, timer: Timer) -> AsyncGenerator[Shown, None]:
        """Yield the answer from litellm's own stream."""
        at, capture = self._at, RequestCapture(self._at, takes_requests=False)
        try:
            source = aiter(wrapper)
            while True:
                try:
                    with capturing(capture), only_variables(at.variables):
                        chunk = await timer.wait(anext(source))
                except StopAsyncIteration:
                    break
                timer.arrived()
                for part in read_chunk(chunk, answer):
                    yield part
                if getattr(chunk, "usage", None) is not None:
                    break  # the last one; asking for more starts litellm's own accounting
            finish_stream(wrapper, answer)
        except TooLong:
            return
        except (ModelFault, asyncio.CancelledError, GeneratorExit):
            raise
        except ForeignHost as foreign:
            raise foreign_host(foreign.url, at) from None
        except Exception as e:  # of any class, as in `_open`
            raise fault_of_litellm(e, at, in_stream=timer.begun) from e
        finally:
            with suppress(TimeoutError):
                async with asyncio.timeout(1.0):
                    await wrapper.aclose()


async def close_litellm() -> None:
    """Close litellm's connections, on the running loop."""
    lib = litellm()
    await lib.close_litellm_async_clients()
    lib.in_memory_llm_clients_cache.flush_cache()
