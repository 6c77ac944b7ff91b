"""A check that cannot be started refuses the run before any call (docs/requirements.md 2.3.1)."""

from __future__ import annotations

import time
import venv
from pathlib import Path

import pytest
from fakes.project import changed_files, git
from fakes.rundry import Home
from fakes.server import ScriptedServer
from fakes.turns import say

COMMANDS = [
    ("nosuchcmd --all", "nosuchcmd: command not found. Install it"),
    ("check.sh", "check.sh: command not found. Write ./check.sh"),
    ("./check.sh", "./check.sh: Permission denied. Make it executable"),
    ("./gone.sh", "./gone.sh: No such file or directory"),
    ("./calc", "./calc: Is a directory"),
    ("cd calc && ./gone.sh", "./gone.sh: No such file"),
    ("X=1 nosuchcmd", "nosuchcmd"),
    ("timeout 5 nosuchcmd -x", "nosuchcmd"),
    ("true; nosuchcmd", "nosuchcmd"),
    ("(nosuchcmd)", "nosuchcmd"),
]


@pytest.mark.parametrize(
    ("option", "command", "named"),
    [
        *(("--until", command, named) for command, named in COMMANDS),
        *((option, *COMMANDS[0]) for option in ("--score", "--confirm-with", "--check")),
    ],
)
def test_a_missing_program_is_one_line_and_leaves_no_journal(
    home: Home, project: Path, option: str, command: str, named: str
):
    (project / "check.sh").write_text("exit 0\n")
    before = changed_files(project)
    argv = ["run", "fix", "--until", "true", option, command]
    if option == "--check":
        argv = ["find", "--recipe", "migrate", option, f"{command} {{file}}", "--task", "fix", "calc/*.py"]
    model = ["--model", "fake", "--api-base", "http://127.0.0.1:9/v1", "--headless"]
    ran = home.run(*argv, *model, cwd=project)
    (line,) = ran.stderr.splitlines()
    assert (ran.exit_code, ran.stdout) == (2, ""), ran
    assert option in line, line
    assert named in line, line
    assert home.journals() == []
    assert changed_files(project) == before


@pytest.mark.parametrize(
    "command", ["nosuchcmd | cat", "nosuchcmd || true", "if nosuchcmd; then true; fi", "f() { :; }; f"]
)
def test_a_line_that_can_exit_with_0_without_the_program_is_not_refused(home: Home, project: Path, command: str):
    with ScriptedServer([say("never asked for")]) as server:
        argv = ["--model", "fake", "--api-base", server.base_url, "--gate", "auto"]
        ran = home.run("run", "fix", "--headless", "--json", "--until", command, *argv, cwd=project)
    assert (ran.exit_code, ran.outcome["reason"]) == (0, "done"), ran


LATER = "echo prepared; sh -c 'exit 127'"


def test_a_program_that_only_the_run_can_miss_refuses_it_before_any_call(home: Home, project: Path):
    with ScriptedServer([say("never asked for")]) as server:
        argv = ["--model", "fake", "--api-base", server.base_url, "--gate", "auto"]
        ran = home.run("run", "fix", "--headless", "--json", "--until", LATER, *argv, cwd=project)
        assert (ran.exit_code, ran.outcome["reason"], ran.outcome["steps"]) == (2, "refused", 0), ran
        assert "prepared" in ran.outcome["detail"]
        assert (ran.outcome["journal"], home.journals()) == ("", [])
        resumed = home.run("resume", ran.events[0]["run_id"], "--headless", cwd=project)
        assert resumed.exit_code == 2, resumed
        assert server.requests == []


@pytest.mark.parametrize("loop", [["--every", "1s", "--until", LATER], ["--score", LATER]])
def test_a_loop_of_passes_is_refused_too(home: Home, project: Path, loop: list[str]):
    git(project, "switch", "-q", "-c", "rundry-work")
    with ScriptedServer([say("never asked for")]) as server:
        argv = ["--model", "fake", "--api-base", server.base_url, "--gate", "auto", "--steps", "3"]
        ran = home.run("run", "fix", "--headless", "--json", *loop, *argv, cwd=project)
        assert (ran.exit_code, ran.outcome["reason"]) == (2, "refused"), ran
        assert server.requests == []
        assert home.journals() == []


