"""Capture the request that litellm builds, with address, key and signature, before litellm sends it."""

from __future__ import annotations

import re
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, cast

import msgspec

from ..exchange import Outgoing
from ..formats.by_path import ALWAYS_STREAMED, wire_of_path

if TYPE_CHECKING:
    from ...endpoint import Endpoint
    from ...litellm_use.untyped import Untyped


class RequestCapture:
    """Records whether litellm used the network within `capturing`."""

    def __init__(self, at: Endpoint, *, takes_requests: bool = True, sends: bool = True) -> None:
        """`takes_requests`: False if litellm has to send every request itself. `sends`: False if no request is sent."""
        self.at = at
        self.takes_requests = takes_requests
        self.sends = sends
        self.sent = False
        """Whether litellm sent a request itself."""


_active_capture: ContextVar[RequestCapture | None] = ContextVar("_watching", default=None)
_CREDENTIAL_HEADER = re.compile(r"auth|key|token|secret|cookie", re.IGNORECASE)
_OWN = frozenset({"accept-encoding", "connection", "content-length", "host", "user-agent"})
"""Headers that the HTTP client sets itself."""
_CONVERSATION = frozenset({
    "messages", "input", "contents", "system", "tools", "schema", "json_schema", "responseSchema", "responseJsonSchema",
})  # fmt: skip
"""Fields whose own fields are the conversation's, or those of a schema."""


class RequestBuilt(BaseException):
    """Carries a request that is ready. Not an Exception, because litellm and its libraries would wrap it and retry."""

    def __init__(self, outgoing: Outgoing | None) -> None:
        """`outgoing`: the request, or None if it is not sent."""
        super().__init__("the request is built")
        self.outgoing = outgoing


class ForeignHost(BaseException):
    """litellm would send a key to a host that may not get it. Not an Exception, for the same reason."""

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self.url = url


@contextmanager
def capturing(capture: RequestCapture) -> Generator[None]:
    """Raise `RequestBuilt` for each request whose answer can be read here. Other requests are sent.

    These are sent without following redirects, and only if their host may get what they hold. Raises `ForeignHost`.
    """
    _install_checks()
    token = _active_capture.set(capture)
    try:
        yield
    finally:
        _active_capture.reset(token)


@cache
def _install_checks() -> None:
    """Add checks to the HTTP clients that litellm uses: `httpx.AsyncClient` for calls, the others for tokens."""
    httpx: Untyped = import_module("httpx")
    aiohttp: Untyped = import_module("aiohttp")
    requests: Untyped = import_module("requests")
    send, send_blocking = httpx.AsyncClient.send, httpx.Client.send
    ask, ask_blocking = aiohttp.ClientSession._request, requests.Session.send

    async def checked(self: Untyped, request: Untyped, **options: Untyped) -> Untyped:
        if (capture := _active_capture.get()) is None:
            return await send(self, request, **options)
        if capture.takes_requests and (outgoing := await _outgoing(request)) is not None:
            raise RequestBuilt(outgoing)
        _check(capture, str(request.url), request.headers, bytes(await request.aread()))
        return await send(self, request, **{**options, "follow_redirects": False})

    def checked_blocking(self: Untyped, request: Untyped, **options: Untyped) -> Untyped:
        if (capture := _active_capture.get()) is None:
            return send_blocking(self, request, **options)
        _check(capture, str(request.url), request.headers, bytes(request.read()))
        return send_blocking(self, request, **{**options, "follow_redirects": False})

    async def asked(self: Untyped, method: str, url: Untyped, **options: Untyped) -> Untyped:
        if (capture := _active_capture.get()) is None:
            return await ask(self, method, url, **options)
        _check(capture, str(url), options.get("headers") or {}, msgspec.json.encode(options.get("json")))
        return await ask(self, method, url, **{**options, "allow_redirects": False})

    def asked_blocking(self: Untyped, request: Untyped, **options: Untyped) -> Untyped:
        if (capture := _active_capture.get()) is None:
            return ask_blocking(self, request, **options)
        body = request.body or b""
        _check(capture, str(request.url), request.headers, body if isinstance(body, bytes) else str(body).encode())
        return ask_blocking(self, request, **{**options, "allow_redirects": False})

    httpx.AsyncClient.send, httpx.Client.send = checked, checked_blocking
    aiohttp.ClientSession._request, requests.Session.send = asked, asked_blocking


def _check(capture: RequestCapture, url: str, headers: Mapping[str, str], body: bytes) -> None:
    """Raise ForeignHost if the request holds a key and its host may not get it, RequestBuilt if nothing is sent."""
    if not capture.sends:
        raise RequestBuilt(None)
    at = capture.at
    if not at.may_reach(url):
        head = "\n".join([url, *(str(value) for value in headers.values())])
        holds_key = any(secret in head or secret.encode() in body for secret in at.secrets)
        if holds_key or any(_CREDENTIAL_HEADER.search(str(name)) for name in headers):
            raise ForeignHost(url)
    capture.sent = True


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


def field_names(body: bytes) -> set[str]:
    """Return the names of all fields of a request, at any depth outside of the conversation and the tools' schemas."""
    names: set[str] = set()
    waiting: list[object] = [msgspec.json.decode(body) if _fields(body) else None]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            for name, inner in cast("dict[str, object]", value).items():
                names.add(name)
                if name not in _CONVERSATION:
                    waiting.append(inner)
        elif isinstance(value, list):
            waiting += cast("list[object]", value)
    return names


def _fields(body: bytes) -> dict[str, msgspec.Raw]:
    try:
        return msgspec.json.decode(body, type=dict[str, msgspec.Raw])
    except msgspec.DecodeError:
        return {}
