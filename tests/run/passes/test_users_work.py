"""What the user does while a pass works: never rolled back, never committed (decision 0039)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fakes.clock import ManualClock
from fakes.in_process.driven import Driven
from fakes.in_process.simulated_hours import make_repository, subjects, through_hours
from fakes.project import git
from fakes.turns import call, finish
from fakes.users_work import all_of, work_as_user

from rundry.agent.layers.layer_effects import TooMuch
from rundry.agent.layers.run_layers import RunLayers
from rundry.agent.protocol import Budget, ImproveSpec, IntervalSpec, LoopKind, Say
from rundry.agent.run.client.start_request import ResumeChanges

Make = Callable[..., Driven]
RED, GREEN = "! grep -q broken a.txt", "test -f a.txt"


def write(path: str, content: str):
    return call("write_file", path=path, content=content)


DONE = finish("looked at it", "a.txt")


@pytest.fixture
def passing(driven: Make, work: Path) -> Make:
    """A pass of the named loop in the user's repository; the model writes the turns."""
    make_repository(work)

    def make(loop: str, *turns: Any, until: str) -> Driven:
        more: dict[str, Any] = {"budget": Budget(steps=len(turns), seconds=None), "until": [until]}
        if loop == "interval":
            return driven(*turns, loop=LoopKind.INTERVAL, interval=IntervalSpec(every=3600.0), **more)
        spec = ImproveSpec(score="wc -c < a.txt", bounded=True, patience=2, tries=2 if loop == "tries" else 1)
        return driven(*turns, loop=LoopKind.IMPROVE, improve=spec, **more)

    return make


DEEDS = {
    "all kinds of work": work_as_user,
    "an edit": lambda work: (work / "b.txt").write_text("by the user\n"),
    "an untracked file": lambda work: (work / "new.txt").write_text("by the user\n"),
    "a staged file": lambda work: ((work / "new.txt").write_text("by the user\n"), git(work, "add", "new.txt")),
    "a deletion": lambda work: (work / "b.txt").unlink(),
    "a mode": lambda work: (work / "b.txt").chmod(0o755),
    "a commit": lambda work: git(work, "commit", "-q", "--allow-empty", "-m", "By the user"),
    "a branch": lambda work: git(work, "switch", "-qc", "by-the-user"),
    "a stash": lambda work: ((work / "b.txt").write_text("stashed\n"), git(work, "stash", "push", "-q", "--", "b.txt")),
}
OF_THE_PASS = ("a.txt", "index", "git index", "git head", "git refs", "git HEAD", "git ORIG_HEAD")
"""What a commit of a change of a.txt may change."""


@pytest.mark.parametrize("until", [RED, GREEN], ids=["red", "green"])
@pytest.mark.parametrize("deed", DEEDS)
async def test_what_the_user_does_in_an_interval_pass_stays_as_it_is(passing: Make, work: Path, deed: str, until: str):
    await _stays(passing("interval", write("a.txt", "broken\n"), DONE, until=until), work, deed, until)


@pytest.mark.parametrize("until", [RED, GREEN], ids=["red", "green"])
@pytest.mark.parametrize("deed", ["all kinds of work", "an untracked file", "a commit"])
async def test_what_the_user_does_in_an_improve_pass_stays_as_it_is(passing: Make, work: Path, deed: str, until: str):
    await _stays(passing("improve", write("a.txt", "b\n"), DONE, until=until), work, deed, until)


async def _stays(run: Driven, work: Path, deed: str, until: str) -> None:
    after: list[dict[str, str]] = []

    def act(event: dict[str, Any]) -> Say:
        DEEDS[deed](work)
        after.append(all_of(work))
        return Say(text="")

    run.on("file_changed", act)
    await through_hours(run, ManualClock())
    now, (before,) = all_of(work), after
    if run.of("pass_finished")[0]["verdict"] == "reverted":
        assert now == before, run.story()
        return
    assert until == GREEN and run.of("pass_finished")[0]["verdict"] == "kept", run.story()
    assert {name: text for name, text in now.items() if name not in OF_THE_PASS} == {
        name: text for name, text in before.items() if name not in OF_THE_PASS
    }
    assert git(work, "show", "--format=", "--name-only", "HEAD").split() == ["a.txt"]


@pytest.mark.parametrize("until", [RED, GREEN], ids=["red", "green"])
@pytest.mark.parametrize("loop", ["interval", "improve"])
async def test_what_a_command_changed_in_a_pass_is_committed_or_dropped(
    passing: Make, work: Path, loop: str, until: str
):
    command = call("run_command", command="echo broken > a.txt; echo n > new.txt")
    run = passing(loop, command, DONE, until=until)
    await through_hours(run, ManualClock())
    is_kept = until == GREEN
    assert run.of("pass_finished")[0]["verdict"] == ("kept" if is_kept else "reverted"), run.story()
    assert (work / "new.txt").exists() == is_kept and len(subjects(work)) == 1 + is_kept
    assert git(work, "status", "--porcelain") == ""


