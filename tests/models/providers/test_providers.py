"""Servers that do not speak OpenAI's chunks, and what each server says of its window."""

from __future__ import annotations

import json
from typing import Any

import pytest
from aiohttp import web
from models.providers.ollama import DONE, Ollama

from rundry.agent.protocol import (
    CallPart,
    EndPart,
    Message,
    ModelFault,
    Refusal,
    Tokens,
    ToolCall,
    UsagePart,
    bill,
)

CALL = {"function": {"name": "read_file", "arguments": {"path": "a.py"}}}


def saying(content: str = "", **more: Any) -> dict[str, Any]:
    return {"message": {"role": "assistant", "content": content, **more}, "done": False}


async def test_ollama_streams_thinking_text_two_calls_and_its_usage(opened, serve):
    ollama = Ollama(saying(thinking="hm"), saying("Hello"), saying(" you"), saying(tool_calls=[CALL, CALL]), DONE)
    asked = await opened(await serve(ollama.routes), "ollama/q")
    await asked.ask()
    assert (asked.reasoning, asked.text) == ("hm", "Hello you")
    assert [json.loads(p.call.arguments) for p in asked.of(CallPart)] == [{"path": "a.py"}] * 2
    (usage,) = asked.of(UsagePart)
    assert (usage.tokens.in_, usage.tokens.out) == (55, 7)
    assert asked.parts[-1] == EndPart("tool_calls")


async def test_ollama_gets_the_window_with_each_request(opened, serve):
    ollama = Ollama(saying("hi"), DONE)
    asked = await opened(await serve(ollama.routes), "ollama_chat/q", context=12_000)
    await asked.ask()
    assert ollama.body["options"] == {"num_ctx": 12_000, "num_predict": 500}
    assert ollama.shows == 1, "once, by us, when the model was opened"


async def test_an_error_line_of_ollama_is_shown_as_it_is(opened, serve):
    ollama = Ollama()
    ollama.lines = [{"error": "model runner has unexpectedly stopped"}]
    asked = await opened(await serve(ollama.routes), "ollama_chat/q")
    with pytest.raises(ModelFault) as caught:
        await asked.ask()
    assert caught.value.text.endswith(": model runner has unexpectedly stopped")
    assert caught.value.retryable


async def test_an_ollama_stream_without_its_last_line_is_cut(opened, serve):
    asked = await opened(await serve(Ollama(saying("half")).routes), "ollama_chat/q")
    with pytest.raises(ModelFault) as caught:
        await asked.ask()
    assert caught.value.kind == "cut"
    assert asked.text == "half"


async def test_a_model_that_ollama_only_loaded_is_an_empty_answer_without_usage(opened, serve):
    load = {"message": {"role": "assistant", "content": ""}, "done": True, "done_reason": "load"}
    asked = await opened(await serve(Ollama(load).routes), "ollama_chat/q")
    assert await asked.ask() == [EndPart("empty")]


async def test_a_model_that_ollama_does_not_have_is_refused_with_what_it_has(opened, serve):
    base = await serve(Ollama().routes)
    await (await opened(base, "ollama_chat/q")).model.probe()
    missing = await opened(base, "ollama_chat/nobody")
    with pytest.raises(Refusal, match=r"nobody.*big:70b.*ollama pull"):
        await missing.model.probe()


