"""The counts of a server's own tokenizer, asked once when the model is opened."""

from __future__ import annotations

import asyncio
import json
import time
from collections import Counter
from typing import Any

import pytest
from aiohttp import web

from rundry.agent.models.counting import Counter as Ours
from rundry.agent.protocol import Message, ToolSpec
from rundry.agent.tools.tool_table import TOOLS

TEXT = "def add(first, second):\n    return first + second  # both are numbers\n" * 40
ALL = [tool.spec for tool in TOOLS.values()]
PREAMBLE = "You may call one or more functions. " * 12


def wide(text: str) -> int:
    """A small vocabulary: a third more tokens than ours."""
    return int(Ours("fake").text(text) * 1.33)


def templated(messages: list[dict[str, Any]], tools: list[dict[str, Any]], indent: int | None) -> str:
    shown = PREAMBLE + "".join(json.dumps(tool, indent=indent) for tool in tools) if tools else ""
    return shown + "".join(f"<|{m['role']}|>{m['content']}<|end|>" for m in messages) + "<|assistant|>"


class Server:
    """llama.cpp's server or vLLM with that vocabulary, and a template that shows tools or ignores them."""

    def __init__(self, *, indent: int | None = None, shows_tools: bool = True) -> None:
        self._indent, self._shows = indent, shows_tools
        self.asked: Counter[str] = Counter()

    def prompt(self, body: dict[str, Any]) -> str:
        return templated(body["messages"], body.get("tools", []) if self._shows else [], self._indent)

    async def tokenize(self, request: web.Request) -> web.Response:
        self.asked[request.path] += 1
        body = await request.json()
        return web.json_response({"tokens": [1] * wide(body["content"])})

    async def template(self, request: web.Request) -> web.Response:
        self.asked[request.path] += 1
        return web.json_response({"prompt": self.prompt(await request.json())})

    async def vllm(self, request: web.Request) -> web.Response:
        self.asked[request.path] += 1
        body = await request.json()
        text = body["prompt"] if "prompt" in body else self.prompt(body)
        return web.json_response({"count": wide(text), "max_model_len": 9000, "tokens": []})

    async def extra(self, request: web.Request) -> web.Response:
        self.asked[request.path] += 1
        return web.json_response({"count": wide((await request.json())["input"])})

    @property
    def llama_cpp(self) -> dict[str, Any]:
        return {
            "GET /v1/models": {"data": [{"id": "fake", "owned_by": "llamacpp"}]},
            "GET /props": {"default_generation_settings": {"n_ctx": 4096}},
            "POST /tokenize": self.tokenize,
            "POST /apply-template": self.template,
        }

    @property
    def on_vllm(self) -> dict[str, Any]:
        return {
            "GET /v1/models": {"data": [{"id": "fake", "owned_by": "vllm", "max_model_len": 9000}]},
            "POST /tokenize": self.vllm,
        }

    def real(self, tools: list[ToolSpec]) -> int:
        shown = [{"type": "function", "function": {"name": t.name, "description": t.description,
                                                   "parameters": t.parameters}} for t in tools]  # fmt: skip
        return wide(self.prompt({"messages": [{"role": "user", "content": TEXT}], "tools": shown}))


@pytest.mark.parametrize("kind", ["llama_cpp", "on_vllm"])
@pytest.mark.parametrize(
    "server", [Server(), Server(indent=4), Server(shows_tools=False)], ids=["json", "wide", "none"]
)
async def test_a_prompt_is_counted_as_the_server_counts_it(opened, serve, server: Server, kind: str):
    model = (await opened(await serve(getattr(server, kind)) + "/v1")).model
    for tools in ([], ALL[:3], ALL):
        counted, real = model.count([Message(role="user", text=TEXT)], tools), server.real(tools)
        assert 0.9 * real <= counted <= 1.1 * real + 20, (len(tools), counted, real)


async def test_a_server_that_counts_only_text_scales_text(opened, serve):
    server = Server()
    routes = {"GET /v1/models": {"data": [{"id": "fake"}]}, "POST /extras/tokenize/count": server.extra}
    model = (await opened(await serve(routes) + "/v1")).model
    assert 0.9 * wide(TEXT) <= model.count_text(TEXT) <= 1.1 * wide(TEXT)


async def test_counting_asks_the_server_nothing_after_the_opening(opened, serve):
    server = Server()
    model = (await opened(await serve(server.llama_cpp) + "/v1")).model
    asked = dict(server.asked)
    assert asked == {"/tokenize": 4, "/apply-template": 3}
    for length in range(50):
        model.count([Message(role="user", text=TEXT[:length])], ALL)
    assert server.asked == asked


@pytest.mark.parametrize(
    "broken", [404, 500, {"tokens": "many"}, {"tokens": []}, {"count": -3}, {"tokens": [1] * 9_999}]
)
async def test_a_server_without_a_sensible_count_leaves_ours(opened, serve, broken: Any):
    usual = (await opened(await serve({"GET /v1/models": {"data": [{"id": "fake"}]}}) + "/v1")).model
    routes = {**Server().llama_cpp, "POST /tokenize": broken}
    model = (await opened(await serve(routes) + "/v1")).model
    messages = [Message(role="user", text=TEXT)]
    assert model.count(messages, ALL) == usual.count(messages, ALL)


async def test_a_tokenizer_that_never_answers_does_not_hold_the_start_up(opened, serve):
    async def silent(request: web.Request) -> web.Response:
        await asyncio.Event().wait()
        return web.Response()

    began = time.monotonic()
    model = (await opened(await serve({**Server().llama_cpp, "POST /tokenize": silent}) + "/v1")).model
    assert time.monotonic() - began < 6
    assert model.count_text("hello world") == 2


async def test_a_proxy_of_a_hosted_provider_is_not_asked_for_its_tokenizer(opened, serve):
    server = Server()
    await opened(await serve(server.on_vllm) + "/v1", "together_ai/fake")
    assert server.asked == {}
