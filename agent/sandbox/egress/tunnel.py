"""A tunnel through the proxy. The first bytes of the client must ask for the host that the tunnel was opened to.

TLS must name this host, and a plain HTTP request must have it in its Host header. Other protocols (SSH, git) pass. The
server gets no byte of the client before the check. What TLS encrypts cannot be checked: neither the Host header of an
HTTPS request, nor TLS that begins later in another protocol (STARTTLS).
"""

from __future__ import annotations

import asyncio
import re
from contextlib import suppress
from typing import TYPE_CHECKING

from ...host.internet import address_in_entry
from .client_hello import hello_problem, message_length
from .proxy_requests import read_inner

if TYPE_CHECKING:
    from ...host.address_hosts import Target

PIECE = 1 << 16
LONGEST_HEAD = 32_000
"""Maximum number of bytes of a ClientHello or of the head of an HTTP request."""
_LONGEST_LINE = 8_200
_OPENING_SECONDS, _IDLE_SECONDS = 10.0, 300.0
_HANDSHAKE = 0x16
_LONGEST_RECORD, _LONGEST_ENCRYPTED = 1 << 14, (1 << 14) + 256
"""RFC 8446, 5.1 and 5.2, in bytes."""
_DENIED = bytes.fromhex("15 0301 0002 0231")
"""The alert `access_denied` in a TLS record (RFC 8446, 6)."""
_RETRY = bytes.fromhex("CF21AD74E59A6111BE1D8C021E65B891C2A211167ABB8C5E079E09E2C8A8339C")
"""The random value of a HelloRetryRequest (RFC 8446, 4.1.3)."""
_ANSWER = 50
"""Bytes of a server's answer up to its random value, also after a warning; the answer itself is longer."""
_TOKEN = re.compile(rb"\s*(?:[A-Za-z0-9!#$%&'*+.^_`|~-]|$)")
"""The start of a method, also after the white space that some servers skip (RFC 9112, 2.2)."""
_HTTP = re.compile(rb"HTTP/|^\S+\s+(?:/|https?:)", re.IGNORECASE)
"""Matches the first line of an HTTP request, also of version 0.9."""


class TunnelRefused(Exception):
    """The connection is refused; the message says why."""

    def __init__(self, why: str, answer: bytes | None = None) -> None:
        """`answer`: what the client is sent; by default an HTTP response with the message."""
        super().__init__(why)
        text = f"HTTP/1.1 403 Forbidden\r\nConnection: close\r\n\r\nrundry: {why}\n"
        self.answer = text.encode() if answer is None else answer


class _Answer:
    """The first bytes of a server's answer."""

    def __init__(self) -> None:
        self._head = b""
        self._known = asyncio.Event()

    def add(self, piece: bytes) -> None:
        if not self._known.is_set():
            self._head += piece[: 2 * _ANSWER]
            if len(self._head) >= _ANSWER:
                self._known.set()

    def end(self) -> None:
        self._known.set()

    async def is_retry(self) -> bool:
        await self._known.wait()
        return _RETRY in self._head


Ends = tuple[asyncio.StreamReader, asyncio.StreamWriter]


async def carry_tunnel(target: Target, client: Ends, server: Ends) -> None:
    """Copy in both directions until both ended. Raises Refused if the client asks for another host."""
    answer = _Answer()
    back = asyncio.create_task(_to_client(server[0], client[1], answer))
    try:
        await _to_server(target, client[0], server[1], answer)
        await back
    finally:
        back.cancel()


