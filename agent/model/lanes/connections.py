"""Keep HTTP connections to model servers open between calls, one pool per event loop."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from ...system.tls import import_aiohttp
from ...version import VERSION

if TYPE_CHECKING:
    import aiohttp

_KEPT = 15.0
"""Seconds that an idle connection is kept: many servers close theirs after 20 or more."""
_CONNECT = 15.0
"""Seconds in which a connection must be made, with TLS. A server that is away may not even refuse it."""
_LONGEST_HEADER = 65_536


class Sending:
    """A request that is sent, and whether it went over a connection that was kept from an earlier call."""

    is_reused = False


_pools: WeakKeyDictionary[asyncio.AbstractEventLoop, aiohttp.ClientSession] = WeakKeyDictionary()


def pool() -> aiohttp.ClientSession:
    """Return the connections of the running event loop. The first call imports aiohttp (0.12 s)."""
    import_aiohttp()
    import aiohttp

    loop = asyncio.get_running_loop()
    session = _pools.get(loop)
    if session is None or session.closed:
        session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=_KEPT),
            trace_configs=[_watch_reuse()],
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=_CONNECT, sock_read=None),
            headers={"User-Agent": f"rundry/{VERSION}"},
            cookie_jar=aiohttp.DummyCookieJar(),
            max_line_size=_LONGEST_HEADER,
            max_field_size=_LONGEST_HEADER,
        )
        _pools[loop] = session
    return session


def _watch_reuse() -> aiohttp.TraceConfig:
    """Return what notes in the `Sending` of a request that it got a kept connection."""
    import aiohttp

    async def note(_session: aiohttp.ClientSession, context: SimpleNamespace, _params: object) -> None:
        if isinstance(sending := context.trace_request_ctx, Sending):
            sending.is_reused = True

    watched = aiohttp.TraceConfig()
    watched.on_connection_reuseconn.append(note)
    return watched


async def close_pool() -> None:
    """Close the running loop's connections. No call may be running."""
    session = _pools.pop(asyncio.get_running_loop(), None)
    if session is not None:
        await session.close()


@asynccontextmanager
async def borrowed_pool() -> AsyncGenerator[None, None]:
    """Use the connections of the running event loop in the block. Close them after it if they were not open before."""
    is_ours = asyncio.get_running_loop() not in _pools
    try:
        yield
    finally:
        if is_ours:
            await close_pool()


async def pieces(response: aiohttp.ClientResponse, most: int) -> AsyncGenerator[bytes, None]:
    """Yield the body as it arrives, to its end or at most `most` bytes. Raises aiohttp's errors."""
    while most > 0 and (data := await response.content.readany()):
        yield data[:most]
        most -= len(data)


def with_headers(headers: Mapping[str, str], more: Mapping[str, str]) -> dict[str, str]:
    """Return the headers with `more`, which replace those of the same name in any spelling."""
    names = {name.lower() for name in more}
    return {**{name: value for name, value in headers.items() if name.lower() not in names}, **more}
