"""What the user does while a pass runs in their folder: never rolled back, never committed (docs/decisions/0036)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fakes.clock import ManualClock
from fakes.in_process.driven import Driven
from fakes.in_process.hours import make_repository, subjects, through_hours
from fakes.project import git
from fakes.turns import call, finish, say
from fakes.users_work import all_of, work_as_user

from rundry.agent.protocol import Budget, ImproveSpec, IntervalSpec, LoopKind, Say

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
    "an edit of the model's file": lambda work: (work / "a.txt").write_text("broken\nby the user\n"),
    "an untracked file": lambda work: (work / "new.txt").write_text("by the user\n"),
    "a staged file": lambda work: ((work / "new.txt").write_text("by the user\n"), git(work, "add", "new.txt")),
    "a deletion": lambda work: (work / "b.txt").unlink(),
    "a mode": lambda work: (work / "b.txt").chmod(0o755),
    "a commit": lambda work: git(work, "commit", "-q", "--allow-empty", "-m", "By the user"),
    "a branch": lambda work: git(work, "switch", "-qc", "by-the-user"),
    "a stash": lambda work: ((work / "b.txt").write_text("stashed\n"), git(work, "stash", "push", "-q", "--", "b.txt")),
}


@pytest.mark.parametrize("until", [RED, GREEN], ids=["red", "green"])
@pytest.mark.parametrize("deed", DEEDS)
async def test_what_the_user_does_in_an_interval_pass_is_handed_over(passing: Make, work: Path, deed: str, until: str):
    await _handed_over(passing("interval", write("a.txt", "broken\n"), DONE, DONE, until=until), work, deed)


@pytest.mark.parametrize("until", [RED, GREEN], ids=["red", "green"])
@pytest.mark.parametrize("deed", ["all kinds of work", "an untracked file", "a commit"])
async def test_what_the_user_does_in_an_improve_pass_is_handed_over(passing: Make, work: Path, deed: str, until: str):
    await _handed_over(passing("improve", write("a.txt", "broken\n" * 9), DONE, DONE, until=until), work, deed)


async def _handed_over(run: Driven, work: Path, deed: str) -> None:
    after: list[dict[str, str]] = []

    def act(event: dict[str, Any]) -> Say:
        DEEDS[deed](work)
        after.append(all_of(work))
        return Say(text="")

    run.on("file_changed", act)
    outcome = await through_hours(run, ManualClock())
    assert outcome.reason == "handoff" and "no tool of this run wrote" in outcome.detail, run.story()
    assert all_of(work) == after[0]
    assert run.of("pass_finished")[0]["verdict"] == "undecided" and not run.of("patch_kept")


@pytest.mark.parametrize("until", [RED, GREEN], ids=["red", "green"])
@pytest.mark.parametrize("loop", ["interval", "improve"])
async def test_what_a_command_changed_in_a_pass_is_neither_committed_nor_rolled_back(
    passing: Make, work: Path, loop: str, until: str
):
    command = call("run_command", command="echo broken broken > a.txt; echo n > new.txt")
    outcome = await through_hours(run := passing(loop, command, DONE, DONE, until=until), ManualClock())
    assert outcome.reason == "handoff" and "a.txt, new.txt" in outcome.detail, run.story()
    assert subjects(work) == ["First"] and (work / "new.txt").read_text() == "n\n"


async def test_an_edit_between_two_edits_of_the_model_belongs_to_the_user(passing: Make, work: Path):
    turns = (write("a.txt", "broken\n"), write("a.txt", "broken again\n"), say("so"), say("so"))
    run = passing("interval", *turns, until=RED)
    run.on("step_finished", lambda _: ((work / "a.txt").write_text("by the user\n"), Say(text=""))[1], number=1)
    outcome = await through_hours(run, ManualClock())
    assert outcome.reason == "handoff" and "a.txt" in outcome.detail, run.story()
    assert (work / "a.txt").read_text() != "one\n"


async def test_after_the_user_put_things_right_the_next_pass_begins(passing: Make, work: Path):
    run = passing("interval", write("a.txt", "two\n"), DONE, write("a.txt", "three\n"), DONE, until=GREEN)
    run.on("file_changed", lambda _: ((work / "new.txt").write_text("by the user\n"), Say(text=""))[1])
    assert (await through_hours(run, ManualClock())).reason == "handoff", run.story()
    git(work, "add", "new.txt", "a.txt")
    git(work, "commit", "-qm", "By the user")
    other = run.killed_at("run_ended")
    other.model = type(run.model)([write("a.txt", "three\n"), DONE])
    await through_hours(other, ManualClock())
    assert [one["verdict"] for one in other.of("pass_finished")][:1] == ["kept"], other.story()
    assert subjects(work) == ["rundry pass 2: looked at it", "By the user", "First"]


async def test_a_commit_of_the_user_while_tries_run_in_worktrees_stays(passing: Make, work: Path):
    run = passing("tries", *[write("a.txt", "broken\n" * 9), DONE] * 2, DONE, until=GREEN)
    run.on("file_changed", lambda _: (DEEDS["a commit"](work), Say(text=""))[1])
    outcome = await through_hours(run, ManualClock())
    assert outcome.reason == "handoff" and "refs/heads/work" in outcome.detail, run.story()
    assert subjects(work) == ["By the user", "First"]


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
