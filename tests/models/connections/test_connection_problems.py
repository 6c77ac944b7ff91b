"""Why a model server cannot be reached is named, with the fix, before a run and in a call (requirements 8.3)."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import ssl
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from fakes.web.certificates import DAY, NOW, Authority
from fakes.web.proxy import http_proxy

TESTS = Path(__file__).parents[2]
PROXIES = ("http_proxy", "https_proxy", "all_proxy", "no_proxy")
HELLO = {"choices": [{"index": 0, "message": {"role": "assistant", "content": "hello"}, "finish_reason": "stop"}]}


async def ask(base: str, name: str = "openai/fake", **env: str) -> dict[str, Any]:
    """What a process with these variables reports at the start of a run, and in a call."""
    clean = {k: v for k, v in os.environ.items() if k.lower() not in PROXIES and k != "SSL_CERT_FILE"}
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "fakes.providers.ask_once", base, name,
        cwd=TESTS, env={**clean, **env}, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    out, err = await asyncio.wait_for(process.communicate(), 60)
    assert process.returncode == 0, err.decode()
    return json.loads(out)


@asynccontextmanager
async def model_server(context: ssl.SSLContext | None = None) -> AsyncIterator[int]:
    """A server that answers every call with "hello". Gives its port."""

    async def answer(request: web.Request) -> web.Response:
        return web.json_response(HELLO if request.method == "POST" else {"data": [{"id": "fake"}]})

    app = web.Application()
    app.router.add_route("*", "/{path:.*}", answer)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=context).start()
    try:
        yield runner.addresses[0][1]
    finally:
        await runner.cleanup()


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path)


def nobody() -> int:
    """A port at which nobody listens."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        return held.getsockname()[1]


def assert_named(found: dict[str, Any], *words: str, retryable: bool, kind: str = "server") -> None:
    """The start and the call say the same, in two sentences."""
    for text in (found["start"], found["text"]):
        for word in words:
            assert word in text, found
    assert (found["kind"], found["retryable"]) == (kind, retryable), found


async def test_a_trusted_certificate_is_accepted(authority):
    async with model_server(authority.server("localhost")) as port:
        found = await ask(f"https://localhost:{port}/v1", SSL_CERT_FILE=str(authority.file))
    assert found == {"start": "", "kind": "", "text": "hello"}


@pytest.mark.parametrize(
    ("hosts", "more", "words"),
    [
        (["localhost"], {"starts": NOW - 2 * DAY, "ends": NOW - DAY}, ["localhost has expired", "Renew it"]),
        (["localhost"], {"starts": NOW + DAY, "ends": NOW + 2 * DAY}, ["not valid yet", "the clock of this machine"]),
        (["other.test"], {}, ["for another host than localhost", "Check the address"]),
        (["127.0.0.9"], {}, ["for another host than localhost"]),
        (["localhost"], {"is_self_signed": True}, ["localhost is self-signed", "SSL_CERT_FILE"]),
    ],
    ids=["expired", "future", "other host", "other address", "self-signed"],
)
async def test_what_is_wrong_with_a_certificate_is_named(authority, hosts, more, words):
    async with model_server(authority.server(*hosts, **more)) as port:
        found = await ask(f"https://localhost:{port}/v1", SSL_CERT_FILE=str(authority.file))
    assert_named(found, *words, retryable=False)


@pytest.mark.parametrize("with_root", [True, False])
async def test_an_unknown_authority_is_named(tmp_path, authority, with_root):
    other = Authority(tmp_path, "other")
    async with model_server(authority.server("localhost", with_root=with_root)) as port:
        found = await ask(f"https://localhost:{port}/v1", SSL_CERT_FILE=str(other.file))
    assert_named(found, "certificate of localhost", "trust", "SSL_CERT_FILE", retryable=False)


async def test_a_plain_port_that_is_spoken_to_in_tls_is_named():
    async with model_server() as port:
        found = await ask(f"https://localhost:{port}/v1")
    assert_named(found, "localhost does not speak TLS on this port", "http://", retryable=False)


async def test_a_refused_connection_is_named():
    found = await ask(f"http://127.0.0.1:{nobody()}/v1")
    assert_named(found, "connection refused", retryable=True)


async def test_an_unknown_host_is_named():
    found = await ask("https://no-such-host.invalid/v1")
    assert_named(found, "the host no-such-host.invalid is unknown", "spelling", retryable=True)


@pytest.mark.parametrize("scheme", ["http", "https"])
@pytest.mark.parametrize("name", ["{}_proxy", "{}_PROXY", "ALL_PROXY", "all_proxy"])
async def test_a_proxy_is_used_whatever_variable_names_it(authority, scheme, name):
    variable = name.format(scheme if name[3].islower() else scheme.upper())
    context = authority.server("model.test") if scheme == "https" else None
    async with model_server(context) as port, http_proxy(port) as seen:
        env = {variable: f"http://127.0.0.1:{seen.port}", "SSL_CERT_FILE": str(authority.file)}
        found = await ask(f"{scheme}://model.test/v1", **env)
    assert found == {"start": "", "kind": "", "text": "hello"}
    assert all("model.test" in line for line in seen.lines) and seen.lines


