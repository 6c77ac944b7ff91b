"""Connections that are slow, many, or not TLS at all."""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest
from aiohttp import web
from fakes.web.certificates import Authority

from rundry.tui.web.limited_listener import LimitedListener, Limits

LONG = "x" * 20_000_000


@asynccontextmanager
async def listening(folder: Path, limits: Limits) -> AsyncIterator[tuple[LimitedListener, int]]:
    async def answer(_request: web.Request) -> web.Response:
        return web.Response(text=LONG)

    app = web.Application()
    app.router.add_get("/", answer)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    assert runner.server is not None
    own = socket.create_server(("127.0.0.1", 0))
    listener = LimitedListener(own, Authority(folder).server("127.0.0.1"), runner.server, limits)
    serving = asyncio.ensure_future(listener.serve())
    try:
        yield listener, own.getsockname()[1]
    finally:
        serving.cancel()
        await listener.close()
        await runner.cleanup()


async def tls(port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    client = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    client.check_hostname, client.verify_mode = False, ssl.CERT_NONE
    return await asyncio.open_connection("127.0.0.1", port, ssl=client)


async def is_ended(reader: asyncio.StreamReader) -> bool:
    """Read to the end that the server makes."""
    try:
        async with asyncio.timeout(30):
            while await reader.read(65_536):
                pass
    except (ConnectionError, ssl.SSLError):
        pass
    return True


async def until_none_is_open(listener: LimitedListener) -> None:
    async with asyncio.timeout(30):
        while listener.open:
            await asyncio.sleep(0.01)


@pytest.mark.parametrize(
    "sent",
    [
        b"",
        b"GET / HTTP/1.1\r\n",
        b"GET / HTTP/1.1\r\nHost: a\r\nX: ",
        b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 900\r\n\r\nx",
    ],
    ids=["nothing", "line", "head", "body"],
)
async def test_a_request_that_never_ends_is_ended(tmp_path: Path, sent: bytes):
    async with listening(tmp_path, Limits(life=0.5)) as (listener, port):
        reader, writer = await tls(port)
        writer.write(sent)
        assert await is_ended(reader)
        await until_none_is_open(listener)
        writer.close()


async def test_bytes_that_come_one_by_one_do_not_prolong_a_connection(tmp_path: Path):
    async with listening(tmp_path, Limits(life=0.5)) as (listener, port):
        reader, writer = await tls(port)
        ended = asyncio.ensure_future(is_ended(reader))
        writer.write(b"GET / HTTP/1.1\r\nHost: a\r\nX: ")
        while not ended.done():
            writer.write(b"x")
            await asyncio.sleep(0.01)
        await until_none_is_open(listener)
        writer.close()


async def test_an_answer_that_nobody_reads_is_given_up(tmp_path: Path):
    async with listening(tmp_path, Limits(life=0.5)) as (listener, port):
        _, writer = await tls(port)
        writer.write(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        await writer.drain()
        async with asyncio.timeout(30):
            while not listener.open:
                await asyncio.sleep(0.01)
        await until_none_is_open(listener)
        writer.transport.abort()


async def test_a_connection_without_tls_gets_no_answer(tmp_path: Path):
    async with listening(tmp_path, Limits(handshake=0.5)) as (listener, port):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        answer = b""
        with suppress(ConnectionError):
            answer = await reader.read()
        assert b"HTTP" not in answer
        writer.close()
        silent, other = await asyncio.open_connection("127.0.0.1", port)
        assert await is_ended(silent)
        await until_none_is_open(listener)
        other.close()


async def test_one_address_gets_a_limited_number_of_connections_and_later_ones_again(tmp_path: Path):
    async with listening(tmp_path, Limits(most_of_one=3, life=20.0)) as (listener, port):
        kept = [await tls(port) for _ in range(3)]
        refused_reader, refused_writer = await asyncio.open_connection("127.0.0.1", port)
        assert await is_ended(refused_reader)
        assert listener.turned_away == 1 and listener.open == 3
        refused_writer.close()
        kept[0][1].close()
        async with asyncio.timeout(30):
            while listener.open == 3:
                await asyncio.sleep(0.01)
        reader, writer = await tls(port)
        writer.write(b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
        assert (await reader.read(15)).startswith(b"HTTP/1.1 200")
        for _, one in [*kept[1:], (reader, writer)]:
            one.transport.abort()


async def test_all_addresses_together_get_a_limited_number(tmp_path: Path):
    async with listening(tmp_path, Limits(most=2)) as (listener, port):
        kept = [await tls(port) for _ in range(2)]
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        assert await is_ended(reader) and listener.turned_away == 1
        for _, one in [*kept, (reader, writer)]:
            one.transport.abort()
        await until_none_is_open(listener)
