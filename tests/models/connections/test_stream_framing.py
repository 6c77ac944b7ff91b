"""Streams as servers frame them: line ends, a byte order mark, and the media type of another format."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from aiohttp import web
from models.providers.ollama import DONE, Ollama

from rundry.agent.models.lanes.timer import StallTimeouts
from rundry.agent.protocol import EndPart, Message, ModelFault, ToolCall

BOM = b"\xef\xbb\xbf"


def answering(body: bytes, content_type: str = "text/event-stream", pieces: int = 1) -> dict[str, Any]:
    async def chat(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": content_type})
        await response.prepare(request)
        size = max(1, len(body) // pieces)
        for start in range(0, len(body), size):
            await response.write(body[start : start + size])
        return response

    return {"POST /v1/chat/completions": chat}


@pytest.mark.parametrize("pieces", [1, 7, 10_000])
@pytest.mark.parametrize("start", [b"", BOM, BOM + b": hi\n\n"], ids=["", "bom", "bom and comment"])
@pytest.mark.parametrize("end", [b"\n", b"\r", b"\r\n"], ids=["lf", "cr", "crlf"])
@pytest.mark.parametrize("content_type", ["text/event-stream", "application/json", "application/json; charset=utf-8"])
async def test_an_event_stream_is_read_however_it_is_framed(opened, serve, sse, content_type, end, start, pieces):
    body = start + sse({"content": "one "}, {"content": "two"}, finish="stop").replace(b"\n", end)
    asked = await opened(await serve(answering(body, content_type, pieces)) + "/v1")
    parts = await asked.ask()
    assert (asked.text, parts[-1]) == ("one two", EndPart("stop"))


@pytest.mark.parametrize("start", [b"", BOM, b"\n  "], ids=["", "bom", "spaces"])
async def test_one_json_object_is_still_read_as_one(opened, serve, start):
    choice = {"index": 0, "message": {"role": "assistant", "content": "whole"}, "finish_reason": "stop"}
    body = start + json.dumps({"object": "chat.completion", "choices": [choice]}).encode()
    asked = await opened(await serve(answering(body, "application/json", 20)) + "/v1")
    await asked.ask()
    assert asked.text == "whole"


async def test_json_that_is_not_an_answer_is_named(opened, serve):
    asked = await opened(await serve(answering(b'"hello"', "application/json")) + "/v1")
    with pytest.raises(ModelFault) as caught:
        await asked.ask()
    assert caught.value.kind == "bad-reply"


async def test_ollamas_results_carry_the_name_of_their_tool(opened, serve):
    server = Ollama({"message": {"role": "assistant", "content": "ok"}}, DONE)
    asked = await opened(await serve(server.routes), "ollama_chat/q")
    calls = [ToolCall("a", "read_file", "{}"), ToolCall("b", "run command!", "{}")]
    await asked.ask(
        messages=[
            Message(role="user", text="go"),
            Message(role="assistant", calls=calls),
            Message(role="tool", call_id="b", text="second"),
            Message(role="tool", call_id="a", text="first"),
            Message(role="tool", call_id="lost", text="of a call that was dropped"),
        ]
    )
    results = [m for m in server.body["messages"] if m["role"] == "tool"]
    assert [m.get("tool_name") for m in results] == ["run_command_", "read_file", None]


async def test_a_server_that_missed_the_wait_for_its_first_token_gets_twice_as_long(opened, serve):
    delays = iter([30.0, 0.7])

    async def chat(request: web.Request) -> web.StreamResponse:
        await asyncio.sleep(next(delays))
        chunk = {"choices": [{"index": 0, "delta": {"content": "late"}, "finish_reason": "stop"}]}
        return web.Response(body=f"data: {json.dumps(chunk)}\n\n".encode(), content_type="text/event-stream")

    base = await serve({"POST /v1/chat/completions": chat})
    asked = await opened(f"{base}/v1", timeouts=StallTimeouts(first=0.5, between=20))
    with pytest.raises(ModelFault) as caught:
        await asked.ask()
    assert (caught.value.kind, caught.value.retryable) == ("timeout", True)
    await asked.ask()
    assert asked.text == "late"
