"""What a server says of a model: its window, and whether it sees images."""

from __future__ import annotations

from typing import Any

import pytest
from aiohttp import web
from fakes.server import ScriptedServer
from fakes.turns import say
from models.providers.ollama import DONE, SHOWN, Ollama

from rundry.agent.models.litellm_use.load_litellm import litellm
from rundry.agent.models.price_table import PriceRow, find_price, whole_table


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
async def test_the_window_is_the_one_that_the_server_reports(opened, serve, routes, window):
    model = (await opened(await serve(routes) + "/v1")).model
    assert (model.window, model.window_known) == (window or 131_072, window is not None)
    assert model.max_output == min(32_768, model.window)


async def test_the_users_context_overrides_every_other_source(opened, serve):
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
    entry = find_price(provider, model)
    assert entry is not None
    assert entry.sees_images is sees


def test_a_row_that_denies_images_is_believed():
    denied = next(key for key, row in whole_table().items() if row.get("supports_vision") is False)
    assert PriceRow(denied, whole_table()[denied]).sees_images is False
