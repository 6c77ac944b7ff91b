"""Rules as a person writes them: one that could never hold is refused, one that denies holds for reading as well."""

from __future__ import annotations

from pathlib import Path

import pytest
from fakes.project import CHECK, make_project, read
from fakes.rundry import Home
from fakes.server import ScriptedServer
from fakes.turns import call, calls, say

from rundry.agent.gate.rule_lint import rule_problem
from rundry.agent.gate.rules import denial_of
from rundry.agent.protocol import Rule


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "project").mkdir()
    return make_project(tmp_path / "project")


@pytest.mark.parametrize(
    ("fields", "mend"),
    [
        ({"tool": "run_comand"}, "use one of edit_file, write_file, run_command"),
        ({"tool": "start_command"}, "run_command rules apply to start_command too"),
        ({"tool": "write_file", "command": "ls"}, "remove the tool or the command"),
        ({"path": "src/**", "command": "rm"}, "write a rule for each"),
        ({"host": "x.org", "command": "curl"}, "write a rule for each"),
        ({"path": "../x"}, "write a path inside"),
        ({"path": "a\\"}, "write it as in .gitignore"),
        ({"path": " / "}, "write a glob"),
        ({"command": " "}, "write its first words"),
        ({"tool": "fetch_url", "path": "docs/**"}, "write host instead of path"),
        ({"tool": "run_command", "host": "x.org"}, "requests nothing of a host"),
        ({"host": "https://x.org/"}, "is not a host"),
        ({"host": "X.org"}, "write the host as x.org"),
        ({"tool": "time__now", "host": "x.org"}, "has no path, command or host"),
    ],
)
def test_a_rule_that_could_never_hold_is_refused_with_its_fix(fields: dict[str, str], mend: str):
    assert mend in (rule_problem(Rule(verdict="deny", **fields)) or "")


@pytest.mark.parametrize(
    "fields",
    [
        {"tool": "run_command", "command": "pytest -q"},
        {"command": "git push"},
        {"path": "secrets/**"},
        {"tool": "edit_file", "path": "!odd[n]ame"},
        {"tool": "read_file", "path": "*.csv"},
        {"tool": "fetch_url"},
        {"host": "*.example.org"},
        {"tool": "web_search", "host": "127.0.0.1:8888"},
        {"command": "curl x | sh"},
    ],
)
def test_a_rule_that_can_hold_is_taken(fields: dict[str, str]):
    assert rule_problem(Rule(verdict="deny", **fields)) is None


def test_what_is_allowed_is_one_plain_command_and_never_a_read():
    assert "one plain command" in (rule_problem(Rule(verdict="allow", command="ls && rm x")) or "")
    assert "only reads never asks" in (rule_problem(Rule(verdict="allow", tool="read_file")) or "")
    assert rule_problem(Rule(verdict="allow", command="ls -la")) is None
    assert rule_problem(Rule(verdict="allow", tool="fetch_url")) is None


def test_a_rule_for_commands_or_for_other_tools_keeps_nobody_from_reading():
    rules = [Rule(verdict="deny", command="cat"), Rule(verdict="deny", tool="write_file", path="**")]
    rules += [Rule(verdict="ask", path="**"), Rule(verdict="deny", tool="fetch_url")]
    assert denial_of(rules, "read_file", ["a.txt"]) is None
    assert denial_of(rules, "fetch_url", []) is not None


def test_a_misspelt_rule_in_the_folders_config_ends_before_there_is_a_run(home: Home, project: Path):
    (project / ".rundry.toml").write_text('[[gate.rules]]\nverdict = "deny"\ntool = "run_comand"\n')
    ran = home.run("x", "--trust", "--headless", "--until", CHECK, "--model", "fake", cwd=project)
    assert ran.exit_code == 2
    assert "deny run_comand: rules do not apply to run_comand" in ran.stderr
    assert home.journals() == []


def test_a_denied_path_is_neither_read_nor_found_by_a_search_nor_through_a_link(home: Home, project: Path):
    (project / "private").mkdir()
    (project / "private/plan.txt").write_text("the word is heliotrope\n")
    (project / "open.txt").write_text("no heliotrope here\n")
    (project / "link.txt").symlink_to("private/plan.txt")
    (project / ".rundry.toml").write_text('[[gate.rules]]\nverdict = "deny"\npath = "private/**"\n')
    turns = [
        calls(*(read(path).calls[0] for path in ("private/plan.txt", "link.txt", "./calc/../private/plan.txt"))),
        call("search", pattern="heliotrope"),
        say("done"),
    ]
    with ScriptedServer(turns) as server:
        argv = ["x", "--trust", "--headless", "--loop", "naive", "--model", "fake", "--api-base", server.base_url]
        home.run(*argv, cwd=project)
        told = server.requests[-1].text
    assert told.count("a rule refuses it: deny private/**") == 3
    assert "open.txt:1: no heliotrope here" in told
    assert "the word is" not in told
