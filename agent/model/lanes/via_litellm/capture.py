"""Capture the request that litellm builds instead of sending it: its address, key and signature are then known."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from importlib import import_module

import msgspec

from ...litellm_use.untyped import Untyped
from ..exchange import Outgoing
from ..formats import ALWAYS_STREAMED, wire_at


class RequestCapture:
    """Records litellm's use of the network within `capturing`."""

    sent = False
    """litellm sent a request."""


_watching: ContextVar[RequestCapture | None] = ContextVar("_watching", default=None)
_OWN = frozenset({"accept-encoding", "connection", "content-length", "host", "user-agent"})
"""Headers that the HTTP client sets itself."""


class Built(BaseException):
    """A request is ready. Not an Exception, because litellm and the client libraries would wrap it and retry."""

    def __init__(self, outgoing: Outgoing) -> None:
        super().__init__("the request is built")
        self.outgoing = outgoing


@contextmanager
def capturing(capture: RequestCapture) -> Generator[None]:
    """Raise `Built` for each request whose answer can be read here. Other requests are sent."""
    _put_check()
    token = _watching.set(capture)
    try:
        yield
    finally:
        _watching.reset(token)


@cache
def _put_check() -> None:
    """Add a check before `httpx.AsyncClient.send`, which sends every request of litellm's async calls."""
    client: Untyped = import_module("httpx").AsyncClient
    send = client.send

    async def checked(self: Untyped, request: Untyped, **options: Untyped) -> Untyped:
        if (capture := _watching.get()) is not None:
            if (outgoing := await _outgoing(request)) is not None:
                raise Built(outgoing)
            capture.sent = True
        return await send(self, request, **options)

    client.send = checked


async def _outgoing(request: Untyped) -> Outgoing | None:
    """Return the request to send directly; None for one that litellm sends: another format, or not a stream."""
    wire = wire_at(str(request.url.path))
    if request.method != "POST" or wire is None:
        return None
    body = bytes(await request.aread())
    if wire not in ALWAYS_STREAMED and not _asks_for_a_stream(body):
        return None
    if wire == "chat" and "anthropic_version" in _fields(body):
        wire = "anthropic"  # Vertex behind an address that does not name the publisher
    headers = {str(k): str(v) for k, v in request.headers.items()}
    kept = {k: v for k, v in headers.items() if k.lower() not in _OWN and not k.lower().startswith("x-stainless")}
    return Outgoing(wire=wire, url=str(request.url), data=body, headers=kept, is_signed=True)


def _asks_for_a_stream(body: bytes) -> bool:
    stream = _fields(body).get("stream")
    return stream is not None and bytes(stream) == b"true"


def offers_tools(body: bytes) -> bool:
    """Return whether the request offers tools to the model. Formats with one text (`prompt`) cannot."""
    fields = _fields(body)
    return any("tool" in name for name in fields) and not {"prompt", "inputText"} & fields.keys()


def _fields(body: bytes) -> dict[str, msgspec.Raw]:
    try:
        return msgspec.json.decode(body, type=dict[str, msgspec.Raw])
    except msgspec.DecodeError:
        return {}
