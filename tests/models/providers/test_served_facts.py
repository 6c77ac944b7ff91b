"""What each kind of server says about its model. The answers are recorded, and shortened to what is read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from models.providers.ollama import DONE, SHOWN, Ollama

from rundry.agent.models.learned import learn
from rundry.agent.models.served_fields import props_know_tools, size_in
from rundry.agent.protocol import ServedFacts

LLAMA_CPP = {
    "GET /v1/models": {
        "models": [{"name": "smol.gguf", "capabilities": ["completion"], "details": {"parameter_size": ""}}],
        "object": "list",
        "data": [
            {
                "id": "smol.gguf",
                "object": "model",
                "owned_by": "llamacpp",
                "meta": {
                    "n_vocab": 49_152,
                    "n_ctx": 4096,
                    "n_ctx_train": 8192,
                    "n_params": 134_515_008,
                    "ftype": "Q4_1",
                },
            }
        ],
    },
    "GET /props": {
        "default_generation_settings": {"params": {"temperature": 0.800000011920929, "top_k": 40}, "n_ctx": 4096},
        "total_slots": 1,
        "modalities": {"vision": False, "audio": False},
        "chat_template": "{% for message in messages %}{{ message['content'] }}{% endfor %}",
        "chat_template_caps": {"supports_system_role": True, "supports_tool_calls": False, "supports_tools": False},
    },
}
"""SmolLM2-135M-Instruct on llama.cpp's server, build 1-0c1e570, with --jinja."""

OLDER_PROPS = {
    "default_generation_settings": {"n_ctx": 8192, "temperature": 0.7},
    "total_slots": 4,
    "chat_template": "{%- if tools %}\n{{- '<|im_start|>system' }}{%- for t in tools %}{{ t | tojson }}{%- endfor %}",
}
"""Qwen2.5-Coder on a build without `chat_template_caps`."""

LM_STUDIO = {
    "GET /v1/models": {"data": [{"id": "qwen2.5-coder", "object": "model", "owned_by": "organization_owner"}]},
    "GET /api/v0/models": {
        "object": "list",
        "data": [
            {
                "id": "qwen2.5-coder", "object": "model", "type": "llm", "publisher": "qwen", "state": "loaded",
                "max_context_length": 32_768, "loaded_context_length": 8000, "capabilities": ["tool_use"],
            },
            {"id": "embed", "object": "model", "type": "embeddings", "max_context_length": 2048},
        ],
    },
    "GET /api/v1/models": {"models": [{"type": "llm", "key": "qwen2.5-coder", "params_string": "7B"}]},
}  # fmt: skip
"""From LM Studio's documentation of its REST API, versions 0 and 1."""

VLLM = {"GET /v1/models": {"data": [{"id": "Qwen/Qwen2.5-3B", "owned_by": "vllm", "max_model_len": 16_384}]}}
PYTHON = {"GET /v1/models": {"object": "list", "data": [{"id": "smol-135m", "object": "model", "owned_by": "me"}]}}
"""`python -m llama_cpp.server`, which says nothing but the name."""


@pytest.mark.parametrize(
    ("routes", "name", "facts"),
    [
        (
            LLAMA_CPP,
            "whatever",
            {
                "kind": "llama.cpp", "parameters": 134_515_008, "template_knows_tools": False, "slots": 1,
                "temperature": 0.8,
            },
        ),
        (
            {**LLAMA_CPP, "GET /props": OLDER_PROPS},
            "smol.gguf",
            {
                "kind": "llama.cpp", "parameters": 134_515_008, "template_knows_tools": True, "slots": 4,
                "temperature": 0.7,
            },
        ),
        (
            LM_STUDIO,
            "qwen2.5-coder",
            {"kind": "lm-studio", "parameters": 7 * 10**9, "template_knows_tools": True},
        ),
        (
            {**LM_STUDIO, "GET /api/v1/models": 404},
            "embed",
            {"kind": "lm-studio"},
        ),
        (VLLM, "Qwen/Qwen2.5-3B", {"kind": "vllm", "parameters": 3 * 10**9}),
        (PYTHON, "smol-135m", {"kind": "openai-compatible", "parameters": 135 * 10**6}),
        (PYTHON, "other-7b", {"kind": "openai-compatible", "parameters": 135 * 10**6}),
        ({"GET /v1/models": 404}, "x-7b", {"kind": "openai-compatible", "parameters": 7 * 10**9}),
    ],
    ids=["llama.cpp", "older llama.cpp", "lm studio", "lm studio 0.3", "vllm", "llama_cpp.server", "other", "silent"],
)  # fmt: skip
async def test_what_a_server_reports_of_its_model_reaches_the_run(
    opened, serve, routes, name: str, facts: dict[str, Any]
):
    model = (await opened(await serve(routes) + "/v1", name)).model
    assert model.served == ServedFacts(self_hosted=True, **facts)


CODER: dict[str, Any] = {
    "parameters": "num_ctx 6000\ntemperature 0.2",
    "details": {"family": "qwen2", "parameter_size": "1.5B", "quantization_level": "Q4_K_M"},
    "model_info": {"general.architecture": "qwen2", "general.parameter_count": 1_543_714_304},
    "capabilities": ["completion", "tools", "insert"],
}


