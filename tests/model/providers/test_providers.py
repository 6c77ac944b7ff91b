"""Servers that do not speak OpenAI's chunks, and what each server says of its window."""

from __future__ import annotations

import json
from typing import Any

import pytest
from aiohttp import web
from fakes.server import ScriptedServer
from fakes.turns import say

from rundry.agent.model.litellm_use.library import litellm
from rundry.agent.model.pricing.table import Entry, find, whole_table
from rundry.agent.protocol import (
    CallPart,
    EndPart,
    Message,
    ModelFault,
    Refusal,
    Tokens,
    ToolCall,
    UsagePart,
)

SHOWN = {"parameters": 'stop "<end>"', "model_info": {"general.architecture": "q", "q.context_length": 8192}}
USAGE = {"prompt_eval_count": 55, "eval_count": 7}
CALL = {"function": {"name": "read_file", "arguments": {"path": "a.py"}}}


class Ollama:
    """Answers with these lines, and keeps what it was asked."""

    def __init__(self, *lines: dict[str, Any], shown: dict[str, Any] | int = SHOWN) -> None:
        self.lines = [{"model": "q", "created_at": "2025-01-01T00:00:00Z", **line} for line in lines]
        self.body: dict[str, Any] = {}
        self.shows = 0
        self._shown = shown

    @property
    def routes(self) -> dict[str, Any]:
        tags = {"models": [{"name": "q:latest"}, {"name": "big:70b"}]}
        return {"POST /api/chat": self.chat, "POST /api/show": self.show, "GET /api/tags": tags}

    async def show(self, request: web.Request) -> web.Response:
        self.shows += 1
        return web.Response(status=self._shown) if isinstance(self._shown, int) else web.json_response(self._shown)

    async def chat(self, request: web.Request) -> web.StreamResponse:
        self.body = await request.json()
        response = web.StreamResponse(headers={"Content-Type": "application/x-ndjson"})
        await response.prepare(request)
        for line in self.lines:
            await response.write((json.dumps(line) + "\n").encode())
        await response.write_eof()
        return response


def saying(content: str = "", **more: Any) -> dict[str, Any]:
    return {"message": {"role": "assistant", "content": content, **more}, "done": False}


DONE = {"message": {"role": "assistant", "content": ""}, "done": True, "done_reason": "stop", **USAGE}


async def test_ollama_streams_thinking_text_two_calls_and_its_usage(opened, serve):
    ollama = Ollama(saying(thinking="hm"), saying("Hello"), saying(" you"), saying(tool_calls=[CALL, CALL]), DONE)
    asked = await opened(await serve(ollama.routes), "ollama/q")
    await asked.ask()
    assert (asked.reasoning, asked.text) == ("hm", "Hello you")
    assert [json.loads(p.call.arguments) for p in asked.of(CallPart)] == [{"path": "a.py"}] * 2
    (usage,) = asked.of(UsagePart)
    assert (usage.tokens.in_, usage.tokens.out) == (55, 7)
    assert asked.parts[-1] == EndPart("tool_calls")


async def test_ollama_is_told_the_window_and_never_asked_behind_our_back(opened, serve):
    ollama = Ollama(saying("hi"), DONE)
    asked = await opened(await serve(ollama.routes), "ollama_chat/q", context=12_000)
    await asked.ask()
    assert ollama.body["options"] == {"num_ctx": 12_000, "num_predict": 500}
    assert ollama.shows == 1, "once, by us, when the model was opened"


@pytest.mark.parametrize(
    ("shown", "window", "known"),
    [
        (SHOWN, 8192, True),
        ({**SHOWN, "parameters": "num_ctx 6000\ntemperature 1"}, 6000, True),
        ({"model_info": {"q.context_length": 262_144}}, 32_768, True),
        ({}, 131_072, False),
    ],
)
async def test_ollamas_window_is_the_models_file_then_the_model_within_reason(opened, serve, shown, window, known):
    asked = await opened(await serve(Ollama(shown=shown).routes), "ollama_chat/q")
    assert (asked.model.window, asked.model.window_known) == (window, known)


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
    """Streams one text and one call in Anthropic's events; breaks off where it is told to."""

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
    assert json.dumps(server.body).count("cache_control") == 2
    (usage,) = asked.of(UsagePart)
    assert usage.tokens == Tokens(510, 30, 300, 0, written=200)
    bill = asked.model.bill(usage.tokens)
    assert bill == pytest.approx(10 * 3e-6 + 300 * 0.3e-6 + 200 * 3.75e-6 + 30 * 15e-6)
    assert [p.call.arguments for p in asked.of(CallPart)] == ['{"path": "a.py"}']


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