async def test_a_proxy_without_a_scheme_is_an_http_proxy():
    async with model_server() as port, http_proxy(port) as seen:
        found = await ask("http://model.test/v1", http_proxy=f"127.0.0.1:{seen.port}")
    assert found["text"] == "hello" and seen.lines


async def test_no_proxy_and_a_local_server_bypass_it():
    async with model_server() as port, http_proxy(port) as seen:
        proxy = f"http://127.0.0.1:{seen.port}"
        assert (await ask(f"http://127.0.0.1:{port}/v1", ALL_PROXY=proxy))["text"] == "hello"
        found = await ask("http://model.invalid/v1", ALL_PROXY=proxy, NO_PROXY="model.invalid")
    assert "the host model.invalid is unknown" in found["text"] and seen.lines == []


@pytest.mark.parametrize("scheme", ["http", "https"])
async def test_a_dead_proxy_is_named_with_its_variable_and_without_its_password(scheme):
    variable = f"{scheme.upper()}_PROXY"
    found = await ask(f"{scheme}://model.test/v1", **{variable: f"http://me:secret@127.0.0.1:{nobody()}"})
    assert_named(found, "the proxy http://127.0.0.1:", "cannot be reached", f"Check {variable}", retryable=True)
    assert "secret" not in json.dumps(found)


async def test_a_proxy_with_an_unknown_host_is_named():
    found = await ask("https://model.test/v1", HTTPS_PROXY="http://no-proxy.invalid:3128")
    assert_named(found, "the proxy http://no-proxy.invalid:3128 cannot be reached", "HTTPS_PROXY", retryable=True)


@pytest.mark.parametrize("scheme", ["http", "https"])
async def test_a_proxy_that_wants_a_password_is_named(authority, scheme):
    context = authority.server("model.test") if scheme == "https" else None
    variable = f"{scheme.upper()}_PROXY"
    async with model_server(context) as port, http_proxy(port, password="me:secret") as seen:
        proxy = f"127.0.0.1:{seen.port}"
        env = {"SSL_CERT_FILE": str(authority.file)}
        found = await ask(f"{scheme}://model.test/v1", **env, **{variable: f"http://{proxy}"})
        assert_named(found, "needs a user name and a password", variable, retryable=False, kind="auth")
        let_in = await ask(f"{scheme}://model.test/v1", **env, **{variable: f"http://me:secret@{proxy}"})
    assert let_in["text"] == "hello", let_in


@pytest.mark.parametrize(
    ("status", "kind", "retryable"), [("403 Forbidden", "bad-request", False), ("503 Busy", "server", True)]
)
async def test_a_proxy_that_refuses_is_named(status, kind, retryable):
    async with http_proxy(nobody(), refuses=status) as seen:
        found = await ask("https://model.test/v1", HTTPS_PROXY=f"http://127.0.0.1:{seen.port}")
    assert_named(found, f"refused the connection ({status})", "HTTPS_PROXY", retryable=retryable, kind=kind)


@pytest.mark.parametrize(
    "proxy", ["socks5://127.0.0.1:1080", "socks5h://me:secret@127.0.0.1:1080", "socks4://h:1", "quic://h:1"]
)
@pytest.mark.parametrize("variable", ["HTTPS_PROXY", "https_proxy", "ALL_PROXY"])
async def test_a_socks_proxy_is_refused_at_the_start_and_never_bypassed(proxy, variable):
    found = await ask("https://model.test/v1", **{variable: proxy})
    assert variable in found["start"] and "HTTP proxy" in found["start"] and "NO_PROXY" in found["start"]
    assert proxy.partition(":")[0] in found["start"] and "secret" not in found["start"]
    assert found["text"] == ""


CLAUDE_ON_BEDROCK = "bedrock/anthropic.claude-3-haiku-20240307-v1:0"


@pytest.mark.parametrize("name", ["anthropic/claude-sonnet-4-5", "gemini/gemini-2.5-flash", CLAUDE_ON_BEDROCK])
async def test_a_socks_proxy_is_refused_for_a_provider_too(name):
    keys = {"ANTHROPIC_API_KEY": "k", "GEMINI_API_KEY": "k", "AWS_ACCESS_KEY_ID": "k", "AWS_SECRET_ACCESS_KEY": "k"}
    found = await ask("", name, ALL_PROXY="socks5://127.0.0.1:1080", **keys)
    assert "ALL_PROXY" in found["start"], found


async def test_a_socks_proxy_does_not_concern_a_server_on_this_machine_or_in_no_proxy():
    async with model_server() as port:
        found = await ask(f"http://127.0.0.1:{port}/v1", ALL_PROXY="socks5://127.0.0.1:1")
    assert found["text"] == "hello"
    found = await ask("https://model.invalid/v1", ALL_PROXY="socks5://127.0.0.1:1", NO_PROXY=".invalid")
    assert "the host model.invalid is unknown" in found["text"]
