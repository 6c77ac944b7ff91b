"""Keep HTTP connections to model servers open between calls, one pool per event loop."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from time import monotonic
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast
from weakref import WeakKeyDictionary

from ...host.tls import import_aiohttp, tls
from ...protocol.version import VERSION
from .proxies import proxy_url

if TYPE_CHECKING:
    import aiohttp
    from yarl import URL

_KEPT = 15.0
"""Seconds that an idle connection is kept. A server may close it earlier, as llama.cpp's does after each stream."""
_CROSSING = 5.0
"""Seconds in which the end of an idle connection crosses a request. A server that closes later has begun to work."""
_CONNECT = 15.0
"""Seconds in which a connection must be made, with TLS. A server that is away may not even refuse it."""
_LONGEST_HEADER = 65_536

_pools: WeakKeyDictionary[asyncio.AbstractEventLoop, _Pool] = WeakKeyDictionary()


class _Pool:
    """The connections of one event loop."""

    def __init__(self) -> None:
        self.kept = _session(keeps=True)
        self.fresh = _session(keeps=False)
        """Makes a connection for each request."""

    async def close(self) -> None:
        await self.kept.close()
        await self.fresh.close()


class _Way:
    """How one request left. aiohttp passes it to the trace of the session."""

    is_reused = False
    """Whether the connection was open before."""


async def send(
    method: str,
    url: str | URL,
    *,
    headers: Mapping[str, str],
    local: bool,
    data: bytes | None = None,
    seconds: float | None = None,
) -> aiohttp.ClientResponse:
    """Send a request through the proxy of the environment, and return the answer when its headers have arrived.

    If the server closes a kept connection within seconds and without a byte of an answer, the request crossed the end
    of an idle connection. Then it is sent once more immediately, on a new connection: the requests of rundry change
    nothing at the server (RFC 9112, 9.3.1 allows a repeat of such requests). aiohttp does so itself only for GET.
    Redirects are not followed, because the key must not reach another server. `seconds`: time-out of the whole
    exchange. Raises aiohttp's errors, TimeoutError, and UserError for a proxy that cannot be used.
    """
    import_aiohttp()
    import aiohttp

    loop = asyncio.get_running_loop()
    pool = _pools.get(loop)
    if pool is None:
        pool = _pools[loop] = _Pool()
    address, way, sent = str(url), _Way(), monotonic()
    options: dict[str, Any] = {
        "data": data,
        "headers": headers,
        "proxy": proxy_url(address, local=local),
        "ssl": tls() if address.startswith("https:") else True,
        "allow_redirects": False,
    }
    if seconds is not None:
        options["timeout"] = aiohttp.ClientTimeout(total=seconds)
    try:
        return await pool.kept.request(method, url, **options, trace_request_ctx=way)
    except (aiohttp.ServerDisconnectedError, aiohttp.ClientOSError, aiohttp.ClientConnectionResetError) as error:
        has_begun = isinstance(error, aiohttp.ServerDisconnectedError) and not isinstance(error.message, str)
        if not way.is_reused or has_begun or monotonic() - sent > _CROSSING:
            raise
    return await pool.fresh.request(method, url, **options)


def _session(*, keeps: bool) -> aiohttp.ClientSession:
    import aiohttp

    async def reused(
        session: aiohttp.ClientSession, context: SimpleNamespace, _: aiohttp.TraceConnectionReuseconnParams
    ) -> None:
        cast(_Way, context.trace_request_ctx).is_reused = True

    trace = aiohttp.TraceConfig()
    trace.on_connection_reuseconn.append(reused)
    connector = (
        aiohttp.TCPConnector(limit=0, keepalive_timeout=_KEPT)
        if keeps
        else aiohttp.TCPConnector(limit=0, force_close=True)
    )
    return aiohttp.ClientSession(
        connector=connector,
        timeout=aiohttp.ClientTimeout(total=None, sock_connect=_CONNECT, sock_read=None),
        headers={"User-Agent": f"rundry/{VERSION}"},
        cookie_jar=aiohttp.DummyCookieJar(),
        max_line_size=_LONGEST_HEADER,
        max_field_size=_LONGEST_HEADER,
        trace_configs=[trace],
    )


async def close_pool() -> None:
    """Close the running loop's connections. No call may be running."""
    pool = _pools.pop(asyncio.get_running_loop(), None)
    if pool is not None:
        await pool.close()


@asynccontextmanager
async def borrowed_pool() -> AsyncGenerator[None, None]:
    """Use the connections of the running event loop in the block. Close them after it if they were not open before."""
    is_ours = asyncio.get_running_loop() not in _pools
    try:
        yield
    finally:
        if is_ours:
            await close_pool()


async def pieces(response: aiohttp.ClientResponse, limit: int) -> AsyncGenerator[bytes, None]:
    """Yield the body as it arrives, to its end or at most `limit` bytes. Raises aiohttp's errors."""
    while limit > 0 and (data := await response.content.readany()):
        yield data[:limit]
        limit -= len(data)


def with_headers(headers: Mapping[str, str], more: Mapping[str, str]) -> dict[str, str]:
    """Return the headers with `more`, which replace those of the same name in any spelling."""
    names = {name.lower() for name in more}
    return {**{name: value for name, value in headers.items() if name.lower() not in names}, **more}
