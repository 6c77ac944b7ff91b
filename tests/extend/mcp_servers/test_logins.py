"""Logins at an authorization server that follows the RFCs, and runs that use and refresh the tokens."""

from __future__ import annotations

import asyncio
import json
import subprocess
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from fakes.in_process.driven import Driven
from fakes.rundry import RUNDRY, Home
from fakes.turns import call, finish

from rundry.agent.extend.mcp.connect import client_of, log_in, log_out
from rundry.agent.extend.mcp.failed import McpFailed
from rundry.agent.protocol import GateMode, McpServer, Rule
from rundry.agent.sandbox.sandbox import Sandbox

from .auth_server import LoginServer, login_server
from .conftest import Run, results

TURNS = [call("web__echo", text="hello"), call("read_file", path="calc/core.py"), finish("done", "calc/core.py")]
ALLOWED: dict[str, Any] = {"gate": GateMode.AUTO, "rules": [Rule(verdict="allow", tool="web__*")]}


def get(address: str) -> int:
    try:
        with urllib.request.urlopen(address) as page:
            return page.status
    except urllib.error.HTTPError as error:
        with error:
            return error.code


async def browse(address: str) -> None:
    assert await asyncio.to_thread(get, address) == 200


def named(server: LoginServer) -> McpServer:
    return McpServer(name="web", url=f"{server.base}/mcp", timeout=5.0)


def environment(tmp_path: Path) -> dict[str, str]:
    return {"XDG_STATE_HOME": str(tmp_path / "state")}


def expire(tmp_path: Path) -> None:
    """Let the stored token be one that expired."""
    path = tmp_path / "state" / "rundry" / "mcp-logins.json"
    stored = json.loads(path.read_text())
    path.write_text(json.dumps({identity: {**one, "until": 1.0} for identity, one in stored.items()}))


def notes(run: Driven) -> str:
    return "\n".join(next(e for e in run.events if e["type"] == "run_started")["notes"])


async def test_without_a_login_a_run_says_in_a_sentence_how_to_log_in(drive: Run):
    with login_server() as server:
        run = drive([named(server)], TURNS, **ALLOWED)
        outcome = await run.run()
    assert outcome.reason.value == "answered", run.story()
    assert "MCP server web does not run: it wants a login: run `rundry mcp login web`" in notes(run)
    assert (server.clients, server.grants) == ({}, []), "a run registers nothing"


async def test_after_a_login_a_run_calls_the_server_and_no_journal_has_the_token(drive: Run, tmp_path: Path):
    with login_server() as server:
        assert await log_in(named(server), environment(tmp_path), browse)
        run = drive([named(server)], TURNS, **ALLOWED)
        outcome = await run.run()
    assert outcome.reason.value == "answered", run.story()
    assert "heard hello" in results(run)[0]["result"], run.story()
    assert not any(token in json.dumps(run.events) for token in (*server.valid, *server.refreshing))
    stored = tmp_path / "state" / "rundry" / "mcp-logins.json"
    assert stored.stat().st_mode & 0o077 == 0
    assert server.grants == ["authorization_code"]


@pytest.mark.parametrize("how", ["expired", "revoked"])
async def test_a_token_that_is_no_longer_accepted_is_refreshed(drive: Run, tmp_path: Path, how: str):
    with login_server() as server:
        await log_in(named(server), environment(tmp_path), browse)
        if how == "expired":
            expire(tmp_path)
        server.valid.clear()
        run = drive([named(server)], TURNS, **ALLOWED)
        await run.run()
    assert "heard hello" in results(run)[0]["result"], run.story()
    assert server.grants == ["authorization_code", "refresh_token"]


async def test_a_refresh_token_that_is_refused_wants_a_new_login(drive: Run, tmp_path: Path):
    with login_server() as server:
        await log_in(named(server), environment(tmp_path), browse)
        server.valid.clear()
        server.refreshing.clear()
        run = drive([named(server)], TURNS, **ALLOWED)
        await run.run()
    assert "it wants a login: run `rundry mcp login web`" in notes(run)


