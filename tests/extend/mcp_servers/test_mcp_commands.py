"""The `rundry` command with MCP servers, and without the packages of the extra."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from fakes.rundry import RUNDRY, Home
from fakes.server import ScriptedServer
from fakes.turns import call, finish

from rundry.agent.extend.mcp.accepted import Accepted
from rundry.agent.extend.mcp.connect import client_of
from rundry.agent.extend.mcp.mcp_servers import McpServers
from rundry.agent.protocol import McpServer
from rundry.agent.sandbox.sandbox import Sandbox

TIME = f'[mcp.servers.time]\ncommand = "{RUNDRY.with_name("mcp-server-time")}"\n'
ALLOW = '[[gate.rules]]\nverdict = "allow"\ntool = "time__get_current_time"\n'
DEV = Path(__file__).parents[3] / ".dev"
NPM = os.environ.get("RUNDRY_MCP_NPM", "")
"""A folder in which npm installed the reference servers."""


def configure(home: Home, text: str) -> None:
    home.config_file.parent.mkdir(parents=True)
    home.config_file.write_text(text)


def test_a_headless_run_says_which_servers_answer_and_calls_what_a_rule_allows(home: Home, project: Path):
    configure(home, f'{TIME}[mcp.servers.gone]\ncommand = "/nonexistent/server"\n{ALLOW}')
    turns = [
        call("time__get_current_time", timezone="Europe/Berlin"),
        call("read_file", path="calc/core.py"),
        finish("told", "calc/core.py"),
    ]
    with ScriptedServer(turns) as server:
        ran = home.run(
            *("run", "--headless", "what time is it", "--model", "openai/fake", "--api-base", server.base_url),
            cwd=project,
            env={"OPENAI_API_KEY": "sk-none"},
        )
    assert ran.exit_code == 0, ran
    assert "MCP server time answers: tools get_current_time, convert_time; about " in ran.stderr + ran.stdout, ran
    assert "MCP server gone does not run: " in ran.stderr + ran.stdout, ran
    assert "time__get_current_time" in ran.stderr + ran.stdout, ran


def without_extra(home: Home, project: Path, tmp_path: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run the command where the packages of the extra are not installed."""
    site = tmp_path / "site"
    site.mkdir(exist_ok=True)
    for entry in Path(sysconfig.get_paths()["purelib"]).iterdir():
        if not entry.name.startswith(("mcp", "__editable__")) and entry.suffix != ".pth":
            with suppress(FileExistsError):
                (site / entry.name).symlink_to(entry)
    path = f"import sys; sys.path[:0] = [{str(site)!r}, {str(DEV)!r}]"
    code = f"{path}; from rundry.tui.cli.root import main; sys.exit(main())"
    argv = [sys.executable, "-S", "-c", code, *words]
    return subprocess.run(argv, cwd=project, env=home.env, capture_output=True, text=True, check=False)


def test_without_the_extra_add_warns_and_list_says_one_sentence(home: Home, project: Path, tmp_path: Path):
    added = without_extra(home, project, tmp_path, "mcp", "add", "one", "--", "sh")
    assert "no server can be used yet: the MCP SDK is not installed; install its packages with: " in added.stdout, added
    again = without_extra(home, project, tmp_path, "mcp", "add", "two", "--", "sh")
    assert "2 servers in " in again.stdout, again
    (line,) = without_extra(home, project, tmp_path, "mcp", "list").stdout.splitlines()
    assert "not used of your mcp.json: the MCP SDK is not installed; " in line


def test_without_the_extra_one_line_names_it_and_no_journal_is_made(home: Home, project: Path, tmp_path: Path):
    configure(home, TIME)
    done = without_extra(
        home, project, tmp_path, "run", "--headless", "x", "--model", "fake", "--api-base", "http://127.0.0.1:9/v1"
    )
    assert done.returncode == 2, done
    (line,) = done.stderr.strip().splitlines()
    assert "[mcp.servers] time: the MCP SDK is not installed; install its packages with: " in line
    assert home.journals() == []


@pytest.mark.skipif(not NPM, reason="RUNDRY_MCP_NPM does not name a folder with the reference servers of npm")
@pytest.mark.long
async def test_the_reference_servers_of_npm_answer_over_stdio_and_http(tmp_path: Path, project: Path):
    programs = Path(NPM) / "node_modules" / ".bin"
    web = subprocess.Popen(
        [programs / "mcp-server-everything", "streamableHttp"],
        env={**os.environ, "PORT": "39871"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert web.stdout is not None
    assert any("listening" in line for line in web.stdout)
    listed = [
        McpServer(name="all", command=str(programs / "mcp-server-everything")),
        McpServer(name="files", command=str(programs / "mcp-server-filesystem"), args=[str(project)]),
        McpServer(name="http", url="http://127.0.0.1:39871/mcp"),
    ]
    sandbox = await Sandbox.detect(workspace=project)
    servers = McpServers(
        [client_of(server, sandbox, project, os.environ, []) for server in listed], Accepted(tmp_path / "mcp.json")
    )
    try:
        await servers.start()
        assert [client.state for client in servers.clients.values()] == ["ready"] * 3

        async def ask(name: str, **arguments: Any) -> str:
            tool = servers.find(name)
            assert tool is not None
            return (await servers.call(tool, arguments, 20)).text

        assert await ask("all__echo", message="hello") == "Echo: hello"
        assert await ask("http__echo", message="hello") == "Echo: hello"
        assert "def add" in await ask("files__read_text_file", path=str(project / "calc" / "core.py"))
        assert "read-only" in await ask("files__write_file", path=str(project / "made"), content="x")
    finally:
        await servers.close()
        web.kill()
        web.wait()
        web.stdout.close()
