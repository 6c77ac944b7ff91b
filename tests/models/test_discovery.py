"""What is reachable here: keys that are set, servers that answer; fast, and without litellm."""

from __future__ import annotations

import subprocess
import sys
import time

import msgspec
from aiohttp import web
from fakes.server import ScriptedServer

from rundry.agent.models.discovery import discover
from rundry.agent.models.found_models import ModelLine, ServerFound, Survey
from rundry.agent.models.model_choices import candidates
from rundry.agent.protocol import FREE

SECRET = "sk-ant-canary-0123456789"


async def test_servers_are_found_with_their_models_windows_and_prices(serve):
    ollama = await serve(
        {
            "GET /api/tags": {"models": [{"name": "qwen3:8b"}, {"name": "tiny:1b"}]},
            "POST /api/show": {"model_info": {"q.context_length": 16_384}},
        }
    )
    vllm = await serve({"GET /v1/models": {"data": [{"id": "m", "owned_by": "vllm", "max_model_len": 9000}]}}) + "/v1"
    survey = await discover({}, addresses=[ollama, vllm, "http://127.0.0.1:9/v1"])
    assert [(s.kind, s.api_base) for s in survey.servers] == [("ollama", ollama), ("vllm", vllm)]
    names = [(m.name, m.context, m.price) for s in survey.servers for m in s.models]
    assert names == [
        ("ollama_chat/qwen3:8b", 16_384, FREE),
        ("ollama_chat/tiny:1b", 16_384, FREE),
        ("hosted_vllm/m", 9000, FREE),
    ]
    suggested = survey.suggest()
    assert suggested is not None
    assert suggested.name == "ollama_chat/qwen3:8b"


async def test_an_openai_compatible_server_that_a_variable_names_is_found():
    with ScriptedServer(models=["one", "two"]) as server:
        survey = await discover({"OPENAI_BASE_URL": server.base_url})
    found = next(s for s in survey.servers if s.api_base == server.base_url)
    assert [m.name for m in found.models] == ["openai/one", "openai/two"]


async def test_a_set_key_lists_its_providers_models_and_shows_no_key():
    survey = await discover({"ANTHROPIC_API_KEY": SECRET, "OPENAI_API_KEY": ""}, addresses=[])
    (found,) = survey.keys
    assert (found.provider, found.variable) == ("anthropic", "ANTHROPIC_API_KEY")
    assert all(m.name.startswith("anthropic/") and m.context and m.price for m in found.models)
    assert found.models
    assert SECRET not in msgspec.json.encode(survey).decode()


async def test_a_server_that_says_nothing_does_not_hold_the_survey_up(serve):
    import asyncio

    async def silent(request: web.Request) -> web.Response:
        await asyncio.Event().wait()
        return web.Response()

    base = await serve({"GET /v1/models": silent, "GET /props": silent}) + "/v1"
    began = time.monotonic()
    survey = await discover({}, addresses=[base])
    assert survey.servers == []
    assert time.monotonic() - began < 4


async def test_a_page_on_a_usual_port_is_not_a_model_server(serve):
    async def page(request: web.Request) -> web.Response:
        return web.Response(text="<html>hello</html>", content_type="text/html")

    base = await serve({"GET /v1/models": page, "GET /props": page})
    assert (await discover({}, addresses=[base, base + "/v1"])).servers == []


def test_a_survey_does_not_import_litellm():
    program = (
        "import asyncio, sys\n"
        "from rundry.agent.models.discovery import discover\n"
        "asyncio.run(discover({'OPENAI_API_KEY': 'x'}, addresses=[]))\n"
        "print('litellm' in sys.modules)\n"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "False"


async def test_what_each_other_provider_needs_is_reported_without_litellm():
    survey = await discover({"GEMINI_API_KEY": SECRET, "AZURE_API_KEY": SECRET}, addresses=[])
    assert [key.provider for key in survey.keys] == ["gemini"]
    needs = {row.provider: row.needs for row in survey.missing}
    assert needs["groq"] == [["GROQ_API_KEY"]]
    assert ["AZURE_API_BASE"] in needs["azure"]
    assert "gemini" not in needs
    assert "ollama_chat" not in needs, "a server on this machine needs no key"
    assert {row.provider for row in survey.missing if row.direct} >= {"openai", "anthropic", "mistral"}


def test_a_server_elsewhere_that_is_chosen_from_a_list_gets_no_key():
    line = [ModelLine(name="openai/m")]
    places = ["http://127.0.0.1:8000/v1", "http://10.0.0.7:8000/v1", "https://third.example/v1"]
    survey = Survey(servers=[ServerFound(kind="openai-compatible", api_base=place, models=line) for place in places])
    assert [each.model.key_from for each in candidates(survey)] == [None, None, ""]


async def test_an_address_that_cannot_be_hides_no_server(serve):
    vllm = await serve({"GET /v1/models": {"data": [{"id": "m", "owned_by": "vllm"}]}}) + "/v1"
    wrong = ["http://127.0.0.1:114344", "http://127.0.0.1:port/v1", "http://a..b:1/v1"]
    survey = await discover({}, addresses=[*wrong, vllm])
    assert [server.api_base for server in survey.servers] == [vllm]
