"""`rundry mcp add`, `import`, `list` and `remove`; a pasted server is then used by a run."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from fakes.rundry import RUNDRY, Home
from fakes.server import ScriptedServer
from fakes.turns import call, finish

from rundry.agent.sandbox.command_access import programs_of_user

TIME = str(RUNDRY.with_name("mcp-server-time"))


def files(home: Home) -> str:
    places = [path for path in home.root.rglob("*") if path.is_file() and path.suffix in (".json", ".toml")]
    return "\n".join(path.read_text() for path in places)


def test_a_server_is_added_listed_and_removed(home: Home, project: Path):
    added = home.run("mcp", "add", "time", "-e", "TZ=UTC", "--", TIME, "--local-timezone", "UTC", cwd=project)
    assert added.exit_code == 0, added
    listed = home.run("mcp", "list", "--json", cwd=project)
    assert json.loads(listed.stdout)["servers"] == [
        {"name": "time", "place": f"{TIME} --local-timezone UTC", "trusted": True, "problem": "", "login": None}
    ]
    twice = home.run("mcp", "add", "time", "--", "other", cwd=project)
    assert (twice.exit_code, "has a server time already" in twice.stderr) == (2, True), twice
    assert home.run("mcp", "remove", "time", cwd=project).exit_code == 0
    assert home.run("mcp", "remove", "time", cwd=project).exit_code == 2


def test_what_a_readme_shows_is_pasted_and_called_in_a_run(home: Home, project: Path, tmp_path: Path):
    row = {"type": "stdio", "command": TIME, "args": ["--local-timezone=${ZONE:-UTC}"], "env": {"LEVEL": "1"}}
    paste = tmp_path / "paste.json"
    paste.write_text(json.dumps({"mcpServers": {"my_own time-server": row}}))
    assert home.run("mcp", "import", str(paste), cwd=project).exit_code == 0
    (name,) = [one["name"] for one in json.loads(home.run("mcp", "list", "--json", cwd=project).stdout)["servers"]]
    home.config_file.write_text(f'[[gate.rules]]\nverdict = "allow"\ntool = "{name}__*"\n')
    turns = [call(f"{name}__get_current_time", timezone="Europe/Berlin"), finish("told", "calc/core.py")]
    with ScriptedServer([turns[0], call("read_file", path="calc/core.py"), turns[1]]) as server:
        ran = home.run(
            *("run", "--headless", "--json", "what time is it", "--model", "openai/fake"),
            *("--api-base", server.base_url),
            cwd=project,
            env={"OPENAI_API_KEY": "sk-none"},
        )
    assert ran.exit_code == 0, ran
    assert "Europe/Berlin" in ran.stdout, ran
    assert '"ok":true' in ran.stdout.replace(" ", ""), ran


def test_a_secret_is_in_no_file_but_one_that_only_the_user_reads_and_in_no_journal(
    home: Home, project: Path, tmp_path: Path
):
    paste = tmp_path / "paste.json"
    secret = "tok-0123456789abcdef"
    row = {"command": "sh", "args": ["-c", 'echo "$A_TOKEN" > "$HOME/seen"; exit 3'], "env": {"A_TOKEN": secret}}
    paste.write_text(json.dumps({"mcpServers": {"x": row}}))
    said = home.run("mcp", "import", str(paste), cwd=project)
    assert "its secret is in a file that only you can read" in said.stdout, said
    with ScriptedServer([call("read_file", path="calc/core.py"), finish("done", "calc/core.py")]) as server:
        ran = home.run(
            *("run", "--headless", "--json", "go", "--model", "openai/fake", "--api-base", server.base_url),
            cwd=project,
            env={"OPENAI_API_KEY": "sk-none"},
        )
    assert ran.exit_code == 0, ran
    assert secret not in ran.stdout + ran.stderr + said.stdout
    holding = [path for path in home.root.rglob("*") if path.is_file() and secret.encode() in path.read_bytes()]
    assert sorted(path.name for path in holding) == ["mcp-secrets.json", "seen"]
    assert {path.stat().st_mode & 0o077 for path in holding if path.suffix == ".json"} == {0}
    home.run("mcp", "remove", "x", cwd=project)
    assert secret not in files(home)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("mcp", "add"), "name the server and its command"),
        (("mcp", "nonsense"), "use add, import, list, remove"),
        (("mcp", "add", "--folder", ".", "x", "y"), "--folder is for serving"),
        (("mcp", "--network"), "--network needs a verb"),
        (("mcp", "add", "--transport", "sse", "x", "https://a.b/sse"), "sse"),
        (("mcp", "import", "missing.json"), "missing.json"),
        (("mcp", "add", "x", "http://example.com/mcp"), "is not encrypted"),
    ],
)
def test_a_wrong_call_is_one_line_and_exit_code_2(home: Home, project: Path, words: tuple[str, ...], said: str):
    ran = home.run(*words, cwd=project)
    assert (ran.exit_code, ran.stdout) == (2, ""), ran
    assert said in ran.stderr, ran


def test_servers_that_are_added_at_the_same_time_are_all_kept(home: Home, project: Path):
    names = [f"s{number}" for number in range(4)]
    with ThreadPoolExecutor() as threads:
        done = list(threads.map(lambda name: home.run("mcp", "add", name, "--", "prog", cwd=project), names))
    assert [one.exit_code for one in done] == [0] * 4
    listed = json.loads(home.run("mcp", "list", "--json", cwd=project).stdout)["servers"]
    assert sorted(one["name"] for one in listed) == names


def test_a_program_that_npm_linked_is_seen_with_its_packages(tmp_path: Path):
    packages = tmp_path / "tools" / "node_modules"
    (packages / ".bin").mkdir(parents=True)
    (packages / "@scope" / "server" / "dist").mkdir(parents=True)
    (packages / "@scope" / "server" / "dist" / "index.js").write_text("")
    (packages / ".bin" / "server").symlink_to("../@scope/server/dist/index.js")
    assert packages in programs_of_user([str(packages / ".bin" / "server")], tmp_path / "project")