def test_a_screen_that_shows_such_a_refusal_leaves_no_journal_either(home: Home, project: Path):
    with (
        ScriptedServer([say("never asked for")]) as server,
        home.screen(
            "fix it", "--until", LATER, "--model", "fake", "--api-base", server.base_url, cwd=project
        ) as terminal,
    ):
        terminal.wait_for("cannot be started (exit code 127)")
        terminal.press("ctrl+q")
        assert terminal.wait_for_exit() == 2
        assert server.requests == []
    until = time.monotonic() + 10
    while (left := {path.name for path in home.runs.iterdir()} - {"runner.log", "layers"}) and time.monotonic() < until:
        time.sleep(0.05)
    assert not left
    assert list(home.runs.glob("layers/*/layers/*")) == []


def test_a_glob_without_a_file_is_one_line_and_leaves_no_journal(home: Home, project: Path):
    argv = ["find", "--recipe", "migrate", "--check", "true {file}", "--task", "fix", "--headless"]
    model = ["--model", "fake", "--api-base", "http://127.0.0.1:9/v1"]
    ran = home.run(*argv, *model, "calc/*.py", "no/*.such", cwd=project)
    (line,) = ran.stderr.splitlines()
    assert ran.exit_code == 2, ran
    assert "no file matches no/*.such" in line
    assert home.journals() == []


def test_a_run_that_has_steps_is_never_refused_though_its_check_can_no_longer_be_started(home: Home, project: Path):
    (project / "check.sh").write_text("#!/bin/sh\nexit 1\n")
    (project / "check.sh").chmod(0o755)
    with ScriptedServer([], then=say("I give up")) as server:
        argv = ["--model", "fake", "--api-base", server.base_url, "--gate", "auto", "--steps", "1"]
        ran = home.run("run", "fix", "--headless", "--json", "--until", "./check.sh", *argv, cwd=project)
        assert (ran.exit_code, ran.outcome["reason"], ran.outcome["steps"]) == (3, "budget", 1), ran
        (project / "check.sh").unlink()
        resumed = home.run("resume", ran.events[0]["run_id"], "--headless", "--json", "--steps", "2", cwd=project)
    assert (resumed.outcome["reason"], resumed.outcome["steps"], resumed.exit_code) != ("refused", 1, 2), resumed
    assert resumed.outcome["reason"] in ("budget", "handoff", "error"), resumed


def test_a_check_that_only_fails_is_not_a_reason_to_refuse(home: Home, project: Path):
    with ScriptedServer([], then=say("I give up")) as server:
        argv = ["--model", "fake", "--api-base", server.base_url, "--gate", "auto", "--steps", "1"]
        ran = home.run("run", "fix", "--headless", "--json", "--until", "exit 1", *argv, cwd=project)
    assert (ran.exit_code, ran.outcome["reason"]) == (3, "budget"), ran


@pytest.mark.parametrize("check", ["cat <<X\n{file}\nX", "echo `ruff check {file}`"])
def test_a_file_name_where_no_quotes_protect_from_it_is_refused(home: Home, project: Path, check: str):
    ran = home.run("find", "--recipe", "migrate", "--check", check, "calc/*.py", "--headless", cwd=project)
    (line,) = ran.stderr.splitlines()
    assert ran.exit_code == 2 and "it could be executed" in line, ran
    assert home.journals() == []


def test_a_python_without_the_runner_of_the_tests_refuses_the_run_before_any_call(home: Home, project: Path):
    venv.create(project / "env", symlinks=True)
    with ScriptedServer([say("never asked for")]) as server:
        argv = ["--model", "fake", "--api-base", server.base_url, "--gate", "auto"]
        check = "env/bin/python -m pytest -q"
        ran = home.run("run", "fix", "--headless", "--json", "--until", check, *argv, cwd=project)
        assert (ran.exit_code, ran.outcome["reason"]) == (2, "refused"), ran
        assert "No module named pytest" in ran.outcome["detail"]
        assert server.requests == []
