"""Additional headers, an output limit and all levels of effort: from the config to the wire."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from fakes.rundry import Home
from fakes.server import ScriptedServer
from fakes.turns import say

from rundry.agent.models.endpoint import resolve
from rundry.agent.protocol import ModelSpec, UserError


def run(home: Home, project: Path, config: str, *more: str, base: str, env: dict[str, str] | None = None) -> Any:
    home.config_file.parent.mkdir(parents=True, exist_ok=True)
    home.config_file.write_text(config)
    argv = ["run", "hi", "--headless", "--json", "--steps", "1", "--model", "fake", "--api-base", base]
    return home.run(*argv, *more, cwd=project, env=env)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    return folder


def test_headers_of_the_users_config_are_sent_and_their_secrets_are_not_stored(home: Home, project: Path):
    config = '[model]\nmax_output = 321\nheaders = { X-Team = "search", authorization = "Token ${GATE_TOKEN}" }\n'
    secret = "sesame-4711-abcdef"
    with ScriptedServer(then=say("ok")) as server:
        ran = run(home, project, config, base=server.base_url, env={"GATE_TOKEN": secret})
    assert ran.events[-1]["type"] == "run_ended", ran
    sent = server.requests[0]
    headers = [(name.lower(), text) for name, text in sent.headers.items()]
    assert ("x-team", "search") in headers
    assert [text for name, text in headers if name == "authorization"] == [f"Token {secret}"]
    assert sent.body.get("max_tokens", sent.body.get("max_completion_tokens")) == 321
    assert not any(secret.encode() in path.read_bytes() for path in home.runs.rglob("*") if path.is_file())


def test_a_project_cannot_set_headers_even_if_it_is_trusted(home: Home, project: Path):
    (project / ".rundry.toml").write_text('[model]\nheaders = { X-Evil = "${OPENAI_API_KEY}" }\n')
    with ScriptedServer(then=say("ok")) as server:
        ran = run(home, project, "", "--trust", base=server.base_url)
        unseen = run(home, project, "", base=server.base_url)
    assert ran.exit_code == 2 and "model.headers is for the user's own config" in ran.stderr, ran
    assert unseen.exit_code != 2 and all("X-Evil" not in request.headers for request in server.requests)


def test_the_server_of_a_project_gets_no_headers_of_the_user(home: Home, project: Path):
    with ScriptedServer(then=say("ok")) as server:
        (project / ".rundry.toml").write_text(f'[model]\napi_base = "{server.base_url}"\n')
        home.config_file.parent.mkdir(parents=True)
        home.config_file.write_text('[model]\nheaders = { X-Team = "secret team" }\n')
        argv = ["run", "hi", "--headless", "--json", "--steps", "1", "--model", "openai/fake", "--trust"]
        ran = home.run(*argv, cwd=project)
    assert server.requests, ran
    assert all("X-Team" not in request.headers for request in server.requests)


@pytest.mark.parametrize(
    ("headers", "words"),
    [
        ('{ Host = "x" }', "rundry sets it"),
        ('{ "X Y" = "x" }', "not the name of a header"),
        ('{ X-A = "a\\nb" }', "one line"),
        ("{ X-A = 1 }", "not a text"),
        ('{ X-A = "a", x-a = "b" }', "given twice"),
        ('"x"', "not a table"),
        ('{ X-A = "${NOT_SET_ANYWHERE}" }', "NOT_SET_ANYWHERE, which is not set"),
    ],
)
def test_a_header_that_cannot_be_sent_is_named_with_its_fix(home: Home, project: Path, headers: str, words: str):
    ran = run(home, project, f"[model]\nheaders = {headers}\n", base="http://127.0.0.1:9/v1")
    assert (ran.exit_code, words in ran.stderr) == (2, True), ran


def test_openais_organization_and_project_come_from_its_own_variables_and_go_only_to_openai():
    env = {"OPENAI_API_KEY": "sk-x", "OPENAI_ORG_ID": "org-1", "OPENAI_PROJECT_ID": "proj-2"}
    at = resolve(ModelSpec(name="openai/gpt-x"), "openai", "gpt-x", env)
    assert at.headers == {"OpenAI-Organization": "org-1", "OpenAI-Project": "proj-2"}
    elsewhere = ModelSpec(name="openai/gpt-x", api_base="http://127.0.0.1:9/v1")
    assert resolve(elsewhere, "openai", "gpt-x", {k: v for k, v in env.items() if k != "OPENAI_API_KEY"}).headers == {}
    with pytest.raises(UserError, match="needs the variable MISSING"):
        resolve(ModelSpec(name="openai/gpt-x", headers={"X-A": "${MISSING}"}), "openai", "gpt-x", env)


@pytest.mark.parametrize("effort", ["none", "minimal", "low", "medium", "high", "xhigh"])
async def test_each_level_of_effort_reaches_the_wire(opened, serve, sse, effort):
    bodies: list[dict[str, Any]] = []

    async def chat(request: web.Request) -> web.Response:
        bodies.append(await request.json())
        return web.Response(body=sse({"content": "hi"}, finish="stop"), content_type="text/event-stream")

    asked = await opened(await serve({"POST /v1/chat/completions": chat}) + "/v1", effort=effort)
    await asked.ask()
    assert bodies[0]["reasoning_effort"] == effort
