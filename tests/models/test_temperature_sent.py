"""The temperature of a request, as it arrives at a real server in each wire format."""

from __future__ import annotations

import json
from typing import Any

import pytest
from aiohttp import web
from fakes.providers.wires import WIRES, Said, Wire

SAID = Said(texts=["ok"])


def temperatures(value: object) -> list[object]:
    """Return all temperatures in the body, at any depth."""
    if isinstance(value, list):
        return [found for item in value for found in temperatures(item)]
    if not isinstance(value, dict):
        return []
    own = [value["temperature"]] if "temperature" in value else []
    return own + [found for item in value.values() for found in temperatures(item)]


@pytest.fixture
def sent(opened, serve):
    """Asks the wire's model once. Gives the body that arrived."""

    async def _sent(wire: Wire, temperature: float | None, **more: Any) -> dict[str, Any]:
        bodies: list[dict[str, Any]] = []

        async def answer(request: web.Request) -> web.Response:
            bodies.append(json.loads(await request.read()))
            return web.Response(body=wire.body(SAID), content_type=wire.content_type)

        base = await serve({"POST /{path:.*}": answer})
        asked = await opened(base, wire.model, env=wire.env, context=200_000, **more)
        await asked.ask(tools=(), temperature=temperature, max_tokens=8000)
        assert asked.text == "ok"
        return bodies[-1]

    return _sent


NAMES = [name for name in WIRES if name != "responses"]  # gpt-5 refuses one, see test_refused_parameters.py


@pytest.mark.parametrize("name", NAMES)
async def test_the_temperature_of_a_request_arrives_at_the_server(sent, name):
    assert temperatures(await sent(WIRES[name], 0.7)) == [0.7]


@pytest.mark.parametrize("name", [name for name in WIRES if name != "gemini"])  # litellm itself gives 1.0 to Gemini 3
async def test_a_request_without_temperature_leaves_it_to_the_server(sent, name):
    assert temperatures(await sent(WIRES[name], None)) == []


@pytest.mark.parametrize("name", NAMES)
async def test_the_users_own_temperature_wins(sent, name):
    params = {"options": {"temperature": 0.1}} if name == "ollama" else {"temperature": 0.1}
    assert temperatures(await sent(WIRES[name], 0.7, params=params)) == [0.1]


async def test_a_claude_that_thinks_gets_no_temperature(sent):
    body = await sent(WIRES["anthropic"], 0.7, effort="high")
    assert body["thinking"]["type"] == "enabled"
    assert temperatures(body) == []
