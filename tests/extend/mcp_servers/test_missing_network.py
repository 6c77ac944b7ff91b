"""A server whose program is downloaded has no network by default: each place says so, and how to allow it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from fakes.rundry import Home
from fakes.server import ScriptedServer
from fakes.turns import call, finish

from rundry.agent.extend.mcp.missing_network import missing_network
from rundry.agent.extend.mcp.private_files import server_folder
from rundry.agent.protocol import McpServer

LINE = '"network": true (rundry mcp import FILE --network)'
MISSING = f"npx has no network to download the server: write {LINE}, or install the server"


def downloader(folder: Path, name: str = "npx") -> str:
    """A program with the name of a downloader, which fails as one does without a network."""
    program = folder / name
    folder.mkdir(exist_ok=True)
    program.write_text("#!/bin/sh\necho 'npm error code EAI_AGAIN' >&2\nexit 1\n")
    program.chmod(0o755)
    return str(program)


def pasted(project: Path, program: str, **more: object) -> None:
    row = {"command": program, "args": ["-y", "@scope/server"], **more}
    (project / ".mcp.json").write_text(json.dumps({"mcpServers": {"ev": row}}))


def test_a_run_says_it_before_the_start_and_once_in_the_failure(home: Home, project: Path, tmp_path: Path):
    pasted(project, downloader(tmp_path / "bin"))
    with ScriptedServer([call("read_file", path="calc/core.py"), finish("done", "calc/core.py")]) as server:
        ran = home.run(
            *("run", "--headless", "--trust", "go", "--model", "openai/fake", "--api-base", server.base_url),
            cwd=project,
            env={"OPENAI_API_KEY": "sk-none"},
        )
    assert ran.exit_code == 0, ran
    said = [line for line in (ran.stderr + ran.stdout).splitlines() if "MCP server ev" in line]
    assert len(said) == 2, ran
    assert f"MCP server ev may not start: {MISSING}" in said[0], ran
    assert f"MCP server ev does not run: {MISSING}. " in said[1], ran


@pytest.mark.parametrize("words", [("mcp", "list"), ("doctor", "--model", "ollama_chat/qwen3:8b")])
def test_list_and_doctor_say_it_before_and_after_trust(
    home: Home, project: Path, tmp_path: Path, words: tuple[str, ...]
):
    program = downloader(tmp_path / "bin")
    pasted(project, program)
    assert MISSING in home.run(*words, cwd=project).stdout
    pasted(project, program, network=True)
    assert "no network" not in home.run(*words, cwd=project).stdout


def test_import_says_it_unless_the_network_is_given(home: Home, project: Path, tmp_path: Path):
    pasted(project, downloader(tmp_path / "bin"))
    assert MISSING in home.run("mcp", "import", ".mcp.json", cwd=project).stdout
    assert home.run("mcp", "remove", "ev", cwd=project).exit_code == 0
    assert "no network" not in home.run("mcp", "import", "--network", ".mcp.json", cwd=project).stdout


def server(program: str = "npx", *args: str, **more: object) -> McpServer:
    return McpServer(name="ev", command=program, args=list(args or ("-y", "@scope/server@1.2")), **more)  # type: ignore[arg-type]


@pytest.mark.parametrize("program", ["npx", "/usr/bin/npx", "uvx", "docker"])
def test_each_downloader_without_the_network_is_named(tmp_path: Path, program: str):
    said = missing_network(server(program), tmp_path, {"HOME": str(tmp_path)})
    assert said is not None
    assert said.startswith(f"{Path(program).name} has no network to download the server: write network = true, ")


def test_nothing_is_missing_with_the_network_another_program_or_a_package_that_is_there(tmp_path: Path):
    env = {"XDG_STATE_HOME": str(tmp_path / "state")}
    assert missing_network(server(network=True), tmp_path, env) is None
    assert missing_network(server("mcp-server-time"), tmp_path, env) is None
    (server_folder(server(), tmp_path, env) / ".npm" / "_npx").mkdir(parents=True)
    assert missing_network(server(), tmp_path, env) is not None
    (server_folder(server(), tmp_path, env) / ".npm" / "_npx" / "0123").mkdir()
    assert missing_network(server(), tmp_path, env) is None
    (tmp_path / "node_modules" / "@scope" / "other").mkdir(parents=True)
    assert missing_network(server("npx", "@scope/other@1.2"), tmp_path, env) is None
    assert missing_network(server("npx", "@scope/another"), tmp_path, env) is not None
