"""A runner that dies at its start, one that takes a dead one's run up, and a person who leaves while it wraps up."""

from __future__ import annotations

from pathlib import Path

import pytest
from fakes.played_events import PlayedLink, Script, started
from fakes.screens import PlayedStart, Stage
from painted import shows, until

from rundry.agent import (
    BackgroundStarted,
    CallAdmitted,
    CommandRefused,
    CommandTaken,
    ImproveSpec,
    Interrupted,
    LoopKind,
    PassStarted,
    Paused,
    Queued,
    Reason,
    RunEnded,
    RunResumed,
    ScoreMeasured,
    StepStarted,
    Stop,
    TextArrived,
    ViewState,
    Waiting,
    reduce_all,
)
from rundry.tui.app.exit_report import report_exit
from rundry.tui.control.run_status import RunStatus
from rundry.tui.control.view_result import ViewResult

SIZE = (100, 30)
RUN = (
    started(),
    StepStarted(number=1),
    CallAdmitted(prompt_tokens=20_000, max_tokens=1, worst_usd=0),
    TextArrived(text="Now the parser."),
)


async def test_a_runner_that_died_at_its_start_is_not_shown_as_starting(tmp_path: Path):
    stage = Stage(start=PlayedStart(tmp_path))
    async with stage.app.run_test(size=SIZE) as pilot:
        stage.link.state = "warming"
        stage.controller.begin("fix it")
        await shows(pilot, "the runner is starting")
        assert "fix it" in stage.text().splitlines()[0]
        stage.link.state = "gone"
        await shows(pilot, "The runner is gone")
        await until(pilot, lambda: "the runner is starting" not in stage.text())
        assert "runner.log" in stage.text()


async def test_what_ran_next_to_a_dead_runner_does_not_run_again_while_the_next_one_comes_up():
    stage = Stage()
    async with stage.app.run_test(size=SIZE) as pilot:
        stage.play(*RUN, BackgroundStarted(name="server", command="python -m http.server"))
        await shows(pilot, "▸ server")
        stage.link.state = "gone"
        await until(pilot, lambda: "▸ server" not in stage.text())
        stage.link.state = "warming"
        await until(pilot, lambda: "starting" in stage.text() and "The runner is gone" not in stage.text())
        for word in ("esc interrupt", "^s steer", "waits for the step's end"):
            assert word not in stage.text()
        assert "0:00/10:00" in stage.text(), "nobody's clock goes on"
        assert "▸ server" not in stage.text()


async def test_a_refused_command_is_no_longer_shown_as_sent():
    stage = Stage()
    async with stage.app.run_test(size=SIZE) as pilot:
        stage.play(started(loop=LoopKind.CHAT), Waiting(why="message"))
        await stage.caught_up(pilot)
        await pilot.press(*"/compact", "enter")
        await shows(pilot, "requesting a summary")
        stage.play(CommandRefused(command_id=len(stage.link.commands), command="compact", why="there is nothing old"))
        await shows(pilot, "there is nothing old")
        assert "requesting a summary" not in stage.text()


async def test_a_command_that_was_carried_out_is_no_longer_shown_as_sent():
    stage = Stage()
    async with stage.app.run_test(size=SIZE) as pilot:
        stage.play(started(loop=LoopKind.CHAT), Waiting(why="message"))
        await stage.caught_up(pilot)
        await pilot.press(*"/compact", "enter")
        await shows(pilot, "requesting a summary")
        stage.play(CommandTaken(command_id=len(stage.link.commands), command="compact"))
        await until(pilot, lambda: "requesting a summary" not in stage.text())


async def test_a_queued_message_that_comes_back_stands_before_the_draft():
    stage = Stage()
    async with stage.app.run_test(size=SIZE) as pilot:
        stage.play(*RUN, Queued(queued_id=4, text="later"))
        await shows(pilot, "1 queued")
        await pilot.press(*"draft", "alt+up")
        await until(pilot, lambda: stage.screen.message.box.text != "draft")
        assert stage.screen.message.box.text == "later\ndraft"


async def test_who_leaves_before_the_wrap_up_is_over_reads_that_the_run_is_stopping(
    capsys: pytest.CaptureFixture[str],
):
    stage = Stage()
    async with stage.app.run_test(size=SIZE) as pilot:
        stage.play(*RUN)
        await stage.caught_up(pilot)
        await pilot.press("ctrl+c", "ctrl+c", "w", "ctrl+c", "ctrl+c")
        await until(pilot, lambda: stage.app.return_value is not None)
    result = stage.app.return_value
    assert result == ViewResult()
    assert stage.link.commands == [Stop(how="wrap_up")], "it is told once"
    assert report_exit(stage.controller, result, {}) == 130
    assert "the run is stopping but has not ended yet: rundry watch r1" in capsys.readouterr().err


async def test_a_run_that_continues_after_its_end_is_no_longer_asked_to_stop():
    stage = Stage()
    stage.play(*RUN)
    stage.controller.catch_up()
    stage.controller.put(Stop(how="wrap_up"))
    stage.play(RunEnded(reason=Reason.USER, detail="stopped", complete=False, exit_code=130))
    stage.controller.catch_up()
    stage.play(RunResumed(run_id="r1", from_seq=9))
    stage.controller.catch_up()
    assert not stage.controller.is_stopping


async def test_the_key_for_the_best_score_says_what_holds_it_back():
    stage = Stage()
    async with stage.app.run_test(size=SIZE) as pilot:
        stage.play(started(loop=LoopKind.IMPROVE, improve=ImproveSpec(score="cat score", bounded=True)))
        await shows(pilot, "improve")
        await pilot.press("alt+r")
        await shows(pilot, "nothing has been measured yet")
        stage.play(
            ScoreMeasured(score=4, best=4, kept=True, stale_passes=0, number=0),
        )
        await shows(pilot, "best 4")
        await pilot.press("alt+r")
        await shows(pilot, "the files already have the best score: 4")
        stage.play(PassStarted(number=1), StepStarted(number=1), TextArrived(text="Now the parser."))
        await shows(pilot, "Now the parser.")
        await pilot.press("alt+r")
        await shows(pilot, "a step is running: press esc to interrupt it, then use /best")
        stage.play(Interrupted(what="model"), Paused(why="interrupted"))
        await shows(pilot, "paused")
        await pilot.press("alt+r")
        await shows(pilot, "this pass changed nothing")
        stage.screen.prompt.tell("")
        await shows(pilot, "⌥r best score")


@pytest.mark.parametrize("is_parked", [False, True])
def test_only_a_runner_that_nobody_asked_to_go_is_missed(is_parked: bool):
    link, state = PlayedLink(), ViewState()
    reduce_all(state, Script().stamp(started(), StepStarted(number=1)))
    link.state = "gone"
    status = RunStatus(link, state, begun=True, is_parked=is_parked)
    assert status.is_over and status.is_orphaned
    assert (status.is_gone, status.phase == "runner gone") == (not is_parked, not is_parked)
