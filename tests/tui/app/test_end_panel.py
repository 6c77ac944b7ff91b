"""The end of a run on the screen: verdict, evidence, changes, cost, next step, and the keys that work."""

from __future__ import annotations

import subprocess
from pathlib import Path

import msgspec
import pytest
from fakes.played_events import started
from fakes.screens import Stage
from fakes.views.board_screen import Searching, three
from fakes.views.lens_search import crawl
from painted import shows, until

from rundry.agent import (
    Evidence,
    ItemFailed,
    LoopKind,
    PlanChanged,
    Reason,
    RunEnded,
    RunResumed,
    StepStarted,
    Tokens,
    ViewState,
)
from rundry.agent.protocol import Confirmation, Confirmed, TestCounts
from rundry.tui.control.commit_changes import Commit, message_for
from rundry.tui.control.end_words import offered

EVIDENCE = Evidence(
    before=TestCounts(212, 14),
    after=TestCounts(212, 0),
    guarded_unchanged=True,
    confirmation=Confirmation(result=Confirmed.PASSED, command="pytest -q"),
)


def ended(reason: Reason = Reason.DONE, detail: str = "pytest -q passes", **fields: object) -> RunEnded:
    complete = reason in (Reason.DONE, Reason.ANSWERED, Reason.PLATEAU)
    return RunEnded(
        reason=reason,
        detail=detail,
        complete=complete,
        exit_code=0,
        steps=9,
        tokens=Tokens(60_000, 1_000),
        usd=0.04,
        seconds=161.0,
        **fields,  # type: ignore[arg-type]
    )


@pytest.mark.parametrize("size", [(60, 20), (80, 24), (120, 40), (200, 50)])
async def test_the_end_shows_verdict_evidence_changes_cost_and_the_next_step(size: tuple[int, int]):
    stage = Stage()
    async with stage.app.run_test(size=size) as pilot:
        stage.play(started(), StepStarted(number=9), ended(evidence=EVIDENCE, files_changed=["a.py", "b.py"]))
        text = " ".join((await shows(pilot, "⏎ next task")).split())
        for words in ("✓ done", "pytest -q passes", "212 tests as at the start", "9 steps 61k tokens $0.04 2:41"):
            assert words in text
        assert "type the next task" in text
        if size[0] > 60:
            assert "confirmed in a clean checkout" in text
            assert "2 files changed" in text


def test_what_was_undone_is_not_offered_to_be_undone_shown_or_committed(tmp_path: Path):
    (tmp_path / ".git").mkdir()
    state, end = ViewState(workspace=str(tmp_path)), ended(files_changed=["a.py"])
    of_changes = ["end_undo", "end_changes", "commit"]
    assert list(offered(state, end, has_changes=True)) == [*of_changes, "end_export", "end_message"]
    assert list(offered(state, end, has_changes=False)) == ["end_export", "end_message"]


@pytest.mark.parametrize("reason", list(Reason))
async def test_each_reason_has_one_line_that_says_how_to_continue(reason: Reason):
    stage = Stage()
    detail = "step budget: 40 of 40 steps" if reason is Reason.BUDGET else "why"
    async with stage.app.run_test(size=(80, 24)) as pilot:
        stage.play(started(), StepStarted(number=1), ended(reason, detail))
        text = await shows(pilot, "⏎ next task")
        assert reason.words in text
        lines = text.splitlines()
        keys = next(at for at, line in enumerate(lines) if "⏎ next task" in line)
        assert len(lines[keys - 1].split()) >= 4, text
        if reason is Reason.BUDGET:
            assert "l raise limit" in text
            assert "not complete" in text


async def test_a_word_goes_to_the_message_box():
    stage = Stage()
    async with stage.app.run_test(size=(100, 30)) as pilot:
        stage.play(started(), StepStarted(number=1), ended(Reason.BUDGET, "step budget: 40 of 40 steps"))
        await shows(pilot, "raise limit")
        await pilot.press(*"please look")
        await until(pilot, lambda: stage.screen.message.box.text == "please look")
        assert stage.link.commands == []


async def test_l_raises_the_limit_and_continues():
    stage = Stage()
    async with stage.app.run_test(size=(100, 30)) as pilot:
        stage.play(started(), StepStarted(number=1), ended(Reason.BUDGET, "step budget: 40 of 40 steps"))
        await shows(pilot, "raise limit")
        await until(pilot, lambda: stage.screen.focused is not None and stage.screen.focused.id == "ended")
        await pilot.press("l")
        await until(pilot, lambda: stage.link.commands or stage.link.resumed)
        assert "steps" in str([*stage.link.commands, *stage.link.resumed])


async def test_enter_and_escape_go_to_the_message_box_and_f2_returns():
    stage = Stage()
    async with stage.app.run_test(size=(100, 30)) as pilot:
        stage.play(started(), StepStarted(number=1), ended())
        await shows(pilot, "⏎ next task")
        for key in ("enter", "escape"):
            await until(pilot, lambda: stage.screen.focused is not None and stage.screen.focused.id == "ended")
            await pilot.press(key)
            await until(pilot, lambda: stage.screen.focused is stage.screen.message.box)
            await pilot.press("f2")


async def test_a_message_that_is_being_typed_keeps_the_focus_when_the_run_ends():
    stage = Stage()
    async with stage.app.run_test(size=(100, 30)) as pilot:
        stage.play(started(), StepStarted(number=1))
        await stage.caught_up(pilot)
        await pilot.press(*"and then")
        stage.play(ended())
        await shows(pilot, "✓ done")
        await pilot.press(*" more")
        await until(pilot, lambda: stage.screen.message.box.text == "and then more")


