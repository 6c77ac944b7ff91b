"""A check that cannot be started refuses the run before any call (docs/requirements.md 2.3.1)."""

from __future__ import annotations

from pathlib import Path

import pytest
from fakes.project import git
from fakes.rundry import Home
from fakes.server import ScriptedServer
from fakes.turns import say


@pytest.mark.parametrize(
    ("check", "named"),
    [
        ("nosuchcmd --all", "nosuchcmd: command not found"),
        ("./check.sh", "./check.sh: Permission denied"),
        ("echo prepared; sh -c 'exit 127'", "prepared"),
    ],
)
def test_the_run_is_refused_with_the_commands_own_words(home: Home, project: Path, check: str, named: str):
    (project / "check.sh").write_text("exit 0\n")
    with ScriptedServer([say("never asked for")]) as server:
        argv = ["--model", "fake", "--api-base", server.base_url, "--gate", "auto"]
        ran = home.run("run", "fix", "--headless", "--json", "--until", check, *argv, cwd=project)
        assert (ran.exit_code, ran.outcome["reason"], ran.outcome["steps"]) == (2, "refused", 0), ran
        assert named in ran.outcome["detail"]
        resumed = home.run("resume", ran.events[0]["run_id"], "--headless", cwd=project)
        assert resumed.exit_code == 2, resumed
        assert server.requests == []


@pytest.mark.parametrize("loop", [["--every", "1s", "--until", "nosuchcmd"], ["--score", "nosuchcmd"]])
def test_a_loop_of_passes_is_refused_too(home: Home, project: Path, loop: list[str]):
    git(project, "switch", "-q", "-c", "rundry-work")
    with ScriptedServer([say("never asked for")]) as server:
        argv = ["--model", "fake", "--api-base", server.base_url, "--gate", "auto", "--steps", "3"]
        ran = home.run("run", "fix", "--headless", "--json", *loop, *argv, cwd=project)
        assert (ran.exit_code, ran.outcome["reason"]) == (2, "refused"), ran
        assert server.requests == []


def test_migrate_is_refused_too(home: Home, project: Path):
    with ScriptedServer([say("never asked for")]) as server:
        argv = ["--model", "fake", "--api-base", server.base_url, "--gate", "auto"]
        recipe = ["--recipe", "migrate", "--check", "nosuchcmd {file}", "--task", "fix", "--headless", "--json"]
        ran = home.run("find", *recipe, *argv, "calc/*.py", cwd=project)
        assert (ran.exit_code, server.requests) == (2, []), ran


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


def test_a_check_that_only_fails_is_no_reason_to_refuse(home: Home, project: Path):
    with ScriptedServer([], then=say("I give up")) as server:
        argv = ["--model", "fake", "--api-base", server.base_url, "--gate", "auto", "--steps", "1"]
        ran = home.run("run", "fix", "--headless", "--json", "--until", "exit 1", *argv, cwd=project)
    assert (ran.exit_code, ran.outcome["reason"]) == (3, "budget"), ran
