"""The scope of a run: said at its start, kept in its journal, and changed only by a person."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from fakes.in_process.driven import Driven
from fakes.models.model import ScriptedModel
from fakes.project import CHECK, CORE, make_project
from fakes.turns import call, say

from rundry.agent.journal.journal import Journal
from rundry.agent.protocol import AddScope, Budget, LoopKind, Predicates, Say, Stop
from rundry.agent.state.facts.run_facts import fold
from rundry.agent.verdict.scope.run_scope import scope_of_run
from rundry.agent.verdict.scope.scope import Scope

FIXED = CORE.replace("return a - b", "return a + b")


class Play:
    def __init__(self, tmp_path: Path) -> None:
        self.project, self._runs = tmp_path / "project", tmp_path / "runs"
        self.project.mkdir()
        self._runs.mkdir(mode=0o700)
        make_project(self.project)

    def run(self, *turns: Any, **more: Any) -> Driven:
        more.setdefault("predicates", Predicates(until=[CHECK]))
        more.setdefault("budget", Budget(steps=20))
        return Driven(self._runs, self.project, ScriptedModel(turns), **more)

    def scope(self, run: Driven) -> Scope | None:
        journal = Journal.open(run.path)
        try:
            return scope_of_run(fold(run.spec, run.stamped).verdicts, journal, self.project)
        finally:
            journal.close()


@pytest.fixture
def play(tmp_path: Path) -> Play:
    return Play(tmp_path)


async def test_a_run_with_a_check_says_what_may_change_before_the_first_call(play: Play):
    run = play.run(call("write_file", path="calc/core.py", text=FIXED), say("done"))
    await run.run()
    (started,) = run.of("run_started")
    (found,) = run.of("scope_set")
    assert found["line"] in started["notes"]
    assert found["line"].startswith("May change: sources (*.py)")
    scope = play.scope(run)
    assert scope is not None
    assert scope.in_scope("calc/core.py", new=False)
    assert not scope.in_scope("tests/test_core.py", new=False)


async def test_a_chat_without_a_check_has_no_scope(play: Play):
    run = play.run(say("hello"), loop=LoopKind.CHAT, predicates=Predicates(), task="hi")
    run.on("waiting", Stop(how="now"), why="message")
    await run.run(watched=True)
    assert run.of("scope_set") == []
    assert not any("May change" in note for note in run.of("run_started")[0]["notes"])
    assert play.scope(run) is None


async def test_a_resumed_run_has_the_scope_of_its_start(play: Play):
    run = play.run(call("read_file", path="calc/core.py"), say("stuck"), budget=Budget(steps=1))
    await run.run()
    (play.project / ".gitignore").write_text("calc/\n")
    (play.project / "judge.py").write_text("import unittest\n")
    await run.run()
    assert len(run.of("scope_set")) == 1
    scope = play.scope(run)
    assert scope is not None
    assert scope.in_scope("calc/core.py", new=False)


async def test_a_person_adds_files_while_it_runs(play: Play):
    run = play.run(call("read_file", path="calc/core.py"), call("read_file", path="calc/core.py"), say("x"))
    run.on("step_started", AddScope(globs=["docs/**"]))
    await run.run()
    first, second = run.of("scope_set")
    assert (first["by"], second["by"], second["added"]) == ("program", "person", ["docs/**"])
    assert "Added with --scope: docs/**" in "\n".join(second["listing"])
    scope = play.scope(run)
    assert scope is not None
    assert scope.in_scope("docs/a.md", new=True)


async def test_a_text_that_cannot_be_a_glob_and_a_request_of_a_client_are_refused(play: Play):
    run = play.run(call("read_file", path="calc/core.py"), call("read_file", path="calc/core.py"), say("x"))
    run.on("step_started", AddScope(globs=["!x"]), AddScope(globs=["docs/**"], by="mcp:x"))
    await run.run()
    assert len(run.of("scope_set")) == 1
    refused, by_client = (event["why"] for event in run.of("command_refused"))
    assert "not a glob" in refused
    assert by_client == "only a person can do this, not mcp:x"


async def test_a_run_without_a_check_refuses_to_add_files(play: Play):
    run = play.run(say("hello"), loop=LoopKind.CHAT, predicates=Predicates(), task="hi")
    run.on("waiting", AddScope(globs=["docs/**"]), Say(text="more"), nth=1, why="message")
    run.on("waiting", Stop(how="now"), nth=2, why="message")
    await run.run(watched=True)
    assert run.of("scope_set") == []
