"""What arrives as parts, whatever shape a server gives it."""

from __future__ import annotations

import json
import random

import pytest
from fakes.server import ScriptedServer
from fakes.turns import Call, Turn, calls, say
from models.streamed import call

from rundry.agent.protocol import CallPart, EndPart, ModelFault, Tokens, ToolCall, UsagePart


async def test_text_reasoning_calls_usage_and_end_come_in_this_order(opened):
    turn = calls(Call("read_file", {"path": "a.py"}), text="I read it.", reasoning="Let me see.")
    with ScriptedServer([turn]) as server:
        asked = await opened(server.base_url)
        parts = await asked.ask()
    assert asked.reasoning == "Let me see."
    assert asked.text == "I read it."
    assert parts[-3] == CallPart(ToolCall("", "read_file", '{"path": "a.py"}'))
    assert isinstance(parts[-2], UsagePart)
    assert parts[-1] == EndPart("tool_calls")


async def test_usage_is_the_providers_with_cached_and_reasoning_tokens(opened):
    usage = {
        "prompt_tokens": 900,
        "completion_tokens": 70,
        "total_tokens": 970,
        "prompt_tokens_details": {"cached_tokens": 600},
        "completion_tokens_details": {"reasoning_tokens": 50},
    }
    with ScriptedServer([say("hi", usage=usage)]) as server:
        asked = await opened(server.base_url)
        await asked.ask()
    assert asked.of(UsagePart) == [UsagePart(Tokens(900, 70, 600, 50))]


async def test_reasoning_that_a_provider_bills_besides_the_completion_is_counted(opened):
    usage = {
        "prompt_tokens": 100,
        "completion_tokens": 20,
        "total_tokens": 170,
        "completion_tokens_details": {"reasoning_tokens": 50},
    }
    with ScriptedServer([say("hi", usage=usage)]) as server:
        asked = await opened(server.base_url)
        await asked.ask()
    assert asked.of(UsagePart) == [UsagePart(Tokens(100, 70, 0, 50))]


@pytest.mark.parametrize("usage", [None, {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}])
async def test_a_missing_or_zero_usage_is_not_made_up(opened, usage):
    with ScriptedServer([Turn(text="hi", no_usage=usage is None, usage=usage)]) as server:
        asked = await opened(server.base_url)
        parts = await asked.ask()
    assert asked.of(UsagePart) == []
    assert parts[-1] == EndPart("stop")


async def test_a_stream_cut_at_any_byte_gives_the_same_beginning_and_no_broken_call(opened, sse):
    body = sse(
        {"content": "Erst "},
        {"content": "das."},
        call(0, id="a", name="read_file", arguments='{"path":'),
        call(0, arguments='"a.py"}'),
        call(1, id="b", name="read_file", arguments='{"path":"b.py"}'),
        finish="tool_calls",
        usage={"prompt_tokens": 5, "completion_tokens": 5, "total_tokens": 10},
    )
    whole = ['{"path":"a.py"}', '{"path":"b.py"}']
    places = sorted(random.Random(7).sample(range(len(body)), 25))
    with ScriptedServer([Turn(raw=body[:place]) for place in places]) as server:
        asked = await opened(server.base_url)
        for place in places:
            finished = b'"finish_reason": "tool_calls"}]}\n' in body[:place]
            try:
                await asked.ask()
            except ModelFault as fault:
                assert not finished, place
                assert fault.retryable, place
            assert "Erst das.".startswith(asked.text)
            assert [p.call.arguments for p in asked.of(CallPart)] == (whole if finished else []), place


async def test_choices_that_are_empty_are_an_empty_answer(opened, sse):
    chunk = (
        b'data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[]}\n\ndata: [DONE]\n\n'
    )
    with ScriptedServer([Turn(raw=chunk), Turn(raw=sse(finish="stop"))]) as server:
        asked = await opened(server.base_url)
        assert await asked.ask() == [EndPart("empty")]
        assert await asked.ask() == [EndPart("empty")]


async def test_a_refusal_is_shown_and_named(opened, sse):
    body = sse({"refusal": "I cannot help "}, {"refusal": "with that."}, finish="stop")
    with ScriptedServer([Turn(raw=body), say("", finish="content_filter")]) as server:
        asked = await opened(server.base_url)
        parts = await asked.ask()
        assert asked.text == "I cannot help with that."
        assert parts[-1] == EndPart("refusal")
        assert (await asked.ask())[-1] == EndPart("refusal")


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning"])
async def test_both_names_of_reasoning_are_understood(opened, sse, field):
    with ScriptedServer([Turn(raw=sse({field: "hm, "}, {field: "yes"}, {"content": "Yes."}, finish="stop"))]) as server:
        asked = await opened(server.base_url)
        await asked.ask()
    assert (asked.reasoning, asked.text) == ("hm, yes", "Yes.")


