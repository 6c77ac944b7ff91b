from __future__ import annotations

import pytest
from fakes.played_events import started
from fakes.screens import Stage
from painted import shows, until

from rundry.agent import (
    Budget,
    ChangedFile,
    Charged,
    FailingCheck,
    HandoffClosed,
    HandoffOpened,
    HandoffRecord,
    LastAction,
    ModelQuoted,
    ModelShare,
    ModelSwitched,
    OpenProposal,
    ProposalDecided,
    ProposalOpened,
    Spent,
    SwitchModel,
    TierAsked,
    TierPassed,
    Tokens,
    Tried,
    Waiting,
)
from rundry.tui.pages.handoff_page import HandoffPage
from rundry.tui.pages.spend_page import SpendScreen

DIFF = (
    "--- a/calc/core.py\n+++ b/calc/core.py\n@@ -1,3 +1,3 @@\n def add(a, b):\n-    return a - b\n+    return a + b\n"
)
RECORD = HandoffRecord(
    task="fix the failing suite, and keep the public names as they are",
    last_actions=[
        LastAction(step=8, tool="read_file", arguments={"path": "calc/core.py"}, ok=True, result="def add"),
        LastAction(step=9, tool="run_command", arguments={"command": "make test"}, ok=False, result="make: no rule\nx"),
    ],
    open_proposals=[OpenProposal(tool="run_command", command="pip install numpy")],
    files_changed=["calc/core.py"],
    changes=[ChangedFile(path="calc/core.py", diff=DIFF, added=1, removed=1)],
    failing_check=FailingCheck(command="pytest -q", exit_code=1, failing=3, output="FAILED tests/test_core.py::mean\n"),
    tried=[
        Tried(what="edit_file calc/core.py", why="done, but the check still fails", times=3),
        Tried(what="read_file calc/core.py", why="it went in circles: repeat", times=2),
    ],
    spent=Spent(steps=9, tokens=Tokens(60_000, 2_000), usd=0.12, seconds=72),
    budget=Budget(steps=40, tokens=200_000, usd=0.5, seconds=600),
    shares=[
        ModelShare(model="ollama_chat/qwen3:8b", calls=7, tokens_in=50_000, tokens_out=1_500, usd=0.0),
        ModelShare(model="anthropic/claude-x", calls=2, tokens_in=10_000, tokens_out=500, usd=0.12),
    ],
)
OPENED = HandoffOpened(
    reason="repeat: read_file calc/core.py",
    suggested_action="Look at why `pytest -q` fails, then resume the run with a hint.",
    record=RECORD,
)


async def opened(stage: Stage, pilot, event: HandoffOpened = OPENED) -> str:
    stage.play(started())
    return await opened_after(stage, pilot, event)


async def opened_after(stage: Stage, pilot, event: HandoffOpened) -> str:
    stage.play(event, Waiting(why="handoff"))
    await stage.caught_up(pilot)
    await pilot.press("alt+h")
    await until(pilot, lambda: isinstance(stage.app.screen, HandoffPage))
    assert isinstance(stage.app.screen, HandoffPage)
    return stage.text()


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_the_reason_and_the_next_action_stand_first(size):
    stage = Stage()
    async with stage.app.run_test(size=size) as pilot:
        lines = (await opened(stage, pilot)).splitlines()
        assert "hand-off" in lines[0] and "waits for you" in lines[0]
        assert " ".join(lines[2].split()) == "why it did the same again, with the same result read_file calc/core.py"
        assert lines[3].split(None, 1)[0] == "next" and "Look at why `pytest -q` fails" in lines[3]
        assert "esc back" in lines[-1]


async def test_everything_of_the_record_is_on_the_page_and_foreign_signs_are_marks():
    stage = Stage()
    hostile = "\x1b]0;owned\x07 [bold]x[/] \u202eevil"
    record = HandoffRecord(task=hostile, tried=[Tried(what=hostile, why=hostile)], questions=[hostile])
    async with stage.app.run_test(size=(120, 60)) as pilot:
        text = await opened(stage, pilot)
        for piece in (
            "fix the failing suite",
            "run pip install numpy",
            "pytest -q   ✗ exit code 1, 3 failing",
            "FAILED",
        ):
            assert piece in text
        for piece in (
            "3 times",
            "it went in circles",
            "step 9/40",
            "usd 0.12/0.50",
            "claude-x   2 calls",
            "✗ failed",
            "FAILED",
        ):
            assert piece in text
        assert "✗ failed" in text and "FAILED" in text
        assert "calc/core.py  +1 −1" in text and "+    return a + b" in text
        assert "--- a/calc" not in text and "+++ b/calc" not in text, "the line above names the file"
        await pilot.press("escape")
        stage.play(HandoffOpened(reason=hostile, suggested_action="s", record=record))
        await stage.caught_up(pilot)
        await pilot.press("alt+h")
        await until(pilot, lambda: isinstance(stage.app.screen, HandoffPage))
        text = await shows(pilot, "waits for you")
        assert "\u202e" not in text and "\x1b" not in text
        assert text.count("[bold]x[/]") >= 4