async def test_two_clients_do_not_use_one_refresh_token_twice(drive: Run, tmp_path: Path):
    with login_server() as server:
        await log_in(named(server), environment(tmp_path), browse)
        expire(tmp_path)
        twice = [named(server), McpServer(name="web", url=f"{server.base}/mcp", timeout=5.0)]
        clients = [client_of(one, Sandbox(), tmp_path, environment(tmp_path), ()) for one in twice]
        await asyncio.gather(*(client.start() for client in clients))
        assert [client.state for client in clients] == ["ready", "ready"], [client.why for client in clients]
        await asyncio.gather(*(client.end("the test is over") for client in clients))
    assert server.grants.count("refresh_token") == 1


async def test_a_wrong_state_and_another_path_do_not_count_and_the_login_continues(tmp_path: Path):
    async def attacked(address: str) -> None:
        back = parse_qs(urlsplit(address).query)["redirect_uri"][0]
        for path in (f"{back}?code=evil&state=guess", f"{back}?code=evil", back.replace("callback", "other")):
            assert await asyncio.to_thread(get, path) == 400
        await browse(address)

    with login_server() as server:
        assert await log_in(named(server), environment(tmp_path), attacked)


async def test_a_login_that_the_person_refuses_is_an_error_in_words(tmp_path: Path):
    with login_server() as server:
        server.denies = True
        with pytest.raises(McpFailed, match="the login was refused: access_denied"):
            await log_in(named(server), environment(tmp_path), browse)


async def test_a_login_does_not_lead_to_another_place_without_encryption(tmp_path: Path):
    async def never(address: str) -> None:
        raise AssertionError(address)

    with login_server() as server:
        server.issuer = f"http://192.0.2.1:{server.server_address[1]}"
        with pytest.raises(McpFailed, match=r"its login leads to http://192\.0\.2\.1, which is not https://"):
            await log_in(named(server), environment(tmp_path), never)


async def test_a_logout_forgets_the_tokens(drive: Run, tmp_path: Path):
    with login_server() as server:
        await log_in(named(server), environment(tmp_path), browse)
        assert log_out(named(server), environment(tmp_path))
        assert not log_out(named(server), environment(tmp_path))
        run = drive([named(server)], TURNS, **ALLOWED)
        await run.run()
    assert "it wants a login" in notes(run)


async def test_another_refusal_names_the_http_status(drive: Run):
    with login_server() as server:
        server.status = 503
        run = drive([named(server)], TURNS, **ALLOWED)
        await run.run()
    assert "it answered with the HTTP status 503" in notes(run)
    assert "MCPError" not in notes(run)


async def test_a_header_that_is_refused_is_named_and_not_a_login(drive: Run):
    with login_server() as server:
        given = McpServer(name="web", url=f"{server.base}/mcp", headers={"Authorization": "Bearer ${MY_TOKEN}"})
        run = drive([given], TURNS, **ALLOWED)
        await run.run()
    assert "it does not accept its Authorization header (HTTP status 401)" in notes(run)


def test_the_command_prints_the_address_and_ends_when_the_browser_came_back(home: Home, project: Path):
    with login_server() as server:
        assert home.run("mcp", "add", "web", f"{server.base}/mcp", cwd=project).exit_code == 0
        argv = [str(RUNDRY), "mcp", "login", "web", "--no-browser"]
        with subprocess.Popen(argv, cwd=project, env=home.env, stdout=subprocess.PIPE, text=True) as running:
            assert running.stdout is not None
            assert running.stdout.readline() == "Open this address to log in to web:\n"
            assert get(running.stdout.readline().strip()) == 200
            assert running.stdout.read() == "logged in to web\n"
        assert running.returncode == 0
    done = home.run("mcp", "logout", "web", cwd=project)
    assert done.stdout == "forgot the login of web\n", done
    assert home.run("mcp", "login", "other", cwd=project).exit_code == 2
