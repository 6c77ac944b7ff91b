"""What `rundry doctor` says about MCP servers, hooks, skills and telemetry (docs/how-to/mcp.md)."""

from __future__ import annotations

import json
from pathlib import Path

from fakes.rundry import Home

MODEL = ("--model", "ollama_chat/qwen3:8b")
USERS = """
[mcp.servers.shell]
command = "sh"
args = ["-c", "touch started"]

[mcp.servers.gone]
command = "no-such-server"

[mcp.servers.web]
url = "https://mcp.example.org/mcp"

[otel]
endpoint = "http://127.0.0.1:9"

[[hooks]]
on = "run-start"
command = "true"
"""
PROJECTS = """
[mcp.servers.theirs]
command = "sh"

[[hooks]]
on = "after-edit"
command = "tools/format.sh"
"""


def configure(home: Home, project: Path) -> None:
    home.config_file.parent.mkdir(parents=True)
    home.config_file.write_text(USERS)
    (project / ".rundry.toml").write_text(PROJECTS)
    (project / "tools").mkdir()
    (project / "tools" / "format.sh").write_text("touch started\n")
    skill = project / ".rundry" / "skills" / "check-style"
    skill.mkdir(parents=True)
    (skill / "SKILL.md").write_text("---\nname: check-style\ndescription: Check the style.\n---\nRead it.\n")


def test_doctor_lists_what_a_run_would_start_and_starts_nothing(home: Home, project: Path):
    configure(home, project)
    ran = home.run("doctor", *MODEL, cwd=project)
    assert ran.exit_code == 1, ran
    for line in (
        "mcp        shell: sh -c touch started  (trusted)",
        "mcp        gone: no-such-server  (there is no program no-such-server: install it, or correct its command)",
        "mcp        web: https://mcp.example.org/mcp  (trusted, no login)",
        "mcp        theirs: sh  (not trusted: it is in .rundry.toml; read it, then /trust on the screen)",
        "hook       run-start: true  (trusted)",
        "hook       after-edit: tools/format.sh  (not trusted: it is in .rundry.toml; ",
        "skill      check-style: .rundry/skills/check-style",
        "otel       spans of runs are sent to http://127.0.0.1:9",
        "!  MCP server gone: there is no program no-such-server: install it, or correct its command",
    ):
        assert line in ran.stdout, (line, ran.stdout)
    assert not (project / "started").exists()


def test_doctor_gives_programs_the_same(home: Home, project: Path):
    configure(home, project)
    told = json.loads(home.run("doctor", "--json", *MODEL, cwd=project).stdout)
    assert {one["name"]: one["trusted"] for one in told["mcp"]} == {
        "shell": True,
        "gone": True,
        "web": True,
        "theirs": False,
    }
    assert [(one["name"], one["trusted"]) for one in told["hooks"]] == [("run-start", True), ("after-edit", False)]
    assert [(one["name"], one["trusted"]) for one in told["skills"]] == [("check-style", False)]
    assert told["otel"] == "http://127.0.0.1:9"
    trusting = json.loads(home.run("doctor", "--json", "--trust", *MODEL, cwd=project).stdout)
    assert all(one["trusted"] for key in ("mcp", "hooks", "skills") for one in trusting[key])
