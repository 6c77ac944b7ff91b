"""Speaks to a model server directly: one HTTP request, read as it streams, without litellm."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Protocol

import msgspec

from ...protocol import ModelFault, Request
from ..answer import Answer, Shown, TooLong
from ..endpoint import Endpoint
from ..faults import Refused, of_body, of_exception, of_stream
from ..traits import Traits
from .anthropic import AnthropicReader
from .anthropic_request import anthropic_body, anthropic_headers
from .chat_chunks import ChatReader
from .chat_request import chat_body
from .connections import pool, proxy_for, tls
from .events import BrokenStream, ErrorInStream, NotAStream
from .ollama import OllamaReader, ollama_body
from .patience import Timer
from .whole import feed_whole

if TYPE_CHECKING:
    import aiohttp

_LONGEST_ERROR = 65_536
"""Bytes that are read of an error's body."""
_LONGEST_WHOLE = 32 * 1024 * 1024
"""Bytes of an answer that comes as one JSON object."""
_DRAIN = 0.05
"""Seconds for what follows the end mark: a connection that was read to its end is used again."""


class Reader(Protocol):
    """Reads one wire format into an `Answer`."""

    @property
    def done(self) -> bool:
        """Nothing follows."""
        ...

    def feed(self, data: bytes) -> Iterator[Shown]:
        """Read what arrived and yield what can be shown."""
        ...

    def end(self) -> Iterator[Shown]:
        """The stream is over: read the rest."""
        ...

    def is_whole(self) -> bool:
        """The answer ended by itself."""
        ...


class DirectLane:
    """One server and one wire format."""

    def __init__(self, at: Endpoint, traits: Traits, *, window: int) -> None:
        self._at = at
        self._traits = traits
        self._window = window

    async def stream(self, request: Request, answer: Answer, timer: Timer) -> AsyncGenerator[Shown, None]:
        """What can be shown, as it arrives; the rest is in `answer` at the end. Raises ModelFault.

        Closing the generator closes the connection immediately.
        """
        response: aiohttp.ClientResponse | None = None
        try:
            response = await timer.wait(self._send(request))
            if response.status != 200:
                raise await self._refused(response, timer)
            async for part in self._read(response, answer, timer):
                yield part
        except (ModelFault, asyncio.CancelledError, GeneratorExit):
            raise
        except (ErrorInStream, BrokenStream, NotAStream) as e:
            raise of_stream(e, self._at, begun=answer.begun) from e
        except Exception as e:
            if (fault := of_exception(e, self._at, begun=timer.begun)) is None:
                raise
            raise fault from e
        finally:
            if response is not None:
                response.close()
                await asyncio.sleep(0)  # the socket is closed in the loop's next round

    async def _send(self, request: Request) -> aiohttp.ClientResponse:
        url, body, headers = self._request(request)
        data = msgspec.json.encode(body)
        https = url.startswith("https:")
        return await pool().post(
            url,
            data=data,
            headers={"Content-Type": "application/json", "Accept": "text/event-stream", **headers},
            proxy=proxy_for(url, local=self._at.local),
            ssl=tls() if https else True,
            allow_redirects=False,  # the key goes to this server and to no other
        )

    def _request(self, request: Request) -> tuple[str, dict[str, Any], Mapping[str, str]]:
        at, base = self._at, self._at.api_base or self._traits.base or ""
        bearer = {} if at.key is None else {"Authorization": f"Bearer {at.key}"}
        match self._traits.wire:
            case "chat":
                return f"{base}/chat/completions", chat_body(request, at, self._traits), bearer
            case "anthropic":
                path = "/messages" if base.endswith("/v1") else "/v1/messages"
                return base + path, anthropic_body(request, at), anthropic_headers(at)
            case "ollama":
                return f"{base}/api/chat", ollama_body(request, at, self._window), bearer

    def _reader(self, answer: Answer) -> Reader:
        readers: dict[str, Callable[[Answer], Reader]] = {
            "chat": ChatReader,
            "anthropic": AnthropicReader,
            "ollama": OllamaReader,
        }
        return readers[self._traits.wire](answer)

    async def _refused(self, response: aiohttp.ClientResponse, timer: Timer) -> ModelFault:
        body = b""
        with suppress(Exception):  # the status alone says enough
            body = await timer.wait(response.content.read(_LONGEST_ERROR))
        return of_body(Refused(response.status, dict(response.headers), body), self._at)

    async def _read(
        self, response: aiohttp.ClientResponse, answer: Answer, timer: Timer
    ) -> AsyncGenerator[Shown, None]:
        kind = response.headers.get("content-type", "")
        if "html" in kind or ("json" in kind and "ndjson" not in kind and self._traits.wire != "ollama"):
            for part in feed_whole(self._traits.wire, await self._body(response, timer), kind, answer):
                yield part
            return
        reader = self._reader(answer)
        try:
            while not reader.done:
                data = await _more(response, timer)
                if not data:
                    break
                before = answer.pieces
                for part in reader.feed(data):
                    yield part
                if answer.pieces > before:
                    timer.arrived()
                await asyncio.sleep(0)  # a fast server must not keep a command of the person waiting
            for part in reader.end():
                yield part
        except TooLong:
            return
        if not reader.is_whole():
            text = "the answer broke off: the stream ended without a finish"
            raise ModelFault("cut", text, retryable=True)
        with suppress(TimeoutError, ModelFault):
            async with asyncio.timeout(_DRAIN):
                while await _more(response, timer):
                    pass

    async def _body(self, response: aiohttp.ClientResponse, timer: Timer) -> bytes:
        pieces: list[bytes] = []
        while data := await timer.wait(response.content.readany()):
            pieces.append(data)
            if sum(map(len, pieces)) > _LONGEST_WHOLE:
                raise NotAStream("it sent more than 32 MB in one piece")
        return b"".join(pieces)


async def _more(response: aiohttp.ClientResponse, timer: Timer) -> bytes:
    """The next bytes; none at the end, also of a body that the server cut: what had arrived decides then."""
    import aiohttp

    try:
        return await timer.wait(response.content.readany())
    except (aiohttp.ClientPayloadError, aiohttp.ClientConnectionError, ConnectionError):
        return b""
