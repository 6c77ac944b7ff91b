"""Where a model is: names, addresses, keys, and what counts as local."""

from __future__ import annotations

import pytest

from rundry.agent.models.endpoint import NO_KEY, base_of, is_local_server, resolve, split_name
from rundry.agent.protocol import ModelSpec

PROVIDERS = {"openai", "ollama_chat", "hosted_vllm", "anthropic"}


@pytest.mark.parametrize(
    "address",
    [
        "http://localhost:8080/v1", "http://127.0.0.1", "http://127.9.9.9:1", "http://[::1]:11434", "http://10.0.0.7/v1",
        "http://192.168.1.20:1234", "http://172.16.0.1", "http://172.31.255.1", "http://169.254.3.4", "http://0.0.0.0:8000",
        "http://studio.local:1234/v1", "http://Host.Docker.Internal:8080", "http://[fd00::5]/v1", "http://[fe80::1]:80",
        "http://[::ffff:192.168.0.1]/", "http://api.localhost/v1", "127.0.0.1:11434", "http://studio.local.:80",
    ],
)  # fmt: skip
def test_an_address_of_this_machine_or_its_network_is_local(address):
    assert is_local_server(address)


@pytest.mark.parametrize(
    "address",
    [
        "https://api.openai.com/v1", "http://8.8.8.8", "http://172.32.0.1", "http://192.0.2.1:9/v1", "http://11.0.0.1",
        "http://localhost.evil.com", "http://127.0.0.1.nip.io", "http://evil.com/localhost", "http://localhost@evil.com",
        "http://evil.com#.local", "http://mylocal", "http://[2001:db8::1]", "", None, "http://[broken",
    ],
)  # fmt: skip
def test_any_other_address_is_not_local(address):
    assert not is_local_server(address)


@pytest.mark.parametrize(
    ("name", "has_base", "split"),
    [
        ("openai/gpt-x", False, ("openai", "gpt-x")),
        ("openai/gpt-x", True, ("openai", "gpt-x")),
        ("fake", True, ("openai", "fake")),
        ("fake", False, None),
        ("qwen/qwen3-8b", True, ("openai", "qwen/qwen3-8b")),
        ("ollama/qwen3:8b", False, ("ollama_chat", "qwen3:8b")),
        ("vllm/x", False, ("hosted_vllm", "x")),
        ("openai/", True, ("openai", "openai/")),
    ],
)
def test_a_name_without_a_providers_prefix_is_openais_where_a_server_is_named(name, has_base, split):
    assert split_name(name, has_base=has_base, providers=PROVIDERS) == split


@pytest.mark.parametrize(
    ("env", "base"),
    [
        ({}, "http://127.0.0.1:11434"),
        ({"OLLAMA_HOST": "0.0.0.0"}, "http://127.0.0.1:11434"),
        ({"OLLAMA_HOST": "box:9999"}, "http://box:9999"),
        ({"OLLAMA_HOST": "https://box.example"}, "https://box.example"),
        ({"OLLAMA_API_BASE": "http://10.0.0.2:11434/", "OLLAMA_HOST": "x"}, "http://10.0.0.2:11434"),
    ],
)
def test_ollamas_address_may_lack_scheme_and_port(env, base):
    assert base_of("ollama_chat", None, env) == base
    assert base_of("ollama_chat", "http://h:1/v1", env) == "http://h:1"


def key(spec: dict[str, object], provider: str, env: dict[str, str]) -> str | None:
    return resolve(ModelSpec(name="x", **spec), provider, "x", env).key


def test_the_key_is_the_providers_or_the_one_that_was_named():
    env = {"OPENAI_API_KEY": "sk-1 \n", "OTHER": "sk-2"}
    assert key({}, "openai", env) == "sk-1"
    assert key({"key_from": "OTHER"}, "openai", env) == "sk-2"
    assert key({}, "anthropic", env) is None
    assert key({"key_from": "MISSING", "api_base": "http://127.0.0.1:1"}, "openai", env) is None


def test_a_server_without_a_key_gets_a_dummy_and_never_another_providers_key():
    base = {"api_base": "http://127.0.0.1:8080/v1"}
    assert key(base, "openai", {"ANTHROPIC_API_KEY": "sk-ant"}) == NO_KEY
    assert key(base, "hosted_vllm", {"OPENAI_API_KEY": "sk-1"}) == NO_KEY


def test_an_empty_key_name_sends_no_key_anywhere():
    env = {"OPENAI_API_KEY": "sk-1"}
    assert key({"key_from": "", "api_base": "http://evil.example/v1"}, "openai", env) == NO_KEY
    assert key({"key_from": ""}, "openai", env) is None