class Anthropic:
    """Streams one text and one call in Anthropic's events; breaks off at a given place."""

    def __init__(self, *, whole: bool = True) -> None:
        self.body: dict[str, Any] = {}
        self._whole = whole

    async def messages(self, request: web.Request) -> web.StreamResponse:
        self.body = await request.json()
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        for event in self._events():
            await response.write(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode())
        await response.write_eof()
        return response

    def _events(self) -> list[dict[str, Any]]:
        usage = {
            "input_tokens": 10,
            "cache_creation_input_tokens": 200,
            "cache_read_input_tokens": 300,
            "output_tokens": 1,
        }
        head = {"id": "m", "type": "message", "role": "assistant", "content": [], "model": "claude", "usage": usage}
        use = {"type": "tool_use", "id": "toolu_1", "name": "read_file", "input": {}}
        events = [
            {"type": "message_start", "message": head},
            {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
            {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Hello"}},
            {"type": "content_block_stop", "index": 0},
            {"type": "content_block_start", "index": 1, "content_block": use},
            {"type": "content_block_delta", "index": 1, "delta": {"type": "input_json_delta", "partial_json": '{"pa'}},
        ]
        if self._whole:
            rest = {"type": "input_json_delta", "partial_json": 'th": "a.py"}'}
            events += [
                {"type": "content_block_delta", "index": 1, "delta": rest},
                {"type": "content_block_stop", "index": 1},
                {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 30}},
                {"type": "message_stop"},
            ]
        return events


CLAUDE = {"name": "anthropic/claude-sonnet-4-5", "env": {"ANTHROPIC_API_KEY": "sk-ant-api03-test-test-test"}}


TALK = [
    Message(role="system", text="be brief"),
    Message(role="user", text="go"),
    Message(role="assistant", calls=[ToolCall("call_1", "read_file", "{}")]),
    Message(role="tool", call_id="call_1", text="result"),
]


async def test_claude_gets_cache_marks_on_the_stable_prefix_and_bills_what_it_wrote(opened, serve):
    server = Anthropic()
    asked = await opened(await serve({"POST /v1/messages": server.messages}), **CLAUDE)
    await asked.ask(messages=TALK)
    mark = {"type": "ephemeral"}
    assert server.body["system"] == [{"type": "text", "text": "be brief", "cache_control": mark}]
    assert server.body["messages"][-1]["content"][0]["cache_control"] == mark
    assert server.body["messages"][0]["content"][0]["cache_control"] == mark
    assert json.dumps(server.body).count("cache_control") == 3
    (usage,) = asked.of(UsagePart)
    assert usage.tokens == Tokens(510, 30, 300, 0, written=200)
    cost = bill(asked.model.price, usage.tokens)
    assert cost == pytest.approx(10 * 3e-6 + 300 * 0.3e-6 + 200 * 3.75e-6 + 30 * 15e-6)
    assert [p.call.arguments for p in asked.of(CallPart)] == ['{"path": "a.py"}']


async def test_claude_behind_a_gateway_gets_the_same_marks(opened, serve, sse):
    bodies: list[dict[str, Any]] = []

    async def chat(request: web.Request) -> web.Response:
        bodies.append(await request.json())
        return web.Response(body=sse({"content": "hi"}, finish="stop"), content_type="text/event-stream")

    base = await serve({"POST /v1/chat/completions": chat})
    asked = await opened(f"{base}/v1", "openrouter/anthropic/claude-sonnet-4.5", env={"OPENROUTER_API_KEY": "sk-or-x"})
    results = [Message(role="tool", call_id=f"c{i}", text=f"result {i}") for i in range(12)]
    answer = Message(role="assistant", calls=[ToolCall(f"c{i}", "read_file", "{}") for i in range(12)])
    await asked.ask(messages=[*TALK[:2], answer, *results, answer, *results], forbids_calls=True)
    marked = [i for i, message in enumerate(bodies[0]["messages"]) if "cache_control" in json.dumps(message)]
    assert marked == [0, 14, 27]
    assert bodies[0]["tools"] and "tool_choice" not in bodies[0]


async def test_a_token_goes_to_claude_as_a_bearer_token_and_a_key_in_its_own_header(opened, serve):
    seen: list[dict[str, str]] = []
    server = Anthropic()

    async def messages(request: web.Request) -> web.StreamResponse:
        seen.append({name.lower(): value for name, value in request.headers.items()})
        return await server.messages(request)

    base = await serve({"POST /v1/messages": messages})
    for env in ({"ANTHROPIC_AUTH_TOKEN": "token-1"}, {"ANTHROPIC_API_KEY": "key-1", "ANTHROPIC_AUTH_TOKEN": "token-1"}):
        await (await opened(base, "anthropic/claude-sonnet-4-5", env=env)).ask()
    assert (seen[0].get("authorization"), seen[0].get("x-api-key")) == ("Bearer token-1", None)
    assert (seen[1].get("authorization"), seen[1].get("x-api-key")) == (None, "key-1")


async def test_a_call_without_tools_may_follow_calls_with_tools(opened, serve):
    server = Anthropic()
    asked = await opened(await serve({"POST /v1/messages": server.messages}), **CLAUDE)
    await asked.ask(messages=TALK, tools=[])
    assert asked.text == "Hello"


async def test_claudes_first_usage_does_not_make_a_cut_stream_whole(opened, serve):
    asked = await opened(await serve({"POST /v1/messages": Anthropic(whole=False).messages}), **CLAUDE)
    with pytest.raises(ModelFault) as caught:
        await asked.ask()
    assert (caught.value.kind, caught.value.retryable) == ("cut", True)
    assert asked.of(CallPart) == []
