"""A real HTTP proxy on loopback: `CONNECT` and plain requests, with or without a password. It reaches one server."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field


@dataclass
class Seen:
    """What the proxy was asked for."""

    port: int = 0
    lines: list[str] = field(default_factory=list)
    """The first lines of the requests."""


@asynccontextmanager
async def http_proxy(target: int, *, password: str | None = None, refuses: str | None = None) -> AsyncIterator[Seen]:
    """Forward every connection to this port of loopback, whatever host is asked for.

    `password`: `user:password` that a client must send. `refuses`: a status line for every request.
    """
    seen = Seen()
    wanted = password and "proxy-authorization: basic " + base64.b64encode(password.encode()).decode()
    tasks: set[asyncio.Task] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        tasks.add(asyncio.current_task())
        with suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            head = await reader.readuntil(b"\r\n\r\n")
            first, *fields = head.decode("latin-1").split("\r\n")
            seen.lines.append(first)
            given = [f for f in fields if f.lower().startswith("proxy-authorization")]
            if wanted and not any(f.split(" ")[-1] == wanted.split(" ")[-1] for f in given):
                writer.write(
                    b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
                )
            elif refuses:
                writer.write(_refusal(refuses))
            else:
                up, down = await asyncio.open_connection("127.0.0.1", target)
                if first.startswith("CONNECT"):
                    writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
                else:
                    method, url, version = first.split(" ")
                    path = "/" + url.split("://", 1)[1].partition("/")[2]
                    kept = [f for f in fields if not f.lower().startswith(("proxy-", "connection"))]
                    down.write(
                        "\r\n".join([f"{method} {path} {version}", "Connection: close", *kept]).encode("latin-1")
                    )
                await asyncio.gather(_copy(reader, down), _copy(up, writer))
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    seen.port = server.sockets[0].getsockname()[1]
    try:
        yield seen
    finally:
        server.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def _refusal(status: str) -> bytes:
    return f"HTTP/1.1 {status}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".encode()


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(ConnectionError):
        while data := await reader.read(65_536):
            writer.write(data)
            await writer.drain()
    with suppress(ConnectionError, RuntimeError):
        writer.close()
