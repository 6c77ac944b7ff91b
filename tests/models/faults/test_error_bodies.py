"""The body of an HTTP error is read to its end, whatever its transfer, within limits (docs/requirements.md 8.3)."""

from __future__ import annotations

import asyncio
import gzip
import json
import time
import zlib
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest

from rundry.agent.models.ask_servers import ask_server
from rundry.agent.protocol import ModelFault

LONG = "This model's maximum context length is 4096 tokens. However, your messages resulted in 9000 tokens."
BODY = json.dumps({"error": {"message": LONG, "type": "invalid_request_error"}}).encode()

Write = Callable[[asyncio.StreamWriter], Awaitable[None]]


@asynccontextmanager
async def raw_server(write: Write) -> AsyncIterator[str]:
    """A server that answers each request with bytes that the test writes."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        running.add(asyncio.current_task())
        head = await reader.readuntil(b"\r\n\r\n")
        fields = dict(line.lower().split(b": ", 1) for line in head.split(b"\r\n")[1:] if b": " in line)
        await reader.readexactly(int(fields.get(b"content-length", b"0")))
        try:
            await write(writer)
            await writer.drain()
        except (ConnectionError, asyncio.CancelledError):
            pass  # the client has what it needs
        finally:
            writer.close()

    running: set[asyncio.Task] = set()
    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
    finally:
        server.close()
        for task in running:
            task.cancel()
        await asyncio.gather(*running)


def head(status: str, **fields: object) -> bytes:
    lines = [f"HTTP/1.1 {status}", "Content-Type: application/json", "Connection: close"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in fields.items()]
    return "\r\n".join([*lines, "", ""]).encode()


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


async def fault_of(opened, write: Write) -> ModelFault:
    async with raw_server(write) as base:
        asked = await opened(base, "openai/fake", context=8000)
        with pytest.raises(ModelFault) as caught:
            await asked.ask()
    return caught.value


async def in_pieces(writer: asyncio.StreamWriter, *pieces: bytes) -> None:
    """Write each piece in a packet of its own."""
    for piece in pieces:
        writer.write(piece)
        await writer.drain()
        for _ in range(10):  # rounds of the event loop in which the client reads it
            await asyncio.sleep(0)


@pytest.mark.parametrize("cut", [1, 24, 60, len(BODY) - 1])
async def test_a_body_in_two_packets_is_read_to_its_end(opened, cut):
    async def write(writer):
        await in_pieces(writer, head("400 Bad", Content_Length=len(BODY)) + BODY[:cut], BODY[cut:])

    fault = await fault_of(opened, write)
    assert fault.kind == "context" and LONG in fault.text


async def test_a_body_of_one_byte_a_chunk_is_read_to_its_end(opened):
    async def write(writer):
        pieces = [chunk(BODY[at : at + 1]) for at in range(len(BODY))]
        await in_pieces(writer, head("400 Bad", Transfer_Encoding="chunked"), *pieces[:20], b"".join(pieces[20:]))
        await in_pieces(writer, b"0\r\n\r\n")

    fault = await fault_of(opened, write)
    assert fault.kind == "context" and LONG in fault.text


async def test_a_body_that_ends_with_the_connection_is_read_to_its_end(opened):
    async def write(writer):
        await in_pieces(writer, head("400 Bad"), BODY[:30], BODY[30:])

    assert (await fault_of(opened, write)).kind == "context"


@pytest.mark.parametrize(
    ("name", "packed"), [("gzip", gzip.compress(BODY)), ("deflate", zlib.compress(BODY))], ids=["gzip", "deflate"]
)
async def test_a_compressed_body_in_two_packets_is_unpacked(opened, name, packed):
    async def write(writer):
        start = head("400 Bad", Content_Encoding=name, Content_Length=len(packed))
        await in_pieces(writer, start + packed[:20], packed[20:])

    fault = await fault_of(opened, write)
    assert fault.kind == "context" and LONG in fault.text


@pytest.mark.parametrize("packed", [gzip.compress(BODY)[:20], b"this is not gzip"], ids=["cut", "not gzip"])
async def test_a_body_that_cannot_be_unpacked_leaves_its_status(opened, packed):
    async def write(writer):
        await in_pieces(
            writer, head("429 Slow", Content_Encoding="gzip", Content_Length=len(packed), Retry_After=7), packed
        )

    fault = await fault_of(opened, write)
    assert (fault.kind, fault.status, fault.retry_after) == ("rate-limit", 429, 7)


async def test_a_compression_that_was_not_asked_for_is_named(opened):
    async def write(writer):
        await in_pieces(writer, head("400 Bad", Content_Encoding="br", Content_Length=3), b"abc")

    fault = await fault_of(opened, write)
    assert fault.kind == "bad-reply" and "compresses its answer" in fault.text


@pytest.mark.parametrize("at", [len(BODY) - 3, BODY.index(b"resulted")])
async def test_a_body_that_the_server_cuts_shows_its_sentence_and_not_its_json(opened, at):
    async def write(writer):
        await in_pieces(writer, head("400 Bad", Content_Length=len(BODY)) + BODY[:at])

    fault = await fault_of(opened, write)
    assert fault.kind == "context" and "maximum context length is 4096" in fault.text
    assert '{"error"' not in fault.text


async def test_a_body_that_never_ends_is_used_as_far_as_it_arrived(opened):
    async def write(writer):
        await in_pieces(writer, head("400 Bad", Content_Length=10_000) + BODY)
        await asyncio.Event().wait()

    began = time.monotonic()
    fault = await fault_of(opened, write)
    assert fault.kind == "context" and LONG in fault.text
    assert time.monotonic() - began < 15


async def test_a_server_that_dribbles_spaces_does_not_hold_the_call(opened):
    async def write(writer):
        writer.write(head("503 Away", Transfer_Encoding="chunked"))
        while True:
            await in_pieces(writer, chunk(b" "))

    began = time.monotonic()
    fault = await fault_of(opened, write)
    assert (fault.kind, fault.status) == ("server", 503)
    assert time.monotonic() - began < 15


async def test_a_body_of_many_megabytes_is_read_up_to_a_limit(opened):
    sent = 0

    async def write(writer):
        nonlocal sent
        sent = 0
        writer.write(head("400 Bad", Content_Length=64 << 20) + BODY)
        while sent < 64 << 20:
            sent += 65_536
            await in_pieces(writer, b" " * 65_536)

    assert (await fault_of(opened, write)).kind == "context"
    assert sent < 16 << 20


GERMAN = "Die Überschreitung: context length exceeded"


@pytest.mark.parametrize(
    ("encoding", "stated"),
    [
        ("latin-1", "iso-8859-1"),
        ("utf-8", "iso-8859-1"),
        ("utf-16", "utf-16"),
        ("utf-16-le", None),
        ("utf-8-sig", None),
        ("utf-8", "no-such-charset"),
    ],
)
async def test_a_body_is_decoded_although_its_charset_is_odd_or_wrong(opened, encoding, stated):
    body = json.dumps({"error": {"message": GERMAN}}, ensure_ascii=False).encode(encoding)

    async def write(writer):
        kind = "application/json" + (f"; charset={stated}" if stated else "")
        start = f"HTTP/1.1 400 Bad\r\nContent-Type: {kind}\r\nConnection: close\r\n\r\n".encode()
        await in_pieces(writer, start + body[:9], body[9:])

    fault = await fault_of(opened, write)
    assert fault.kind == "context" and GERMAN in fault.text


async def test_a_list_of_models_in_two_packets_is_read_to_its_end():
    body = json.dumps({"data": [{"id": "one", "max_model_len": 4096}]}).encode()

    async def write(writer):
        await in_pieces(writer, head("200 OK", Content_Length=len(body)) + body[:12], body[12:])

    from rundry.agent.models.lanes.close_connections import close_connections

    async with raw_server(write) as base:
        found = await ask_server(base)
    await close_connections()
    assert [(m.name, m.window) for m in found.models] == [("one", 4096)]
