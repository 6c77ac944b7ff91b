"""The lane to the providers without a row in `TRAITS`: litellm connects to them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterator, Mapping
from contextlib import aclosing, suppress
from typing import TYPE_CHECKING, Any

from ....protocol import Message, ModelFault, Refusal, Request
from ...answer import Answer, Shown, TooLong
from ...faults.litellm_faults import fault_of_litellm
from ...faults.unsent import without_chat
from ...litellm_use.load_litellm import litellm, load_litellm
from ...litellm_use.provider_environment import only_variables
from ...price_table import find_price
from ...reported_usage import ReportedUsage
from ...request_fields import REFUSALS
from ..chat_chunks import FINISHES, chat_usage
from ..exchange import Outgoing, exchange, foreign_host
from ..formats.by_path import reader_of
from .capture import ForeignHost, RequestBuilt, RequestCapture, capturing, field_names, offers_tools
from .litellm_arguments import call_settings, chat_arguments
from .responses_request import responses_arguments

if TYPE_CHECKING:
    from ...endpoint import Endpoint
    from ...litellm_use.untyped import Untyped
    from ...request_fields import RequestFields
    from ..timer import Timer

_REQUIRED = frozenset({"model", "messages", "input", "instructions", "tools", "allowed_openai_params"})
"""Arguments that every request needs. A provider may refuse the others."""


class LitellmLane:
    """A lane to one model through litellm."""

    def __init__(self, at: Endpoint, fields: RequestFields, *, seconds: float, uses_responses: bool = False) -> None:
        """`seconds`: litellm's time-out; our own timer ends earlier. `uses_responses`: at OpenAI's Responses API."""
        self._at = at
        self.fields = fields
        self._seconds = seconds
        self._uses_responses = uses_responses

    async def stream(self, request: Request, answer: Answer, timer: Timer) -> AsyncGenerator[Shown, None]:
        """Yield what can be shown, as it arrives; the rest is in `answer` at the end. Raises ModelFault."""
        arguments = self._arguments(request, answer)
        opened: Outgoing | Untyped = None
        try:
            opened = await self._open(arguments, timer)
            if isinstance(opened, Outgoing):
                if request.tools and not offers_tools(opened.data):
                    raise ModelFault("bad-request", f"{self._at.name} does not accept tools: choose another model")
                parts = exchange(opened, reader_of(opened.wire, answer), self._at, answer, timer)
            else:
                parts = self._read(opened, answer, timer)
            async with aclosing(parts) as shown:
                async for part in shown:
                    yield part
        except ModelFault as fault:
            if not answer.begun:
                spellings: dict[str, list[str]] = {}
                if fault.kind in REFUSALS and isinstance(opened, Outgoing):
                    spellings = await self._spellings(arguments, answer.sent, opened, timer)
                self.fields.settle(fault, answer.sent, spellings)
            raise

    def _arguments(self, request: Request, answer: Answer) -> dict[str, Any]:
        at = self._at
        if self._uses_responses:
            entry = find_price(at.provider, at.model)
            arguments = responses_arguments(
                request, at, self._seconds, reasons=None if entry is None else entry.reasons
            )
        else:
            arguments = chat_arguments(request, at, self._seconds)
        required = _REQUIRED | (call_settings(at, self._seconds).keys() - {"max_retries"})
        return self.fields.fit(arguments, required, answer.sent)

    async def _spellings(
        self, arguments: dict[str, Any], sent: Mapping[str, Any], opened: Outgoing, timer: Timer
    ) -> dict[str, list[str]]:
        """Return the names under which litellm sent each argument: those that are missing without it."""
        names = field_names(opened.data)
        found: dict[str, list[str]] = {}
        for argument in sent:
            fewer = {name: value for name, value in arguments.items() if name != argument.partition(".")[0]}
            try:
                without = await self._open(fewer, timer)
            except ModelFault:
                continue  # litellm needs this argument
            if isinstance(without, Outgoing):
                found[argument] = sorted(names - field_names(without.data))
        return found

    async def _open(self, arguments: dict[str, Any], timer: Timer) -> Outgoing | Untyped:
        """Return the request that litellm built, or its stream if litellm must read the answer. Raises ModelFault."""
        capture = RequestCapture(self._at)
        try:
            await load_litellm()  # takes seconds the first time
            timer.start()
            return await timer.wait(self._call(arguments, capture))
        except (ModelFault, asyncio.CancelledError):
            raise
        except Exception as e:  # litellm raises exceptions of any class; they become faults here
            raise fault_of_litellm(e, self._at, sent=capture.sent, in_stream=False) from e

    async def _call(self, arguments: dict[str, Any], capture: RequestCapture) -> Outgoing | Untyped:
        with capturing(capture), only_variables(self._at.variables):
            try:
                if self._uses_responses:
                    return await litellm().aresponses(**arguments)
                wrapper: Untyped = await litellm().acompletion(**arguments)
                if getattr(wrapper, "completion_stream", wrapper) is None:
                    await wrapper.fetch_stream()  # else litellm sends the request with the first chunk
                return wrapper
            except RequestBuilt as built:
                return built.outgoing
            except ForeignHost as foreign:
                raise foreign_host(foreign.url, self._at) from None

    async def refuse_without_chat(self) -> None:
        """Raise Refusal if litellm knows no chat model under the provider's name. It builds a request; none is sent."""
        request = Request(messages=[Message(role="user", text="hi")], max_tokens=16)
        capture = RequestCapture(self._at, sends=False)
        await load_litellm()
        try:
            await self._call(self._arguments(request, Answer(max_tokens=16)), capture)
        except Exception as e:  # of any class, as in `_open`
            fault = fault_of_litellm(e, self._at, sent=False, in_stream=False)
            if fault.text == without_chat(self._at):
                raise Refusal(fault.text) from e

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
                for part in _read_chunk(chunk, answer):
                    yield part
                if getattr(chunk, "usage", None) is not None:
                    break  # the last one; asking for more starts litellm's own accounting
            _finish_stream(wrapper, answer)
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


def _read_chunk(chunk: Untyped, answer: Answer) -> Iterator[Shown]:
    """Read one chunk of litellm's own stream into the answer, for a provider whose format is not read here."""
    answer.usage |= _usage_of(chunk)
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


def _finish_stream(wrapper: Untyped, answer: Answer) -> None:
    """Finish the answer without the finish reason and usage that litellm makes up. Raises ModelFault if it was cut."""
    if hasattr(wrapper, "received_finish_reason"):  # a few providers stream without the wrapper
        raw = wrapper.received_finish_reason or wrapper.intermittent_finish_reason
        answer.finish = None if raw is None else FINISHES.get(raw, "stop")
        if not any(_usage_of(chunk) for chunk in wrapper.chunks):
            answer.usage = ReportedUsage()
    if answer.finish is None:
        raise ModelFault("cut", "the answer broke off: the stream ended without a finish reason", retryable=True)


def _usage_of(chunk: Untyped) -> ReportedUsage:
    usage: Untyped = getattr(chunk, "usage", None)
    return chat_usage(usage.model_dump() if hasattr(usage, "model_dump") else usage)
