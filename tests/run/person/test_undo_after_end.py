"""Undo after the goal was met, the run was paused, or its runner was killed."""

from __future__ import annotations

from pathlib import Path

from fakes.sandboxes import notes_of
from fakes.turns import Call, calls, edit
from run.person.undoing import DONE, STOP, refusals, sh, take_back, tree, undone, write

from rundry.agent.protocol import (
    FileChanged,
    Predicates,
    Undo,
    Unpause,
)


async def test_a_goal_that_was_met_is_asked_again_after_an_undo_and_worked_on_when_resumed(driven, work):
    predicates = Predicates(until=["grep -q ONE a.txt"], scope=["a.txt"])
    run = driven(edit("a.txt", "one", "ONE"), edit("a.txt", "one", "ONE!"), predicates=predicates)
    assert (await run.run()).reason == "done"
    await take_back(run)
    run.events.clear()
    outcome = await run.run()
    assert outcome.reason == "done", run.story()
    assert notes_of(run.of("run_resumed")) == []
    assert [e["passed"] for e in run.of("check_finished")] == [False, True]
    assert "The check `grep -q ONE a.txt` has not passed yet" in run.heard()
    assert (work / "a.txt").read_text() == "ONE!\n"
    run.assert_legal()


async def test_an_undo_that_meets_the_goal_ends_a_paused_run_without_a_call(driven, work):
    predicates = Predicates(until=["grep -q one a.txt && test -e b.txt && test -e c.txt"])
    run = driven(write("c.txt", "c"), edit("a.txt", "one", "broken"), predicates=predicates)
    (work / "b.txt").unlink()
    run.on("step_finished", lambda e: _make(work / "b.txt"), number=1)
    run.on("step_finished", STOP, number=2)
    await run.run()
    await take_back(run)
    run.events.clear()
    calls_before = len(run.model.requests)
    outcome = await run.run()
    assert (outcome.reason, len(run.model.requests)) == ("done", calls_before), run.story()


def _make(path: Path):
    path.write_text("two\n")
    return Unpause()


async def test_what_was_undone_before_a_pause_ended_is_known_after_it(driven, work):
    run = driven(edit("a.txt", "one", "ONE"), sh("sleep 5"), DONE)
    from rundry.agent.protocol import Interrupt

    run.on("tool_called", Interrupt(), tool="run_command")
    run.on("paused", Undo())
    run.on("undone", Unpause())
    outcome = await run.run(watched=True)
    assert outcome.reason == "answered", run.story()
    assert outcome.files_changed == [] and (work / "a.txt").read_text() == "one\n"
    assert "The person undid your last change" in run.heard()
    run.assert_legal()


async def test_a_command_whose_runner_was_killed_is_undone_after_the_resume_without_the_edits_of_its_step(driven, work):
    both = calls(
        Call("write_file", {"path": "a.txt", "content": "edited\n"}), Call("run_command", {"command": "echo x > b.txt"})
    )
    run = driven(both, DONE)
    await run.run()
    for event, applied in (("effects_accepted", False), ("effects_applied", True)):
        killed = run.killed_at(event)
        (work / "a.txt").write_text("edited\n")
        (work / "b.txt").write_text("x\n" if applied else "two\n")
        killed.model.turns, killed.model.requests[:] = [DONE], []
        await killed.run()
        if applied:
            assert undone(await take_back(killed)).files == ["b.txt"], killed.story()
        assert (work / "a.txt").read_text() == "edited\n" and (work / "b.txt").read_text() == "two\n"
        assert undone(await take_back(killed)).files == ["a.txt"]
        assert (work / "a.txt").read_text() == "one\n"


async def test_in_the_middle_of_a_step_that_died_it_is_refused_until_the_run_is_resumed(driven, work):
    run = driven(edit("a.txt", "one", "ONE"), DONE)
    await run.run()
    killed = run.killed_at("file_changed")
    assert "/resume it" in refusals(await take_back(killed))[0]
    killed.model.turns, killed.model.requests[:] = [DONE], []
    await killed.run()
    assert undone(await take_back(killed)).files == ["a.txt"]


async def test_an_undo_of_edits_that_was_killed_half_way_is_done_again_and_reported_once(driven, work):
    run = driven(write("a.txt", "1\n"), write("b.txt", "2\n"), write("c.txt", "3\n"), DONE)
    run.on("run_ended", Undo(changes=3)).on("undone", STOP)
    await run.run(watched=True, linger=True)
    killed = run.killed_at("file_changed", by="undo")
    (work / "a.txt").write_text("1\n")
    assert not (work / "c.txt").exists()
    events = await take_back(killed, Undo(changes=3))
    assert undone(events).files == ["a.txt", "b.txt", "c.txt"]
    assert {s.event.path for s in events if isinstance(s.event, FileChanged)} == {"a.txt", "b.txt"}
    assert tree(work) == {"a.txt": ("file", 0o644, b"one\n"), "b.txt": ("file", 0o644, b"two\n")}