async def test_an_unknown_finish_reason_is_an_end(opened):
    with ScriptedServer([say("done", finish="eos_token_reached")]) as server:
        asked = await opened(server.base_url)
        assert (await asked.ask())[-1] == EndPart("stop")


async def test_an_answer_of_five_megabytes_arrives_whole(opened, sse):
    piece = "0123456789abcdef" * 4096
    body = sse(*({"content": f"{i}{piece}"} for i in range(80)), finish="stop")
    with ScriptedServer([Turn(raw=body)]) as server:
        asked = await opened(server.base_url)
        await asked.ask(max_tokens=200_000)
    assert len(asked.text) == sum(len(f"{i}{piece}") for i in range(80))


async def test_an_answer_far_above_its_limit_is_cut(opened, sse):
    body = sse(*({"content": f"{i} " * 512} for i in range(2000)), finish="stop")
    with ScriptedServer([Turn(raw=body)]) as server:
        asked = await opened(server.base_url)
        await asked.ask(max_tokens=500)
    assert len(asked.text) < 100_000
    assert asked.parts[-1].finish == "length"


async def test_calls_beyond_the_cap_are_dropped_and_reported_as_cut(opened, sse):
    calls = [call(i, id=f"c{i}", name="read_file", arguments='{"path": "a"}') for i in range(1000)]
    with ScriptedServer([Turn(raw=sse(*calls, finish="tool_calls"))]) as server:
        asked = await opened(server.base_url)
        await asked.ask()
    assert len(asked.of(CallPart)) == 128
    assert asked.parts[-1].truncated_call


async def test_the_request_carries_tools_limit_and_history_in_the_providers_shape(opened):
    from rundry.agent.protocol import Message

    messages = [
        Message(role="system", text="be brief"),
        Message(role="user", text="go"),
        Message(role="assistant", calls=[ToolCall("call_1", "read_file", '{"path": "half')]),
        Message(role="tool", call_id="call_1", text="broken \udcff name"),
    ]
    with ScriptedServer([say("ok")]) as server:
        asked = await opened(server.base_url)
        await asked.ask(messages=messages, max_tokens=123)
        body = server.requests[0].body
    assert body["max_tokens"] == 123
    assert body["stream_options"] == {"include_usage": True}
    assert [t["function"]["name"] for t in body["tools"]] == ["read_file"]
    sent = body["messages"]
    assert [m["role"] for m in sent] == ["system", "user", "assistant", "tool"]
    assert sent[3]["tool_call_id"] == sent[2]["tool_calls"][0]["id"] == "call_1"
    assert json.loads(sent[2]["tool_calls"][0]["function"]["arguments"]) == {"not_json": '{"path": "half'}
    assert sent[3]["content"] == "broken ? name"
    assert "cache_control" not in json.dumps(body)


async def test_comments_and_other_lines_of_the_stream_are_passed_over(opened, sse):
    body = b": OPENROUTER PROCESSING\r\n\r\nevent: message\nid: 7\n" + sse({"content": "hi"}, finish="stop", done=False)
    with ScriptedServer([Turn(raw=body.replace(b"\n", b"\r\n").rstrip())]) as server:
        asked = await opened(server.base_url)
        parts = await asked.ask()
    assert asked.text == "hi"
    assert parts[-1] == EndPart("stop")


async def test_a_connection_is_used_again_for_the_next_call(opened, serve, sse):
    from aiohttp import web

    peers: set[tuple[str, int]] = set()

    async def chat(request: web.Request) -> web.Response:
        assert request.transport is not None
        peers.add(request.transport.get_extra_info("peername"))
        return web.Response(body=sse({"content": "hi"}, finish="stop"), content_type="text/event-stream")

    asked = await opened(await serve({"POST /v1/chat/completions": chat, "GET /v1/models": 404}) + "/v1")
    for _ in range(3):
        await asked.ask()
    assert len(peers) == 1


async def test_a_schema_goes_to_the_server_and_the_answer_comes_as_text(opened):
    schema = {"type": "object", "properties": {"find": {"type": "string"}}, "required": ["find"]}
    with ScriptedServer([say('{"find": "a"}'), say("hi")]) as server:
        asked = await opened(server.base_url)
        await asked.ask(tools=(), schema=schema)
        assert asked.text == '{"find": "a"}' and asked.of(CallPart) == []
        await asked.ask(tools=())
    wanted = server.requests[0].body["response_format"]
    assert wanted["type"] == "json_schema" and wanted["json_schema"]["schema"] == schema
    assert "response_format" not in server.requests[1].body and "tools" not in server.requests[0].body
