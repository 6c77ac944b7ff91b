"""Passes on a clock: each from a clean start, committed or rolled back."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from fakes.clock import ManualClock
from fakes.in_process.driven import Driven
from fakes.in_process.simulated_hours import applies, make_repository, subjects, through_hours, tree_of
from fakes.project import changed_files, git
from fakes.turns import call, finish, say

from rundry.agent.journal.journal import Journal
from rundry.agent.protocol import (
    Act,
    Branch,
    Budget,
    GiveWheel,
    IntervalSpec,
    LoopKind,
    Say,
    Stop,
    TakeWheel,
    Undo,
    Wake,
)

Make = Callable[..., Driven]


def write(path: str, content: str):
    return call("write_file", path=path, content=content)


DONE = finish("looked at it", "a.txt")
"""Accepted once the pass read or wrote that file."""


@pytest.fixture
def clocked(driven: Make, work: Path) -> Make:
    """An interval run in a repository, an hour from pass to pass."""
    make_repository(work)

    def make(*turns: Any, every: float = 3600.0, steps: int = 6, branch: Branch | None = None, **more: Any) -> Driven:
        spec = IntervalSpec(every=every, branch=branch or Branch())
        return driven(*turns, loop=LoopKind.INTERVAL, interval=spec, budget=Budget(steps=steps, seconds=None), **more)

    return make


def passes(run: Driven) -> list[tuple[str, str]]:
    return [(event["verdict"], event["why"]) for event in run.of("pass_finished")]


async def test_each_pass_starts_an_hour_after_the_last_in_a_conversation_of_its_own_and_is_committed(
    clocked: Make, work: Path
):
    run = clocked(
        write("a.txt", "two\n"), DONE, write("a.txt", "three\n"), DONE, write("a.txt", "four\n"), DONE, task="count on"
    )
    clock = ManualClock()
    outcome = await through_hours(run, clock)
    assert outcome.reason == "budget" and outcome.exit_code == 3 and outcome.passes == 3
    started = [event["began"] for event in run.of("pass_started")]
    assert [b - a for a, b in pairwise(started)][:2] == [3600.0, 3600.0]
    assert subjects(work)[:3] == [f"rundry pass {n}: looked at it" for n in (3, 2, 1)]
    assert (work / "a.txt").read_text() == "four\n" and changed_files(work) == []
    third = run.heard(4)
    assert "Pass 3. count on" in third and "- pass 2 kept, a.txt" in third
    assert "two\\n" not in third, "the conversation of an earlier pass"
    run.assert_legal()


async def test_a_red_pass_is_rolled_back_and_its_patch_is_in_the_journal(clocked: Make, work: Path):
    before = tree_of(work)
    run = clocked(
        write("new/deep.txt", "n\n"), write("a.txt", "broken\n"), DONE, DONE, until=["! grep -q broken a.txt"], steps=4
    )
    await through_hours(run, ManualClock())
    assert passes(run)[0][0] == "reverted"
    assert tree_of(work) == before and changed_files(work) == [] and subjects(work) == ["First"]
    kept = run.of("patch_kept")[0]
    assert kept["files"] == ["a.txt", "new/deep.txt"]
    journal = Journal.open(run.path)
    patch = journal.blobs.load(kept["patch"])
    journal.close()
    assert b"+broken" in patch and applies(work, patch)
    assert run.outcome["files_changed"] == []


async def test_a_pass_that_was_rolled_back_leaves_nothing_to_undo(clocked: Make, work: Path):
    run = clocked(write("a.txt", "broken\n"), say("so"), say("so"), until=["! grep -q broken a.txt"], steps=4)
    run.on("sleeping", Undo()).on("command_refused", Stop(how="now"))
    await run.run(clock=ManualClock())
    assert run.of("command_refused")[0]["why"] == "nothing was changed yet"


async def test_what_git_will_not_take_is_rolled_back_and_the_filter_is_named(clocked: Make, work: Path):
    (work / ".gitattributes").write_text("*.txt filter=lfs\n")
    git(work, "add", ".")
    git(work, "commit", "-qm", "Second")
    run = clocked(write("a.txt", "two\n"), DONE, steps=2)
    await through_hours(run, ManualClock())
    assert passes(run)[0][0] == "reverted" and "filter `lfs`" in passes(run)[0][1]
    assert (work / "a.txt").read_text() == "one\n" and changed_files(work) == []


async def test_a_pass_ends_when_its_check_turns_green_without_a_word_of_the_model(clocked: Make, work: Path):
    run = clocked(write("a.txt", "DONE\n"), until=["grep -q DONE a.txt"], steps=1)
    await through_hours(run, ManualClock())
    assert passes(run) == [("kept", "check passed: grep -q DONE a.txt")]
    assert subjects(work)[0].startswith("rundry pass 1")


async def test_a_check_that_is_green_from_the_start_does_not_end_a_pass(clocked: Make, work: Path):
    run = clocked(write("a.txt", "2\n"), write("b.txt", "3\n"), DONE, until=["true"], steps=3)
    await through_hours(run, ManualClock())
    assert passes(run)[0][0] == "kept"
    assert run.of("pass_finished")[0]["files"] == ["a.txt", "b.txt"]


async def test_the_same_red_change_twice_is_a_repeat(clocked: Make, work: Path):
    wrong = (write("a.txt", "broken\n"), say("so"), say("so"))
    run = clocked(*wrong, *wrong, until=["! grep -q broken a.txt"], steps=6)
    await through_hours(run, ManualClock())
    first, second = run.of("pass_finished")[:2]
    assert (first["repeats"], second["repeats"]) == (None, 1)
    assert first["change"] == second["change"]


async def test_a_pass_that_overruns_delays_the_next_and_never_meets_it(clocked: Make, work: Path):
    clock = ManualClock()
    run = clocked(say("a"), say("b"), say("c"), say("d"), every=60.0, steps=4)
    run.on("reply_finished", lambda event: (clock.tick(150.0), Say(text=""))[1], nth=2)
    await through_hours(run, clock)
    first, second = run.of("pass_started")[:2]
    assert second["began"] - first["began"] == 150.0
    types = [event["type"] for event in run.events if event["type"].startswith("pass_")]
    assert types[:4] == ["pass_started", "pass_finished", "pass_started", "pass_finished"]


async def test_wake_begins_the_next_pass_immediately(clocked: Make, work: Path):
    clock = ManualClock()
    run = clocked(say("a"), say("b"), say("c"), say("d"), steps=4).on("sleeping", Wake())
    await run.run(clock=clock)
    assert run.of("woken")[0]["by"] == "person"
    first, second = run.of("pass_started")[:2]
    assert second["began"] == first["began"]
    assert run.of("command_taken")[0]["command"] == "wake"


async def test_a_message_wakes_it_and_stands_in_the_next_pass(clocked: Make, work: Path):
    run = clocked(say("a"), say("b"), say("c"), say("d"), steps=4).on("sleeping", Say(text="mind the gap"))
    await run.run(clock=ManualClock())
    assert run.of("woken")[0]["by"] == "message"
    assert "mind the gap" in run.heard(2)


async def test_a_stop_in_the_middle_of_a_pass_rolls_it_back(clocked: Make, work: Path):
    before = tree_of(work)
    run = clocked(write("a.txt", "half\n"), say("go on")).on("step_finished", Stop(how="now"))
    outcome = await run.run(clock=ManualClock())
    assert outcome.reason == "user" and tree_of(work) == before
    assert passes(run) == [("reverted", "the run ended during the pass")]


async def test_a_stop_while_it_sleeps_ends_it_immediately(clocked: Make):
    run = clocked(say("a"), say("b")).on("sleeping", Stop(how="now"))
    assert (await run.run(clock=ManualClock())).reason == "user"


async def test_the_deadline_ends_the_sleep(clocked: Make):
    clock = ManualClock()
    path_budget = Budget(steps=None, seconds=None, deadline=clock.now() + 100)
    run = clocked(say("a"), say("b"))
    run = Driven(
        run.folder,
        Path(run.spec.workspace),
        run.model,
        loop=LoopKind.INTERVAL,
        interval=IntervalSpec(every=3600.0),
        budget=path_budget,
    )
    driving = asyncio.ensure_future(run.run(clock=clock))
    while not run.of("sleeping"):
        await asyncio.sleep(0)
    await clock.advance(101)
    outcome = await driving
    assert outcome.reason == "budget" and "deadline" in outcome.detail
    assert run.of("woken")[0]["by"] == "deadline"


async def test_a_tree_that_someone_dirtied_meanwhile_is_left_alone_and_the_pass_begins(clocked: Make, work: Path):
    run = clocked(say("a"), say("b"), write("a.txt", "two\n"), DONE, steps=4)

    def dirty(event: dict[str, Any]) -> Wake:
        (work / "mine.txt").write_text("mine\n")
        return Wake()

    run.on("sleeping", dirty)
    await run.run(clock=ManualClock())
    assert [verdict for verdict, _ in passes(run)] == ["unchanged", "kept"], run.story()
    assert git(work, "status", "--porcelain") == "?? mine.txt\n" and (work / "a.txt").read_text() == "two\n"


@pytest.mark.parametrize("event", ["tool_called", "tool_finished", "file_changed", "step_finished"])
async def test_a_runner_killed_in_a_pass_whose_layer_is_gone_ends_the_pass(clocked: Make, work: Path, event: str):
    before = tree_of(work)
    run = clocked(write("a.txt", "two\n"), DONE, steps=2)
    await through_hours(run, ManualClock())
    other = run.killed_at(event)
    git(work, "reset", "-q", "--hard", "HEAD~1")
    other.model = type(run.model)([write("a.txt", "three\n"), DONE])
    await through_hours(other, ManualClock())
    assert other.of("pass_finished")[0]["verdict"] == "reverted", other.story()
    assert "its layer" in other.of("pass_finished")[0]["why"] and tree_of(work) == before
    other.assert_legal()


async def test_a_runner_killed_while_it_rolls_a_pass_back_rolls_it_back(clocked: Make, work: Path):
    before = tree_of(work)
    run = clocked(write("a.txt", "broken\n"), say("so"), say("so"), until=["! grep -q broken a.txt"], steps=3)
    await through_hours(run, ManualClock())
    other = run.killed_at("patch_kept")
    await through_hours(other, ManualClock())
    assert tree_of(work) == before
    assert other.of("pass_finished")[0]["verdict"] == "reverted" and not other.of("patch_kept")


async def test_a_short_real_run_on_the_real_clock(clocked: Make, work: Path):
    run = clocked(write("a.txt", "two\n"), DONE, write("a.txt", "three\n"), DONE, every=2.0, steps=4)
    await run.run()
    assert [verdict for verdict, _ in passes(run)][:2] == ["kept", "kept"]
    slept = run.of("woken")[0]["slept"]
    assert 0.1 < slept < 3.0


async def test_what_a_person_does_in_control_belongs_to_the_pass(clocked: Make, work: Path):
    run = clocked(write("a.txt", "two\n"), DONE, until=["! grep -q broken *.txt"], steps=4)
    run.on("step_finished", TakeWheel(), number=1)
    run.on("wheel_taken", Act(tool="run_command", arguments={"command": "echo by hand > hand.txt"}))
    run.on("tool_finished", GiveWheel(note="hand.txt was missing"), by="person")
    outcome = await through_hours(run, ManualClock())
    assert outcome.reason == "budget" and run.of("pass_finished")[0]["files"] == ["a.txt", "hand.txt"], run.story()
    assert subjects(work) == ["rundry pass 1: looked at it", "First"]
    assert (work / "hand.txt").read_text() == "by hand\n" and (work / "a.txt").read_text() == "two\n"
    assert "hand.txt was missing" in run.heard(1)
    run.assert_legal()


async def test_between_two_passes_nobody_takes_control(clocked: Make, work: Path):
    run = clocked(write("a.txt", "two\n"), DONE, steps=4).on("sleeping", TakeWheel(), Wake())
    run.on("sleeping", Stop(how="now"), nth=2)
    await run.run(watched=True)
    (refused,) = run.of("command_refused")
    assert "no pass is open" in refused["why"] and not run.of("wheel_taken"), run.story()
    assert passes(run)[1][0] != "skipped"


async def test_three_skipped_passes_end_in_a_hand_off_and_the_count_survives_a_resume(clocked: Make, work: Path):
    run = clocked(say("a"), say("b"), steps=9)

    def detach(event: dict[str, Any]) -> Wake:
        git(work, "switch", "-q", "--detach")
        return Wake()

    run.on("sleeping", detach).on("pass_finished", Stop(how="now"), number=3)
    assert (await through_hours(run, ManualClock())).reason == "user"
    outcome = await through_hours(run, ManualClock())
    assert (outcome.reason, outcome.exit_code) == ("handoff", 5)
    assert "3 passes in a row were skipped: HEAD is not on a branch" in outcome.detail
    assert [verdict for verdict, _ in passes(run)] == ["unchanged", "skipped", "skipped", "skipped"]
    git(work, "switch", "-q", "work")
    run.model = type(run.model)([say("a"), say("b")])
    run.on("pass_finished", Stop(how="now"), number=5)
    await through_hours(run, ManualClock())
    assert passes(run)[-1][0] == "unchanged", run.story()