@pytest.mark.parametrize(
    ("shown", "facts"),
    [
        (CODER, {"parameters": 1_543_714_304, "template_knows_tools": True, "temperature": 0.2}),
        ({**CODER, "model_info": {}, "capabilities": ["completion"]}, {
            "parameters": 1_500_000_000, "template_knows_tools": False, "temperature": 0.2,
        }),
        ({"template": "{{ if .Tools }}{{ .Tools }}{{ end }}{{ .Prompt }}"}, {"template_knows_tools": True}),
        ({"template": "{{ .Prompt }}"}, {"template_knows_tools": False}),
        (SHOWN, {}),
        (404, {}),
    ],
    ids=["newer", "rounded", "before capabilities", "template without tools", "says nothing", "has no such model"],
)  # fmt: skip
async def test_what_ollama_reports_of_a_model_reaches_the_run(opened, serve, shown, facts: dict[str, Any]):
    model = (await opened(await serve(Ollama(DONE, shown=shown).routes), "ollama_chat/q")).model
    assert model.served == ServedFacts(kind="ollama", self_hosted=True, **facts)


async def test_the_size_in_a_name_counts_only_where_users_run_the_server(opened, serve):
    proxied = (await opened(await serve(VLLM) + "/v1", "together_ai/Qwen/Qwen2.5-3B")).model
    own = (await opened(await serve(VLLM) + "/v1", "hosted_vllm/Qwen/Qwen2.5-3B")).model
    assert (proxied.served.self_hosted, proxied.served.parameters) == (False, None)
    assert (own.served.self_hosted, own.served.parameters) == (True, 3 * 10**9)


async def test_a_hosted_model_has_no_facts_of_a_server_and_the_demo_none_at_all(opened):
    hosted = (await opened(None, "anthropic/claude-sonnet-4-5", env={"ANTHROPIC_API_KEY": "k"})).model
    assert hosted.served == ServedFacts()
    assert (await opened(None, "demo/fix")).model.served is None


async def test_what_was_remembered_of_the_model_on_its_server_is_among_its_facts(opened, serve, tmp_path: Path):
    env = {"XDG_DATA_HOME": str(tmp_path), "HOME": str(tmp_path)}
    base = await serve(VLLM) + "/v1"
    learn(base, "Qwen/Qwen2.5-3B", env, edit_format="blocks", read_speed=81.5, write_speed=12.0)
    served = (await opened(base, "Qwen/Qwen2.5-3B", env=env)).model.served
    assert (served.edit_format, served.read_speed, served.write_speed) == ("blocks", 81.5, 12.0)
    other = (await opened(base, "other", env=env)).model.served
    assert (other.edit_format, other.read_speed, other.write_speed) == (None, None, None)


async def test_llama_cpp_says_whether_it_has_loaded_the_part_that_sees_images(opened, serve):
    props: dict[str, Any] = {**LLAMA_CPP["GET /props"], "modalities": {"vision": True}}
    seeing = await opened(await serve({**LLAMA_CPP, "GET /props": props}) + "/v1")
    blind = await opened(await serve(LLAMA_CPP) + "/v1")
    older = await opened(await serve({**LLAMA_CPP, "GET /props": OLDER_PROPS}) + "/v1")
    assert [one.model.sees_images for one in (seeing, blind, older)] == [True, False, None]


@pytest.mark.parametrize(
    ("template", "known"),
    [
        ("{%- if tools is defined and tools %}x{% endif %}", True),
        ("{% set t = tools or [] %}", True),
        ("{{ tools | tojson }}", True),
        ("{%- if builtin_tools is defined %}x{% endif %}", False),
        ("{{ 'You have no tools' }}", False),
        ("{{ message.tools }}", False),
        ("Use your tools wisely. {{ messages }}", False),
        ("{% if messages %}a{% endif %} tools {% if b %}c{% endif %}", False),
        ("", None),
    ],
)
def test_an_older_builds_template_knows_tools_if_it_uses_the_variable(template: str, known: bool | None):
    assert props_know_tools({"chat_template": template}) is known


def test_a_template_of_its_own_for_tools_is_seen():
    assert props_know_tools({"chat_template": "{{ messages }}", "chat_template_tool_use": "{{ tools }}"}) is True


@pytest.mark.parametrize(
    ("name", "size"),
    [
        ("qwen2.5-coder-1.5b-instruct", 1.5e9),
        ("llama3.1:8b", 8e9),
        ("models/deepseek-coder-1.3b-instruct.Q4_K_M.gguf", 1.3e9),
        ("qwen2.5-coder-7b.Q4_K_M.gguf", 7e9),
        ("Qwen/Qwen2.5-Coder-0.5B", 0.5e9),
        ("smollm2-135m-instruct", 135e6),
        ("134.52M", 134.52e6),
        ("mixtral-8x22b-v0.1", 176e9),
        ("qwen3-30b-a3b", 30e9),
        ("gemma3n:e4b", 4e9),
        ("kimi-k2-1t", 1e12),
        ("glm-4-9b-chat-1m", 9e9),
        ("chat-1m", None),
        ("phi-3-mini-4k", None),
        ("gpt-4o", None),
        ("b", None),
        ("0b", None),
        ("", None),
    ],
)
def test_the_size_in_a_name_is_read_where_it_stands_alone(name: str, size: float | None):
    assert size_in(name) == size