def listing(**fields: Any) -> dict[str, Any]:
    return {"object": "list", "data": [{"id": "fake", "object": "model", **fields}]}


@pytest.mark.parametrize(
    ("routes", "window"),
    [
        (
            {
                "GET /v1/models": listing(owned_by="llamacpp", meta={"n_ctx_train": 131_072}),
                "GET /props": {"default_generation_settings": {"n_ctx": 4096}},
            },
            4096,
        ),
        ({"GET /v1/models": listing(owned_by="vllm", max_model_len=16_384)}, 16_384),
        (
            {
                "GET /v1/models": listing(owned_by="organization_owner"),
                "GET /api/v0/models": listing(max_context_length=32_768, loaded_context_length=8000),
            },
            8000,
        ),
        ({"GET /v1/models": listing(context_length=65_536)}, 65_536),
        ({"GET /v1/models": listing()}, None),
        ({"GET /v1/models": 404}, None),
    ],
    ids=["llama.cpp", "vllm", "lm studio", "gateway", "says nothing", "no listing"],
)
async def test_the_window_is_the_servers_own_word(opened, serve, routes, window):
    model = (await opened(await serve(routes) + "/v1")).model
    assert (model.window, model.window_known) == (window or 131_072, window is not None)
    assert model.max_output == min(32_768, model.window)


async def test_the_users_context_wins_over_every_other_word(opened, serve):
    base = await serve({"GET /v1/models": listing(max_model_len=16_384)})
    model = (await opened(base + "/v1", context=4096)).model
    assert (model.window, model.window_known, model.max_output) == (4096, True, 4096)


async def test_a_left_out_v1_is_found(opened, serve, sse):
    async def chat(request: web.Request) -> web.Response:
        return web.Response(body=sse({"content": "found"}, finish="stop"), content_type="text/event-stream")

    base = await serve({"GET /v1/models": listing(), "POST /v1/chat/completions": chat})
    asked = await opened(base)
    await asked.ask()
    assert asked.text == "found"


async def test_litellm_looks_no_window_up_on_the_network():
    assert litellm().utils._get_max_position_embeddings("x") is None


async def test_a_proxy_of_the_environment_does_not_stand_before_a_local_server(opened, monkeypatch):
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.setenv(name, "corp.example")
    with ScriptedServer([say("direct")], models=["fake"]) as server:
        asked = await opened(server.base_url)
        await asked.model.probe()
        await asked.ask()
    assert asked.text == "direct"


@pytest.mark.parametrize(
    ("abilities", "sees"), [(["completion", "vision"], True), (["completion", "tools"], False), (None, None)]
)
async def test_ollama_says_whether_a_model_sees_images(opened, serve, abilities: list[str] | None, sees: bool | None):
    shown = SHOWN if abilities is None else {**SHOWN, "capabilities": abilities}
    asked = await opened(await serve(Ollama(DONE, shown=shown).routes), "ollama_chat/q")
    assert asked.model.sees_images is sees


@pytest.mark.parametrize(
    ("provider", "model", "sees"),
    [
        ("openai", "gpt-4o", True),
        ("anthropic", "claude-sonnet-4-5", True),
        ("xai", "grok-4", None),  # it sees, and its row does not say so
    ],
)
def test_a_row_without_the_field_does_not_deny_images(provider: str, model: str, sees: bool | None):
    entry = find(provider, model)
    assert entry is not None
    assert entry.sees_images is sees


def test_a_row_that_denies_images_is_believed():
    denied = next(key for key, row in whole_table().items() if row.get("supports_vision") is False)
    assert Entry(denied, whole_table()[denied]).sees_images is False