async def test_the_panel_leaves_when_the_run_continues():
    stage = Stage()
    async with stage.app.run_test(size=(100, 30)) as pilot:
        stage.play(started(), StepStarted(number=1), ended(Reason.USER, "stopped"))
        await shows(pilot, "⏎ next task")
        stage.play(RunResumed(run_id="r1", from_seq=1), StepStarted(number=2))
        await until(pilot, lambda: "⏎ next task" not in stage.text())
        await until(pilot, lambda: stage.screen.focused is stage.screen.message.box)


def test_a_commit_holds_the_files_of_the_run_alone(tmp_path: Path):
    def git(*words: str) -> str:
        return subprocess.run(["git", "-C", str(tmp_path), *words], check=True, capture_output=True, text=True).stdout

    git("init", "-q")
    git("config", "user.email", "a@b.c")
    git("config", "user.name", "a")
    for name in ("old.py", "other.py"):
        (tmp_path / name).write_text("1\n")
    git("add", ".")
    git("commit", "-qm", "first")
    for name in ("old.py", "other.py", "new.py"):
        (tmp_path / name).write_text("2\n")
    git("add", "other.py")
    told = Commit(tmp_path, ["new.py", "old.py"], message_for("repair " * 30, "r1")).make()
    assert told.startswith("committed as ")
    assert git("show", "--name-only", "--format=").split() == ["new.py", "old.py"]
    assert git("status", "--porcelain").split() == ["M", "other.py"], "what was staged before is still staged"
    message = git("log", "-1", "--format=%B")
    assert len(message.splitlines()[0]) <= 72
    assert "Rundry-Run: r1" in message


@pytest.mark.parametrize("size", [(60, 20), (80, 24), (120, 40)])
async def test_a_chat_that_its_person_ended_is_not_shown_as_a_failure(size: tuple[int, int]):
    stage = Stage()
    async with stage.app.run_test(size=size) as pilot:
        stage.play(started(loop=LoopKind.CHAT), StepStarted(number=1), ended(Reason.USER, "you stopped it"))
        text = await shows(pilot, "⏎ next task")
        assert "~ ended" in text and "you ended the chat" in text
        assert "✗" not in text and "not complete" not in text


async def test_the_end_is_not_shown_while_the_run_is_resumed():
    stage = Stage()
    async with stage.app.run_test(size=(100, 30)) as pilot:
        stage.play(started(), StepStarted(number=1), ended(Reason.USER, "stopped"))
        await shows(pilot, "⏎ next task")
        stage.link.state = "warming"
        stage.screen.refresh_view()
        await until(pilot, lambda: "⏎ next task" not in stage.text())


async def test_what_was_committed_is_not_offered_for_a_commit_again(tmp_path: Path):
    (tmp_path / ".git").mkdir()
    stage = Stage()
    async with stage.app.run_test(size=(100, 30)) as pilot:
        began = msgspec.structs.replace(started(), workspace=str(tmp_path))
        stage.play(began, StepStarted(number=1), ended(files_changed=["a.py"]))
        await shows(pilot, "c commit")
        await shows(pilot, "or commit the changes")
        stage.screen.controller.committed_at = stage.screen.controller.state.last_seq
        stage.screen.prompt.tell("committed as abc")
        await until(pilot, lambda: "c commit" not in stage.text() and "or commit" not in stage.text())
        stage.play(PlanChanged(lines=["later"]))
        await shows(pilot, "c commit")


async def test_the_keys_of_the_panel_name_the_key_that_leads_to_them_while_they_do_not_count():
    stage = Stage()
    async with stage.app.run_test(size=(100, 30)) as pilot:
        stage.play(started(), StepStarted(number=1), ended())
        assert "to choose" not in await shows(pilot, "⏎ next task")
        await until(pilot, lambda: stage.screen.focused is not None and stage.screen.focused.id == "ended")
        await pilot.press("enter")
        await shows(pilot, "F2 to choose   e export")
        await pilot.press("f2")
        await until(pilot, lambda: "to choose" not in stage.text())


async def test_after_a_search_f2_on_the_board_leads_to_the_panel_and_back():
    stage = three()
    async with stage.app.run_test(size=(100, 30)) as pilot:
        stage.play(ended(Reason.DRY, "2 passes found nothing new; 0 confirmed, 0 refuted"))
        text = await shows(pilot, "⏎ next task")
        assert text.count("0 confirmed, 0 refuted") == 1, text
        assert "3 without a verdict" in text
        for wanted in ("board", "ended", "board"):
            await pilot.press("f2")
            await until(pilot, lambda wanted=wanted: getattr(stage.screen.focused, "id", None) == wanted)
            assert ("F2 to choose" in stage.text()) == (wanted == "board"), stage.text()


async def test_the_end_of_a_crawl_names_what_failed_permanently_once():
    stage = Searching(crawl(), *(ItemFailed(key=f"u{n}", error="403: no", attempts=1, final=True) for n in range(3)))
    detail = "the frontier is drained; 3 keys seen; 3 items failed permanently (u0, u1, u2)"
    async with stage.app.run_test(size=(80, 24)) as pilot:
        stage.play(ended(Reason.DRY, detail, failed_items=["u0", "u1", "u2"]))
        text = " ".join((await shows(pilot, "⏎ next task")).split())
        assert text.count("failed permanently") == 1 + text.count("/resume tries again what failed permanently")
        assert "failed: 3 × 403" in text and text.count("u1") == 1
