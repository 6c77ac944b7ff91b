"""Servers that close connections which they said they keep, and that end a stream without a byte."""

from __future__ import annotations

import asyncio
import json

import pytest
from aiohttp import web

from rundry.agent.protocol import EndPart, ModelFault, Tokens, UsagePart

CHAT = "POST /v1/chat/completions"
MODELS = "GET /v1/models"


class Closing:
    """A server that closes a connection after each answer, in the manner that is given, and promises to keep it."""

    def __init__(self, body: bytes, *, resets: bool) -> None:
        self._body, self._resets = body, resets
        self.answered = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
        if "/chat/completions" not in head:
            writer.write(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
            writer.close()
            return
        (length, *_) = [int(line.split(":")[1]) for line in head.split("\r\n") if line.startswith("content-length")]
        await reader.readexactly(length)
        self.answered += 1
        headers = "Content-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\nKeep-Alive: timeout=5, max=100"
        chunk = f"{len(self._body):x}\r\n".encode() + self._body + b"\r\n0\r\n\r\n"
        writer.write(f"HTTP/1.1 200 OK\r\n{headers}\r\n\r\n".encode() + chunk)
        await writer.drain()
        try:
            await reader.readexactly(1)  # the next request has begun to arrive
            if self._resets:
                writer.transport.abort()
        except asyncio.IncompleteReadError:
            pass
        finally:
            writer.close()


@pytest.mark.parametrize("resets", [False, True])
async def test_a_kept_connection_that_the_server_closes_costs_no_failed_call(opened, sse, resets: bool):
    closing = Closing(sse({"content": "hi"}, finish="stop"), resets=resets)
    server = await asyncio.start_server(closing.serve, "127.0.0.1", 0)
    async with server:
        port = server.sockets[0].getsockname()[1]
        asked = await opened(f"http://127.0.0.1:{port}/v1", context=4096)
        for _ in range(4):
            assert (await asked.ask())[-1] == EndPart("stop")
    assert closing.answered == 4


async def test_a_new_connection_that_the_server_closes_is_a_fault(opened):
    made: list[asyncio.StreamWriter] = []

    async def close(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        made.append(writer)
        await reader.readuntil(b"\r\n\r\n")
        writer.close()

    server = await asyncio.start_server(close, "127.0.0.1", 0)
    async with server:
        asked = await opened(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1", context=4096)
        before = len(made)
        with pytest.raises(ModelFault) as caught:
            await asked.ask()
    assert caught.value.kind == "server" and len(made) == before + 1


TOO_LONG = "This model's maximum context length is 2048 tokens. However, you requested 3071 tokens"


def empty_streams(answer: web.Response | None, seen: list[dict[str, object]]):
    """A handler that ends each stream without a byte, and answers so if no stream is requested."""

    async def chat(request: web.Request) -> web.Response:
        body = await request.json()
        seen.append(body)
        if body["stream"] or answer is None:
            return web.Response(body=b"", content_type="text/event-stream")
        return answer

    return chat


async def test_a_stream_without_a_byte_is_asked_for_as_a_whole_and_the_reason_is_read(opened, serve):
    seen: list[dict[str, object]] = []
    error = {"error": {"message": TOO_LONG, "type": "invalid_request_error", "code": "context_length_exceeded"}}
    routes = {CHAT: empty_streams(web.json_response(error, status=400), seen), MODELS: 404}
    asked = await opened(await serve(routes) + "/v1")
    with pytest.raises(ModelFault) as caught:
        await asked.ask()
    assert caught.value.kind == "context" and "2048" in caught.value.text
    assert [body["stream"] for body in seen] == [True, False]
    assert "stream_options" not in seen[1] and seen[0]["messages"] == seen[1]["messages"]


async def test_the_whole_answer_after_a_stream_without_a_byte_is_used(opened, serve):
    choice = {"index": 0, "message": {"role": "assistant", "content": "hello"}, "finish_reason": "stop"}
    usage = {"prompt_tokens": 7, "completion_tokens": 2, "total_tokens": 9}
    whole = web.Response(text=json.dumps({"choices": [choice], "usage": usage}), content_type="application/json")
    asked = await opened(await serve({CHAT: empty_streams(whole, []), MODELS: 404}) + "/v1")
    parts = await asked.ask()
    assert asked.text == "hello" and parts[-2:] == [UsagePart(Tokens(7, 2, 0, 0)), EndPart("stop")]


async def test_a_server_that_always_ends_without_a_byte_is_asked_twice_for_one_call(opened, serve):
    seen: list[dict[str, object]] = []
    asked = await opened(await serve({CHAT: empty_streams(None, seen), MODELS: 404}) + "/v1")
    with pytest.raises(ModelFault) as caught:
        await asked.ask()
    assert caught.value.kind == "cut" and caught.value.retryable and len(seen) == 2
