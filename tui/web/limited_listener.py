"""Accept TLS connections with limits that hold from the first byte: their number, and the life of each one.

aiohttp has no time limit for the head of a request, and none for an answer that is read slowly.
"""

from __future__ import annotations

import asyncio
import errno
import socket
import ssl
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from aiohttp.web import Server

_BUSY = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})
_BUSY_SECONDS = 0.1


@dataclass(frozen=True, slots=True)
class Limits:
    """What connections may take."""

    most: int = 48
    """Connections that may be open at the same time."""
    most_of_one: int = 12
    """Of these, connections from one address."""
    life: float = 20.0
    """Seconds from the accept of a connection to its end, whatever it does."""
    handshake: float = 5.0
    """Of these, seconds for the handshake of TLS."""


class LimitedListener:
    """Serves the connections to one listening socket, which it owns."""

    def __init__(
        self,
        listening: socket.socket,
        context: ssl.SSLContext,
        server: Server,
        limits: Limits | None = None,
    ) -> None:
        """`server`: makes the protocol of each connection."""
        listening.setblocking(False)
        self._limits = limits or Limits()
        self._listening, self._context, self._server = listening, context, server
        self._peers = Counter[str]()
        self._tasks = set[asyncio.Task[None]]()
        self.turned_away = 0
        """Connections that were closed unanswered because too many were open."""

    @property
    def open(self) -> int:
        """Number of open connections."""
        return self._peers.total()

    async def serve(self) -> None:
        """Accept connections until this is cancelled."""
        loop = asyncio.get_running_loop()
        while True:
            try:
                connection, address = await loop.sock_accept(self._listening)
            except OSError as error:
                if error.errno in _BUSY:
                    await asyncio.sleep(_BUSY_SECONDS)
                continue
            peer = str(address[0])
            if self.open >= self._limits.most or self._peers[peer] >= self._limits.most_of_one:
                self.turned_away += 1
                connection.close()
                continue
            self._peers[peer] += 1
            task = asyncio.ensure_future(self._serve_one(connection, peer))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def close(self) -> None:
        """End every connection, and stop listening."""
        self._listening.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _serve_one(self, connection: socket.socket, peer: str) -> None:
        loop = asyncio.get_running_loop()
        transport: asyncio.BaseTransport | None = None
        try:
            async with asyncio.timeout(self._limits.life):
                transport, protocol = await loop.connect_accepted_socket(
                    lambda: _Watched(self._server()),
                    connection,
                    ssl=self._context,
                    ssl_handshake_timeout=self._limits.handshake,
                    ssl_shutdown_timeout=1.0,
                )
                await protocol.lost.wait()
        except (OSError, TimeoutError):  # not TLS, broken off, or too slow
            pass
        finally:
            if isinstance(transport, asyncio.WriteTransport):
                transport.abort()
            else:
                with suppress(OSError):
                    connection.close()
            self._peers[peer] -= 1
            if not self._peers[peer]:
                del self._peers[peer]


class _Watched(asyncio.Protocol):
    """Passes everything on to a protocol, and knows when its connection is lost."""

    def __init__(self, inner: asyncio.Protocol) -> None:
        self._inner = inner
        self.lost = asyncio.Event()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._inner.connection_made(transport)

    def data_received(self, data: bytes) -> None:
        self._inner.data_received(data)

    def eof_received(self) -> bool | None:
        return self._inner.eof_received()

    def pause_writing(self) -> None:
        self._inner.pause_writing()

    def resume_writing(self) -> None:
        self._inner.resume_writing()

    def connection_lost(self, exc: Exception | None) -> None:
        self._inner.connection_lost(exc)
        self.lost.set()
