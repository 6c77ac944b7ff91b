"""`--edit-format constrained`: the program picks the file, the model fills three fields, the gate sees an edit."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fakes.in_process.driven import Driven
from fakes.models.model import ScriptedModel
from fakes.project import CHECK, make_project
from fakes.turns import Turn, say

from rundry.agent.protocol import Budget, Decide, GateMode, Predicates, Rule

Make = Callable[..., Driven]


@pytest.fixture
def calc(tmp_path: Path) -> Make:
    """A red suite in a git project, and a run on it by constrained edits."""
    project, runs = tmp_path / "project", tmp_path / "runs"
    project.mkdir()
    runs.mkdir(mode=0o700)
    make_project(project)

    def make(*turns: Any, until: str = CHECK, then: Turn | None = None, **more: Any) -> Driven:
        options = {"task": "make the tests pass", "until": [until], "budget": Budget(steps=8), **more}
        return Driven(runs, project, ScriptedModel(turns, then=then), edit_format="constrained", **options)

    return make


def answer(find: str, replace: str, *, done: bool = False) -> Turn:
    return say(json.dumps({"find": find, "replace": replace, "done": done}))


ADD = answer("return a - b", "return a + b")
MEAN = answer("(len(values) + 1)", "len(values)")


async def test_the_file_behind_a_red_check_is_shown_and_two_small_answers_turn_it_green(calc: Make, tmp_path: Path):
    run = calc(ADD, MEAN)
    outcome = await run.run()
    assert outcome.reason == "done" and outcome.files_changed == ["calc/core.py"], run.story()
    assert [e["path"] for e in run.of("proposal_opened")] == ["calc/core.py"] * 2
    first, second = run.model.requests
    assert first.schema is not None and list(first.schema["properties"]) == ["find", "replace", "done"]
    assert not first.tools and "The file `calc/core.py` as it is now:" in first.messages[-1].text
    assert "return a - b" in first.messages[-1].text and "test_add" in first.messages[-1].text
    roles = [message.role for message in second.messages]
    assert roles == ["system", "user", "assistant", "user"] and not any(m.calls for m in second.messages)
    assert run.heard(1).count("def mean(values)") == 1, "only the newest state of a file is heard"
    assert "Result of your edit: calc/core.py changed" in second.messages[-1].text


async def test_fences_bare_line_ends_and_a_call_that_is_not_json_are_taken_as_they_are_meant(calc: Make):
    fenced = say(
        'Sure!\n```json\n{"find": "def add(a, b):\n    return a - b", "replace": "def add(a, b):\n'
        '    return a + b", "done": false}\n```'
    )
    run = calc(say("I would change the minus."), fenced, MEAN)
    outcome = await run.run()
    assert outcome.reason == "done", run.story()
    assert "Your answer contained no edit" in run.heard(1)


async def test_what_the_gate_refuses_or_does_not_match_is_reported_and_changes_nothing(calc: Make, tmp_path: Path):
    before = (tmp_path / "project/calc/core.py").read_bytes()
    run = calc(answer("return a * b", "return a + b"), ADD, then=answer("", "", done=True), gate=GateMode.ASK)
    run.on(
        "proposal_opened",
        lambda e: Decide(proposal_id=e["proposal_id"], digest=e["digest"], verdict="reject", reason="not so"),
    )
    await run.run(watched=True, within=20)
    assert (tmp_path / "project/calc/core.py").read_bytes() == before
    assert "old_text" in run.heard(1) or "not found" in run.heard(1)
    assert "not so" in run.heard(2)


async def test_a_file_that_the_model_sets_aside_makes_room_for_the_next_and_what_decides_is_never_picked(calc: Make):
    run = calc(then=answer("", "", done=True), task="look at NOTES.md and calc/core.py", budget=Budget(steps=3))
    await run.run()
    shown = [e["text"].split("`")[1] for e in run.of("prompted") if e["kind"] == "file"]
    assert shown[:2] == ["calc/core.py", "NOTES.md"], run.story()
    assert not any("test_core" in path for path in shown)


async def test_a_missing_file_that_is_wanted_is_written_whole(calc: Make, tmp_path: Path):
    run = calc(answer("", "all is well\n"), until="true", predicates=Predicates(until_file=["out/report.txt"]))
    outcome = await run.run()
    assert outcome.reason == "done", run.story()
    assert (tmp_path / "project/out/report.txt").read_text() == "all is well\n"


async def test_a_run_that_was_cut_down_continues(calc: Make, tmp_path: Path):
    run = calc(ADD, MEAN)
    await run.run()
    killed = run.killed_at("tool_called")
    (tmp_path / "project/calc/core.py").write_text(
        (tmp_path / "project/calc/core.py").read_text().replace("a + b", "a - b")
    )
    killed.model.turns[:], killed.model.requests[:] = [ADD], []
    outcome = await killed.run()
    assert outcome.reason == "done", killed.story()


async def test_where_nothing_names_a_file_a_hidden_one_comes_last(calc: Make):
    run = calc(then=answer("", "", done=True), until="false", task="tidy", budget=Budget(steps=1))
    await run.run()
    (shown, *_) = [e["text"].split("`")[1] for e in run.of("prompted") if e["kind"] == "file"]
    assert shown == "NOTES.md"


@pytest.mark.parametrize("tool", [None, "read_file", "edit_file"])
async def test_a_file_that_a_rule_keeps_from_the_model_is_not_shown_to_it(calc: Make, tool: str | None):
    deny = [Rule(verdict="deny", tool=tool, path="calc/core.py")]
    run = calc(then=answer("", "", done=True), task="mend calc/core.py", rules=deny, budget=Budget(steps=2))
    await run.run()
    shown = [e["text"].split("`")[1] for e in run.of("prompted") if e["kind"] == "file"]
    assert shown and "calc/core.py" not in shown, run.story()
    assert not any("return a - b" in run.heard(i) for i in range(len(run.model.requests)))


async def test_a_missing_file_that_a_rule_keeps_from_being_made_is_not_asked_for(calc: Make):
    deny = [Rule(verdict="deny", path="out/**")]
    wanted = Predicates(until_file=["out/report.txt"])
    run = calc(then=answer("", "", done=True), until="false", predicates=wanted, rules=deny, budget=Budget(steps=1))
    await run.run()
    assert not any("There is no file `out/report.txt`" in run.heard(i) for i in range(len(run.model.requests)))


def shown(run: Driven) -> list[str]:
    """Paths of the files that were offered for an edit."""
    return [e["text"].split("`")[1] for e in run.of("prompted") if e["kind"] == "file"]


@pytest.mark.parametrize(("task", "first"), [("tidy", "NOTES.md"), ("shorten AGENTS.md", "AGENTS.md")])
async def test_an_instructions_file_is_offered_only_where_the_task_names_it(
    calc: Make, tmp_path: Path, task: str, first: str
):
    (tmp_path / "project/AGENTS.md").write_text("Write plainly.\n")
    (tmp_path / "project/docs").mkdir()
    (tmp_path / "project/docs/CLAUDE.md").write_text("Write plainly.\n")
    run = calc(then=answer("", "", done=True), until="false", task=task, budget=Budget(steps=9))
    await run.run()
    assert shown(run)[0] == first, run.story()
    assert "docs/CLAUDE.md" not in shown(run)
    assert ("AGENTS.md" in shown(run)) == (first == "AGENTS.md")


async def test_a_file_that_the_model_names_next_to_its_json_comes_next(calc: Make):
    asks = say('I have to see `NOTES.md` first. {"find": "", "replace": "", "done": false}')
    run = calc(asks, ADD, MEAN)
    await run.run()
    assert shown(run)[:2] == ["calc/core.py", "NOTES.md"], run.story()


@pytest.mark.parametrize(("units", "whole"), [(40, True), (400, False)])
async def test_the_file_gets_the_space_and_long_instructions_are_shortened(
    calc: Make, tmp_path: Path, units: int, whole: bool
):
    project = tmp_path / "project"
    core = project / "calc/core.py"
    added = "".join(f"\n\ndef unit_{i}(value):\n    return value + {i}\n" for i in range(units))
    core.write_text(core.read_text() + added)
    agents = project / "AGENTS.md"
    agents.write_text("".join(f"{i}. Write plainly and test what you write.\n" for i in range(240)))
    run = calc(ADD, MEAN, instructions=str(agents))
    run.model.window = 4_096
    outcome = await run.run()
    assert outcome.reason == "done", run.story()
    for i, request in enumerate(run.model.requests):
        assert run.model.count(request.messages, request.tools) <= 3_072
        assert (f"value + {units - 1}\n" in run.heard(i)) == whole
        assert "more characters are left out" in run.heard(i)
    (first, *_) = run.of("prompt_shortened")
    assert 0 < first["kept"] < first["length"] == len(agents.read_text())
