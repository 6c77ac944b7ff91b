"""Tool calls in a stream: split, repeated, cut off and malformed."""

from __future__ import annotations

import json

import pytest
from fakes.server import ScriptedServer
from fakes.turns import Call, Turn, calls
from models.streamed import call

from rundry.agent.protocol import CallPart, EndPart


async def test_two_calls_on_one_index_with_two_ids_are_two_calls(opened, sse):
    body = sse(
        call(0, id="a", name="read_file", arguments='{"path":'),
        call(0, arguments='"a"}'),
        call(0, id="b", name="read_file", arguments='{"path":"b"}'),
        finish="tool_calls",
    )
    with ScriptedServer([Turn(raw=body)]) as server:
        asked = await opened(server.base_url)
        await asked.ask()
    assert [p.call.arguments for p in asked.of(CallPart)] == ['{"path":"a"}', '{"path":"b"}']


async def test_two_calls_on_one_index_without_ids_are_two_calls(opened, sse):
    body = sse(
        call(0, name="read_file", arguments='{"path":"a"}'),
        call(0, name="read_file", arguments='{"path":"b"}'),
        finish="stop",
    )
    with ScriptedServer([Turn(raw=body)]) as server:
        asked = await opened(server.base_url)
        parts = await asked.ask()
    assert [p.call.arguments for p in asked.of(CallPart)] == ['{"path":"a"}', '{"path":"b"}']
    assert parts[-1] == EndPart("tool_calls"), "the calls count, not the reason `stop`"


async def test_an_id_and_a_name_repeated_in_every_fragment_stay_one_call(opened, sse):
    body = sse(
        call(0, id="a", name="read_file", arguments='{"path"'),
        call(0, id="a", name="read_file", arguments=':"x"}'),
        finish="tool_calls",
    )
    with ScriptedServer([Turn(raw=body)]) as server:
        asked = await opened(server.base_url)
        await asked.ask()
    assert [p.call.arguments for p in asked.of(CallPart)] == ['{"path":"x"}']


async def test_ten_calls_in_one_answer_keep_their_order(opened):
    wanted = [Call("read_file", {"path": f"{i}.py"}) for i in range(10)]
    with ScriptedServer([calls(*wanted)]) as server:
        asked = await opened(server.base_url)
        await asked.ask()
    assert [json.loads(p.call.arguments)["path"] for p in asked.of(CallPart)] == [f"{i}.py" for i in range(10)]


@pytest.mark.parametrize("arguments", ['{"path": "half', '{"path": "whole.py"}'])
async def test_a_call_that_the_token_limit_ended_is_never_yielded(opened, arguments):
    turn = calls(Call("read_file", {"path": "first.py"}), Call("write_file", arguments), finish="length")
    with ScriptedServer([turn]) as server:
        asked = await opened(server.base_url)
        parts = await asked.ask()
    assert [p.call.tool for p in asked.of(CallPart)] == ["read_file"]
    assert parts[-1] == EndPart("length", truncated_call=True)


async def test_a_call_that_breaks_off_in_a_text_is_not_yielded_whatever_the_reason_says(opened):
    with ScriptedServer([calls(Call("write_file", '{"content": "half a s'))]) as server:
        asked = await opened(server.base_url)
        parts = await asked.ask()
    assert asked.of(CallPart) == []
    assert parts[-1].truncated_call


@pytest.mark.parametrize("arguments", ['{"path": "a.py"', '{"edits": [{"a": "]"', "not json", "", "{'path': 'a'}"])
async def test_malformed_arguments_of_a_finished_call_pass_to_the_tools(opened, arguments):
    with ScriptedServer([calls(Call("read_file", arguments))]) as server:
        asked = await opened(server.base_url)
        await asked.ask()
    assert [p.call.arguments for p in asked.of(CallPart)] == [arguments]


async def test_a_character_split_between_two_packets_arrives_whole(opened, serve, sse):
    from aiohttp import web

    body = sse({"content": "Grüße, 世界 🙂"}, finish="stop")

    async def chat(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        for i in range(0, len(body), 1):
            await response.write(body[i : i + 1])
        await response.write_eof()
        return response

    asked = await opened(await serve({"POST /v1/chat/completions": chat, "GET /v1/models": 404}) + "/v1")
    await asked.ask()
    assert asked.text == "Grüße, 世界 🙂"
