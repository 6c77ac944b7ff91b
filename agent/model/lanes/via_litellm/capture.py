"""Capture the request that litellm builds, with address, key and signature, before litellm sends it."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

import msgspec

from ..exchange import Outgoing
from ..formats.by_path import ALWAYS_STREAMED, wire_of_path

if TYPE_CHECKING:
    from ...litellm_use.untyped import Untyped


class RequestCapture:
    """Records whether litellm used the network within `capturing`."""

    sent = False
    """Whether litellm sent a request itself."""


_active_capture: ContextVar[RequestCapture | None] = ContextVar("_watching", default=None)
_OWN = frozenset({"accept-encoding", "connection", "content-length", "host", "user-agent"})
"""Headers that the HTTP client sets itself."""


class RequestBuilt(BaseException):
    """Carries a request that is ready. Not an Exception, because litellm and its libraries would wrap it and retry."""

    def __init__(self, outgoing: Outgoing) -> None:
        super().__init__("the request is built")
        self.outgoing = outgoing


@contextmanager
def capturing(capture: RequestCapture) -> Generator[None]:
    """Raise `RequestBuilt` for each request whose answer can be read here. Other requests are sent."""
    _install_check()
    token = _active_capture.set(capture)
    try:
        yield
    finally:
        _active_capture.reset(token)


@cache
def _install_check() -> None:
    """Add a check before `httpx.AsyncClient.send`, which sends every request of litellm's async calls."""
    client: Untyped = import_module("httpx").AsyncClient
    send = client.send

    async def checked(self: Untyped, request: Untyped, **options: Untyped) -> Untyped:
        if (capture := _active_capture.get()) is not None:
            if (outgoing := await _outgoing(request)) is not None:
                raise RequestBuilt(outgoing)
            capture.sent = True
        return await send(self, request, **options)

    client.send = checked


async def _outgoing(request: Untyped) -> Outgoing | None:
    """Return the request to send directly; None if litellm must send it: another format, or not a stream."""
    wire = wire_of_path(str(request.url.path))
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