@pytest.mark.parametrize("until", [RED, GREEN], ids=["red", "green"])
async def test_an_edit_of_the_models_file_after_its_edit_stays_and_a_green_pass_is_handed_over(
    passing: Make, work: Path, until: str
):
    run = passing("interval", write("a.txt", "broken\n"), DONE, until=until)
    run.on("file_changed", lambda _: ((work / "a.txt").write_text("by the user\n"), Say(text=""))[1])
    outcome = await through_hours(run, ManualClock())
    assert (work / "a.txt").read_text() == "by the user\n" and subjects(work) == ["First"]
    assert outcome.reason == ("handoff" if until == GREEN else "budget"), run.story()
    assert run.of("pass_finished")[0]["verdict"] == ("undecided" if until == GREEN else "reverted")


async def test_after_the_user_put_things_right_the_next_pass_begins(passing: Make, work: Path):
    run = passing("interval", write("a.txt", "two\n"), DONE, until=GREEN)
    run.on("file_changed", lambda _: ((work / "a.txt").write_text("by the user\n"), Say(text=""))[1])
    assert (await through_hours(run, ManualClock())).reason == "handoff", run.story()
    git(work, "commit", "-qam", "By the user")
    other = run.killed_at("run_ended")
    other.model = type(run.model)([write("a.txt", "three\n"), DONE])
    await through_hours(other, ManualClock(), changes=ResumeChanges(limits={"steps": 4}))
    assert [one["verdict"] for one in other.of("pass_finished")][:1] == ["kept"], other.story()
    assert subjects(work) == ["rundry pass 2: looked at it", "By the user", "First"]


async def test_a_commit_of_the_user_while_tries_run_stays_below_that_of_their_pass(passing: Make, work: Path):
    run = passing("tries", *[write("a.txt", "broken\n" * 9), DONE] * 2, DONE, until=GREEN)
    run.on("file_changed", lambda _: (DEEDS["a commit"](work), Say(text=""))[1])
    await through_hours(run, ManualClock())
    assert run.of("pass_finished")[0]["verdict"] == "kept", run.story()
    assert subjects(work)[1:] == ["By the user", "First"]


async def test_edits_of_the_tools_alone_are_committed_and_rolled_back_as_before(passing: Make, work: Path):
    turns = (
        write("a.txt", "x\n"),
        write("a.txt", "fine\n"),
        write("sub/new.txt", "n\n"),
        DONE,
        write("a.txt", "broken\n"),
    )
    run = passing("interval", *turns, DONE, DONE, until=RED)
    await through_hours(run, ManualClock())
    assert [one["verdict"] for one in run.of("pass_finished")][:2] == ["kept", "reverted"], run.story()
    assert subjects(work) == ["rundry pass 1: looked at it", "First"] and (work / "a.txt").read_text() == "fine\n"


async def test_a_pass_that_was_applied_is_finished_by_resume_although_its_layer_is_gone(passing: Make, work: Path):
    run = passing("interval", write("a.txt", "two\n"), DONE, until=GREEN)
    await through_hours(run, ManualClock())
    assert run.of("pass_finished")[0]["verdict"] == "kept", run.story()
    other = run.killed_at("effects_applied")
    await through_hours(other, ManualClock(), changes=ResumeChanges(limits={"steps": 2}))
    assert [one["verdict"] for one in other.of("pass_finished")] == ["kept"], other.story()
    assert len(subjects(work)) == 2


async def test_the_changes_of_a_pass_that_cannot_be_listed_stay_in_its_layer(
    passing: Make, work: Path, monkeypatch: pytest.MonkeyPatch
):
    def refuse(*_: object, **__: object) -> None:
        raise TooMuch("it has too many files")

    monkeypatch.setattr(RunLayers, "listed", refuse)
    run = passing("interval", write("a.txt", "two\n"), DONE, until=GREEN)
    await through_hours(run, ManualClock())
    (finished,) = run.of("pass_finished")
    place = run.of("pass_started")[0]["layer"]
    assert finished["verdict"] == "reverted" and f"it stays in {place}" in finished["why"], run.story()
    assert (Path(place) / "u/a.txt").read_text() == "two\n" and (work / "a.txt").read_text() != "two\n"
    assert run.of("patch_kept") == [], "a runner that resumes after it would delete the layer"