async def relay(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Copy until the end of one direction, then close that direction."""
    while (piece := await _read(reader)) and await _write(writer, piece):
        pass
    _end(writer)


async def _to_client(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, answer: _Answer) -> None:
    while piece := await _read(reader):
        answer.add(piece)
        if not await _write(writer, piece):
            break
    answer.end()
    _end(writer)


async def _to_server(
    target: Target, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, answer: _Answer
) -> None:
    if first := await _read(reader, 1):
        await _write(writer, await _opening(target, reader, first))
        if first[0] == _HANDSHAKE:
            await _pass_second_hello(target, reader, writer, answer)
    await relay(reader, writer)


async def _pass_second_hello(
    target: Target, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, answer: _Answer
) -> None:
    """Check the second ClientHello as well if the server asks for one: servers use the name in it."""
    while first := await _read(reader, 1):
        is_retry = await answer.is_retry()
        if not is_retry or first[0] == _HANDSHAKE:
            await _write(writer, await _opening(target, reader, first) if is_retry else first)
            return
        async with asyncio.timeout(_OPENING_SECONDS):  # early data or an alert
            await _write(writer, b"".join(await _record(target, reader, first, _LONGEST_ENCRYPTED)))


async def _opening(target: Target, reader: asyncio.StreamReader, first: bytes) -> bytes:
    """Return the checked first bytes for the server."""
    try:
        async with asyncio.timeout(_OPENING_SECONDS):
            return await (_hello if first[0] == _HANDSHAKE else _plain)(target, reader, first)
    except TimeoutError:
        raise TunnelRefused(
            f"refused {target}: its first bytes were not complete in {_OPENING_SECONDS:g} s", b""
        ) from None


async def _hello(target: Target, reader: asyncio.StreamReader, first: bytes) -> bytes:
    """Read the records of a ClientHello."""
    records = message = b""
    while (length := message_length(message)) is None or len(message) < length:
        header, content = await _record(target, reader, first, _LONGEST_RECORD)
        records += header + content
        message += content
        if header[0] != _HANDSHAKE or not content or len(records) > LONGEST_HEAD:
            raise _unreadable(target)
        first = b""
    is_address = address_in_entry(target.host) is not None
    if problem := hello_problem(message, target.host, is_address=is_address):
        raise TunnelRefused(f"refused {target}: {problem}", _DENIED)
    return records


async def _record(target: Target, reader: asyncio.StreamReader, first: bytes, longest: int) -> tuple[bytes, bytes]:
    """Read the header and the content of a TLS record, of whose header the first bytes were read already."""
    header = first + await reader.readexactly(5 - len(first))
    length = int.from_bytes(header[3:], "big")
    if header[1] != 3 or length > longest:
        raise _unreadable(target)
    return header, await reader.readexactly(length)


def _unreadable(target: Target) -> TunnelRefused:
    return TunnelRefused(f"refused {target}: its TLS cannot be read", _DENIED)


async def _plain(target: Target, reader: asyncio.StreamReader, first: bytes) -> bytes:
    """Read the first line and, if it is of an HTTP request, the head; other bytes are returned as they are."""
    data = first
    if 0x80 <= first[0] < 0xF0:
        data += await reader.readexactly(2)
        if data[2] == 1:
            raise TunnelRefused(f"refused {target}: its TLS names no server (ClientHello of SSL 2)", _DENIED)
        return data
    while _TOKEN.match(data):
        line, end, _ = data.lstrip().partition(b"\n")
        if end and _HTTP.search(line):
            return await _request(target, reader, data)
        if end or b"\0" in line:
            break
        piece = await reader.read(PIECE)
        data += piece
        if not piece or len(data) > _LONGEST_LINE:
            raise TunnelRefused(f"refused {target}: its first line is not complete", b"")
    return data


async def _request(target: Target, reader: asyncio.StreamReader, data: bytes) -> bytes:
    while b"\r\n\r\n" not in data:
        piece = await reader.read(PIECE)
        data += piece
        if not piece or len(data) > LONGEST_HEAD:
            raise TunnelRefused(f"refused {target}: the head of its HTTP request is not complete")
    head, end, rest = data.partition(b"\r\n\r\n")
    inner = read_inner(head + end, target)
    if inner is None:
        raise TunnelRefused(f"refused {target}: its HTTP request is not for this host")
    return inner + rest


async def _read(reader: asyncio.StreamReader, limit: int = PIECE) -> bytes:
    """Return the next bytes; empty at the end and if nothing comes for a long time."""
    with suppress(OSError, TimeoutError):
        async with asyncio.timeout(_IDLE_SECONDS):
            return await reader.read(limit)
    return b""


async def _write(writer: asyncio.StreamWriter, piece: bytes) -> bool:
    """Return whether the other side still accepts bytes."""
    with suppress(OSError):
        writer.write(piece)
        await writer.drain()
        return True
    return False


def _end(writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        if writer.can_write_eof():
            writer.write_eof()
