"""A run with tools that stays stuck after the hint starts over once from its best state."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fakes.in_process.driven import Driven
from fakes.models.model import ScriptedModel
from fakes.project import CHECK, make_project
from fakes.turns import call

from rundry.agent.protocol import Budget, GateMode, ModelSpec, Predicates, Verify

Make = Callable[..., Driven]
READ = call("read_file", path="calc/core.py")
ADD = call("edit_file", path="calc/core.py", old_text="return a - b", new_text="return a + b")
SPOIL = call("edit_file", path="calc/core.py", old_text="return a + b", new_text="return a * b")
SPOIL_FIRST = call("edit_file", path="calc/core.py", old_text="return a - b", new_text="return a * b")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    make_project(folder)
    return folder


@pytest.fixture
def stuck(tmp_path: Path, project: Path) -> Make:
    """A run on a red suite whose model repeats one call after its first turns."""
    runs = tmp_path / "runs"
    runs.mkdir(mode=0o700)

    def make(*turns: Any, **more: Any) -> Driven:
        options = {"task": "make the tests pass", "until": [CHECK], "budget": Budget(steps=40), **more}
        return Driven(
            runs, project, ScriptedModel(turns, then=READ), gate=options.pop("gate", GateMode.AUTO), **options
        )

    return make


def core(project: Path) -> str:
    return (project / "calc/core.py").read_text()


async def test_it_starts_over_once_from_the_state_in_which_most_tests_passed(stuck: Make, project: Path):
    run = stuck(ADD, SPOIL)
    outcome = await run.run()
    assert outcome.reason == "stagnation", run.story()
    assert [e["response"] for e in run.of("stall_detected")] == ["hint", "restart", "hint", "stop"]
    (restarted,) = run.of("restarted")
    assert restarted["format"] == "tools" and restarted["kept"] > 0
    assert [(e["by"], e["changes"]) for e in run.of("undone")] == [("restart", 1)]
    assert "return a + b" in core(project), "the best state is kept, and only what followed is taken back"
    (told,) = [e["text"] for e in run.of("prompted") if e["kind"] == "again"]
    assert "You were stuck (repeat: read_file" in told and "- edit calc/core.py" in told
    after = next(r for r in run.model.requests if any(told in m.text for m in r.messages))
    assert [m.role for m in after.messages][:2] == ["system", "user"] and not any(m.calls for m in after.messages)
    assert any(m.role == "user" and "make the tests pass" in m.text for m in after.messages)


async def test_edits_after_the_start_are_taken_back_if_none_of_them_helped(stuck: Make, project: Path):
    before = core(project)
    run = stuck(SPOIL_FIRST)
    outcome = await run.run()
    assert outcome.reason == "stagnation" and core(project) == before, run.story()
    assert "in the state" in next(e["text"] for e in run.of("prompted") if e["kind"] == "again")


@pytest.mark.parametrize(
    "options",
    [{"on_stall": "stop"}, {"on_stall": "handoff"}, {"restarts": 0}, {"gate": GateMode.ASK}],
    ids=["on-stall-stop", "on-stall-handoff", "no-restarts", "edits-ask"],
)
async def test_a_choice_of_the_user_or_edits_that_ask_leave_the_end_as_it_was(stuck: Make, options: dict[str, Any]):
    run = stuck(**options)
    await run.run()
    assert not run.of("restarted") and "restart" not in [e["response"] for e in run.of("stall_detected")], run.story()


async def test_a_stronger_model_comes_instead(stuck: Make):
    run = stuck(escalate=ModelSpec(name="strong"))
    run.open_model = lambda spec: ScriptedModel([], then=READ, name=spec.name)
    await run.run()
    assert not run.of("restarted") and run.of("model_switched"), run.story()


async def test_after_a_command_changed_a_file_nothing_is_taken_back(stuck: Make, project: Path):
    run = stuck(call("run_command", command="echo '# note' >> calc/core.py"), SPOIL_FIRST)
    await run.run()
    assert not run.of("restarted") and not run.of("undone"), run.story()
    assert "# note" in core(project) and "return a * b" in core(project)


async def test_edits_that_no_check_has_judged_are_not_taken_back(stuck: Make, project: Path):
    run = stuck(ADD, predicates=Predicates(until=[CHECK], verify=Verify.ON_CLAIM))
    await run.run()
    assert not run.of("restarted") and "return a + b" in core(project), run.story()