async def test_an_open_proposal_names_the_keys_and_commands_that_decide_on_it_until_it_is_decided():
    stage = Stage()
    waits = ProposalOpened(
        proposal_id="p1", digest="a" * 64, tool="edit_file", path="a.md", diff="+x", call_id="c1", asks=["it asks"]
    )
    record = HandoffRecord(
        open_proposals=[OpenProposal(proposal_id="p1", digest="a" * 64, tool="edit_file", path="a.md")]
    )
    async with stage.app.run_test(size=(80, 40)) as pilot:
        stage.play(started(), waits)
        text = await opened_after(stage, pilot, HandoffOpened(reason="r", suggested_action="s", record=record))
        assert f"rundry approve {stage.controller.state.run_id} --digest {'a' * 12}" in text
        assert f"rundry reject {stage.controller.state.run_id} --digest {'a' * 12}" in text
        assert "y or n at the gate" in text
        await pilot.press("escape")
        stage.play(ProposalDecided(proposal_id="p1", decision="reject", by="person"))
        await stage.caught_up(pilot)
        await pilot.press("alt+h")
        assert "rundry approve" not in await shows(pilot, "waits for you")


async def test_the_page_is_there_after_the_hand_off_was_resumed_and_r_begins_the_hint():
    stage = Stage()
    async with stage.app.run_test(size=(80, 24)) as pilot:
        await opened(stage, pilot)
        stage.play(HandoffClosed(by="person"))
        await pilot.press("escape", "alt+h")
        await until(pilot, lambda: "resumed" in stage.text().splitlines()[0])
        await pilot.press("r")
        await until(pilot, lambda: stage.app.screen is stage.screen)
        assert stage.screen.message.box.text == "/resume "


async def test_without_a_hand_off_the_key_says_so():
    stage = Stage()
    async with stage.app.run_test(size=(80, 24)) as pilot:
        stage.play(started())
        await pilot.press("alt+h")
        await shows(pilot, "this run has no hand-off")


async def test_y_copies_the_record_as_markdown():
    stage = Stage()
    async with stage.app.run_test(size=(80, 24)) as pilot:
        await opened(stage, pilot)
        await pilot.press("y")
        await until(pilot, lambda: "copied as Markdown" in stage.text().splitlines()[-1])
        assert stage.app.clipboard.startswith("# Hand-off: repeat: read_file calc/core.py\n\n**Next:** Look at why")


async def test_spend_shows_each_models_share():
    stage = Stage()
    async with stage.app.run_test(size=(100, 30)) as pilot:
        stage.play(
            started(),
            Charged(tokens_in=3_000, tokens_out=0, usd=0.0, model="ollama_chat/qwen3:8b"),
            ModelSwitched(model="anthropic/claude-x", prompt_tokens=3_000, cold_usd=0.009),
            Charged(tokens_in=900, tokens_out=100, usd=0.012, model="anthropic/claude-x"),
        )
        await shows(pilot, "it reads 3k tokens again for 0.009 USD")
        await pilot.press(*"/spend", "enter")
        await until(pilot, lambda: isinstance(stage.app.screen, SpendScreen))
        assert isinstance(stage.app.screen, SpendScreen)
        rows = [line.split() for line in stage.text().splitlines()]
        old = next(row for row in rows if row[:1] == ["qwen3:8b"])
        new = next(row for row in rows if row[:2] == ["›", "claude-x"])
        assert old[1:5] == ["1", "3k", "0", "0.00"] and old[-1] == "75%"
        assert new[2:6] == ["1", "900", "100", "0.012"] and new[-1] == "25%"


async def test_an_expensive_switch_shows_its_price_and_is_made_when_it_is_requested_again():
    stage = Stage()
    async with stage.app.run_test(size=(120, 30)) as pilot:
        stage.play(started())
        await pilot.press(*"/model openai/big", "enter")
        stage.play(ModelQuoted(model="openai/big", prompt_tokens=48_000, cold_usd=0.144, warm_usd=0.0144))
        await shows(pilot, "openai/big has a cold cache: it reads 48k tokens again for 0.14 USD")
        await pilot.press(*"/model openai/big", "enter")
        await until(pilot, lambda: len(stage.link.commands) == 2)
    assert [c.ask_above for c in stage.link.commands if isinstance(c, SwitchModel)] == [0.01, None]


async def test_the_head_says_who_is_asked_while_it_is_not_the_person():
    stage = Stage()
    async with stage.app.run_test(size=(80, 24)) as pilot:
        stage.play(started(), OPENED, TierAsked(number=2, kind="command", name="mail me", until=None))
        await stage.caught_up(pilot)
        await pilot.press("alt+h")
        await until(pilot, lambda: "asks mail me" in stage.text().splitlines()[0])
        await pilot.press("escape")
        stage.play(TierPassed(number=2, why="notified"))
        await shows(pilot, "tier 2 passed: notified")
