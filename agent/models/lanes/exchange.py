"""Send one request to a model server and read its answer as it streams."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing, suppress
from typing import TYPE_CHECKING

import msgspec

from ...protocol import ModelFault, PromptReadPart
from ..answer import Answer, Shown, TooLong
from ..faults.direct_faults import HttpRefusal, fault_of_exception, fault_of_response, fault_of_stream
from ..key_rule import host_of
from ..provider_traits import WireFormat
from ..reported_usage import cost_in_headers
from .connections import pieces, send
from .server_sent_events import BOM, BrokenStream, ErrorInStream, NotAStream
from .single_object import feed_object

if TYPE_CHECKING:
    import aiohttp

    from ..endpoint import Endpoint
    from .timer import Timer
    from .wire_reader import Reader

_LONGEST_ERROR = 262_144
"""Bytes that are read of an error's body."""
_ERROR_SECONDS = 5.0
"""Seconds in which an error's body must arrive. What has arrived by then is used."""
_LONGEST_WHOLE = 32 * 1024 * 1024
"""Bytes of the largest answer that comes as one JSON object."""
_ENOUGH = 16
"""Bytes that tell an event stream from a JSON object."""
_DRAIN = 0.05
"""Seconds to wait for data after the end of the answer, because a connection that was read to its end is reused."""


class Outgoing(msgspec.Struct, frozen=True, kw_only=True):
    """A request that is ready to send."""

    wire: WireFormat
    """Format of the answer."""
    url: str
    data: bytes
    headers: Mapping[str, str]
    is_signed: bool = False
    """Whether the URL must be sent unchanged, because a signature covers it."""


class EmptyStream(ModelFault):
    """The server accepted the request, then ended the stream without a byte."""


async def exchange(
    outgoing: Outgoing, reader: Reader, at: Endpoint, answer: Answer, timer: Timer
) -> AsyncGenerator[Shown, None]:
    """Send the request and yield what can be shown, as it arrives; the rest is in `answer`. Raises ModelFault.

    `reader`: of the server's wire format, such as the `ChatReader` of `chat_chunks.py`.
    Closing the generator closes the connection immediately.
    """
    response: aiohttp.ClientResponse | None = None
    try:
        response = await timer.wait(_send(outgoing, at))
        if response.status != 200:
            raise await _refused(response, at, outgoing.url)
        answer.usage |= cost_in_headers(response.headers)
        async for part in _read(response, outgoing.wire, reader, answer, timer):
            yield part
    except (ModelFault, asyncio.CancelledError, GeneratorExit):
        raise
    except (ErrorInStream, BrokenStream, NotAStream) as e:
        raise fault_of_stream(e, at, begun=answer.begun) from e
    except Exception as e:
        if (fault := fault_of_exception(e, at, outgoing.url, begun=timer.begun)) is None:
            raise
        raise fault from e
    finally:
        if response is not None:
            response.close()
            await asyncio.sleep(0)  # the loop closes the socket in its next iteration


async def _send(outgoing: Outgoing, at: Endpoint) -> aiohttp.ClientResponse:
    if not at.may_reach(outgoing.url):
        raise foreign_host(outgoing.url, at)
    from yarl import URL

    return await send(
        "POST",
        URL(outgoing.url, encoded=outgoing.is_signed),
        data=outgoing.data,
        headers=outgoing.headers,
        local=at.local,
    )


def foreign_host(url: str, at: Endpoint) -> ModelFault:
    """Return the fault for a request that would leave for a host which is neither the provider's nor the user's."""
    text = f"litellm sends the call to {host_of(url)}, which is not a host of {at.provider}. Give the server's address "
    return ModelFault("bad-request", f"{text}with --api-base")


async def _refused(response: aiohttp.ClientResponse, at: Endpoint, url: str) -> ModelFault:
    body = await _error_body(response)
    return fault_of_response(HttpRefusal(response.status, dict(response.headers), body, url), at)


async def _error_body(response: aiohttp.ClientResponse) -> bytes:
    """Read an error's body to its end, or as far as it arrives, can be unpacked, and stays within the limits."""
    import aiohttp

    body = bytearray()
    with suppress(TimeoutError, aiohttp.ClientError, OSError):  # the status and what arrived are enough
        async with asyncio.timeout(_ERROR_SECONDS):
            async for piece in pieces(response, _LONGEST_ERROR):
                body += piece
    return bytes(body)


async def _read(
    response: aiohttp.ClientResponse, wire: WireFormat, reader: Reader, answer: Answer, timer: Timer
) -> AsyncGenerator[Shown, None]:
    kind = response.headers.get("content-type", "")
    data = b""
    if "html" in kind or ("json" in kind and "ndjson" not in kind and wire != "ollama"):
        data = await _beginning(response, timer)
        if "html" in kind or not _is_event_stream(data):
            for part in feed_object(wire, reader, data + await _body(response, timer), kind):
                yield part
            return
    async with aclosing(_read_stream(response, data, reader, answer, timer)) as shown:
        async for part in shown:
            yield part


async def _read_stream(
    response: aiohttp.ClientResponse, beginning: bytes, reader: Reader, answer: Answer, timer: Timer
) -> AsyncGenerator[Shown, None]:
    data, is_empty = beginning, True
    try:
        while not reader.done:
            data = data or await _more(response, timer)
            if not data:
                break
            is_empty = False
            before = answer.pieces
            timer.kept_alive()
            for part in reader.feed(data):
                if isinstance(part, PromptReadPart):
                    timer.start()
                yield part
            if answer.pieces > before:
                timer.arrived()
            data = b""
            await asyncio.sleep(0)  # a fast server must not delay a command of the person
        for part in reader.end():
            yield part
    except TooLong:
        return
    if is_empty:
        raise EmptyStream("cut", "the server ended the answer before its first word", retryable=True)
    if not reader.is_complete():
        text = "the answer broke off: the stream ended without a finish reason"
        raise ModelFault("cut", text, retryable=True)
    with suppress(TimeoutError, ModelFault):
        async with asyncio.timeout(_DRAIN):
            while await _more(response, timer):
                pass


async def _beginning(response: aiohttp.ClientResponse, timer: Timer) -> bytes:
    """Return the first bytes: enough to tell one JSON object from an event stream, if there are enough."""
    data = b""
    while len(data) < _ENOUGH and (more := await timer.wait(response.content.readany())):
        data += more
    return data


def _is_event_stream(beginning: bytes) -> bool:
    """Return whether a body that is declared as JSON is an event stream: some gateways name the type of its events."""
    return beginning.removeprefix(BOM).lstrip().startswith((b"data:", b"event:", b"id:", b"retry:", b":"))


async def _body(response: aiohttp.ClientResponse, timer: Timer) -> bytes:
    pieces: list[bytes] = []
    while data := await timer.wait(response.content.readany()):
        pieces.append(data)
        if sum(map(len, pieces)) > _LONGEST_WHOLE:
            raise NotAStream("it sent more than 32 MB in one piece")
    return b"".join(pieces)


async def _more(response: aiohttp.ClientResponse, timer: Timer) -> bytes:
    """Return the next bytes; empty at the end, even if the server cut the body. The caller checks if all arrived."""
    import aiohttp

    try:
        return await timer.wait(response.content.readany())
    except (aiohttp.ClientPayloadError, aiohttp.ClientConnectionError, ConnectionError):
        return b""
