"""When a key at the gate counts (docs/requirements.md 6.6, 6.7)."""

from __future__ import annotations

import pytest
from fakes.played_events import proposal, started
from fakes.pressing import press
from fakes.screens import Stage
from fakes.views.open_gate import SIZE, decisions, opened
from painted import shows, until
from textual import events

from rundry.agent import (
    CommandRefused,
    Decide,
    GateMode,
    ProposalDecided,
    ProposalRebased,
    SetGateMode,
    StepStarted,
)
from rundry.tui.gate.gate_arming import Arming
from rundry.tui.keys.letters import TYPING


async def test_the_gate_takes_the_focus_from_an_empty_box_and_y_approves_with_the_painted_digest():
    stage = Stage()
    async with stage.app.run_test(size=SIZE) as pilot:
        await opened(pilot, stage, started(), proposal())
        await until(pilot, lambda: stage.screen.gate.has_focus)
        await press(pilot, "y")
        (command,) = stage.link.commands
        assert isinstance(command, Decide)
        assert (command.verdict, command.digest, command.always) == ("approve", "digest-1", False)


async def test_the_keys_can_be_asked_for_at_the_gate_and_esc_there_rejects_nothing():
    stage = Stage()
    async with stage.app.run_test(size=SIZE) as pilot:
        await opened(pilot, stage, started(), proposal())
        await press(pilot, "question_mark")
        await shows(pilot, "Show keys")
        await press(pilot, "escape")
        await until(pilot, lambda: stage.app.screen is stage.screen)
        assert (stage.screen.message.box.text, decisions(stage)) == ("", [])


async def test_a_key_that_was_pressed_before_the_paint_never_counts():
    arming = Arming()
    arming.paint("p1", "d", 10.0)
    assert not arming.counts(9.99)
    assert not arming.counts(10.0)
    assert arming.counts(10.01)
    arming.blank()
    assert not arming.counts(11.0)


async def test_the_key_that_decided_does_not_decide_the_next_one_while_it_is_held():
    arming = Arming()
    assert arming.pressed("y", 10.0)
    arming.decided()
    assert not arming.pressed("y", 10.25)
    assert not arming.pressed("y", 10.5), "it is held, or pressed in haste, since the first"
    assert arming.pressed("y", 10.9)
    arming.decided()
    assert arming.pressed("down", 11.0)
    assert arming.pressed("y", 11.1), "another key in between: it is meant"
    assert arming.pressed("y", 11.15), "it decided nothing yet"


async def test_neither_enter_nor_a_paste_nor_a_click_decides():
    from textual import events

    stage = Stage()
    async with stage.app.run_test(size=SIZE) as pilot:
        await opened(pilot, stage, started(), proposal())
        await press(pilot, "enter")
        await pilot.click("#keys")
        await pilot.click("#gate")
        assert decisions(stage) == []
        stage.screen.gate.post_message(events.Paste("y"))
        await pilot.pause()
        assert decisions(stage) == []
        assert stage.screen.message.box.text == "y", "a paste is a message"


WORDS = [
    "yes",
    "no, use a loop",
    "really?",
    "Always",
    "my own",
    "again",
    "edit it",
    "+1 from me",
    "hey",
    "/undo",
    "An y",
]


@pytest.mark.parametrize("words", WORDS)
async def test_a_word_that_begins_with_a_command_is_a_message_and_decides_nothing(words: str):
    """Typed letter by letter, each after the one before was handled."""
    stage = Stage()
    async with stage.app.run_test(size=(120, 40)) as pilot:
        await opened(pilot, stage, started(), proposal(), proposal(proposal_id="p2"))
        for letter in words:
            stage.app.post_message(events.Key("space" if letter == " " else letter, letter))
            await pilot.pause()
        await until(pilot, lambda: stage.screen.message.box.text == words)
        await pilot.pause(TYPING * 2)
        assert decisions(stage) == []


async def test_a_short_command_after_a_long_one_takes_no_more_rows_than_it_needs():
    stage = Stage()
    async with stage.app.run_test(size=(80, 24)) as pilot:
        await opened(pilot, stage, started(), proposal(1, command="\n".join("echo" for _ in range(60))))
        assert stage.screen.gate.takes_all
        stage.play(ProposalDecided(proposal_id="p1", decision="reject", by="person"), proposal(2, command="ls -la"))
        await until(pilot, lambda: getattr(stage.screen.gate.arming.painted, "proposal_id", "") == "p2")
        assert not stage.screen.gate.takes_all
        assert stage.screen.gate.size.height < 8


async def test_a_long_change_is_approved_only_once_its_end_was_seen():
    lines = "".join(f"+line {n}\n" for n in range(90))
    edit = proposal(tool="write_file", command=None, path="a.txt", diff=f"--- a\n+++ b\n@@ -0,0 +1,90 @@\n{lines}")
    stage = Stage()
    async with stage.app.run_test(size=(80, 24)) as pilot:
        await opened(pilot, stage, started(), edit)
        await press(pilot, "y", "A")
        assert decisions(stage) == []
        await press(pilot, "end")
        await pilot.pause()
        await press(pilot, "y")
        assert decisions(stage) == [("p1", "approve", None)]


async def test_a_rebased_proposal_is_decided_with_its_new_digest_and_says_so():
    stage = Stage()
    async with stage.app.run_test(size=SIZE) as pilot:
        edit = proposal(tool="edit_file", command=None, path="a.py", diff="@@ -1 +1 @@\n-a\n+b\n")
        await opened(pilot, stage, started(), edit)
        rebased = ProposalRebased(
            proposal_id="p1", diff="@@ -1 +1 @@\n-x\n+b\n", digest="digest-2", before=None, after=None, why="12:04:31"
        )
        stage.play(rebased)
        await until(pilot, lambda: (p := stage.screen.gate.arming.painted) is not None and p.digest == "digest-2")
        assert "re-based" in stage.text()
        await press(pilot, "y")
        assert [c.digest for c in stage.link.commands if isinstance(c, Decide)] == ["digest-2"]


async def test_a_refused_decision_is_reported_and_the_gate_asks_again():
    stage = Stage()
    async with stage.app.run_test(size=SIZE) as pilot:
        await opened(pilot, stage, started(), proposal())
        await press(pilot, "y")
        await press(pilot, "y")
        assert len(decisions(stage)) == 1, "a second key waits for the answer"
        stage.play(CommandRefused(command_id=1, command="decide", why="the file changed"))
        await shows(pilot, "the file changed")
        await press(pilot, "n")
        assert len(decisions(stage)) == 2


async def test_always_shows_its_rule_first_and_is_confirmed_by_a_second_press():
    stage = Stage()
    async with stage.app.run_test(size=SIZE) as pilot:
        await opened(pilot, stage, started(), proposal())
        await press(pilot, "A")
        await pilot.pause()
        assert decisions(stage) == []
        assert "allow run_command" in stage.text()
        await press(pilot, "A")
        assert [c.always for c in stage.link.commands if isinstance(c, Decide)] == [True]


async def test_there_is_no_always_for_what_is_dangerous():
    stage = Stage()
    async with stage.app.run_test(size=SIZE) as pilot:
        await opened(pilot, stage, started(), proposal(danger=True, rule="allow x"))
        await press(pilot, "A", "A")
        assert decisions(stage) == []
        assert "A always" not in stage.text()


async def test_where_no_rule_would_let_a_command_pass_the_key_for_always_says_so():
    stage = Stage()
    async with stage.app.run_test(size=SIZE) as pilot:
        await opened(pilot, stage, started(), proposal(command="ls | head", rule=None))
        await press(pilot, "A")
        assert "no rule would allow it" in stage.text()
        assert not [c for c in stage.link.commands if isinstance(c, Decide)]


async def test_tab_asks_for_a_reason_that_n_then_gives_and_escape_goes_back_without_losing_it():
    stage = Stage()
    async with stage.app.run_test(size=SIZE) as pilot:
        await opened(pilot, stage, started(), proposal())
        await press(pilot, "tab", "n", "o", "escape")
        await until(pilot, lambda: stage.screen.gate.has_focus)
        assert "reason:" not in stage.text()
        await press(pilot, "tab", "t", "enter")
        await until(pilot, lambda: stage.screen.gate.has_focus)
        assert 'reason: "not"' in stage.text()
        assert decisions(stage) == []
        await press(pilot, "n")
        assert decisions(stage) == [("p1", "reject", "not")]


async def test_the_next_proposal_follows_immediately_and_a_double_press_hits_neither_it_nor_the_box():
    stage = Stage()
    async with stage.app.run_test(size=SIZE) as pilot:
        await opened(pilot, stage, started(), proposal(1), proposal(2))
        assert "1 of 2 waiting" in stage.text()
        await press(pilot, "y")
        stage.play(ProposalDecided(proposal_id="p1", decision="approve", by="person"))
        await until(pilot, lambda: (p := stage.screen.gate.arming.painted) is not None and p.proposal_id == "p2")
        assert stage.screen.gate.has_focus
        await press(pilot, "n")
        stage.play(ProposalDecided(proposal_id="p2", decision="reject", by="person"))
        await until(pilot, lambda: not stage.screen.gate.display)
        await press(pilot, "n")
        assert stage.screen.message.box.text == ""
        assert decisions(stage) == [("p1", "approve", None), ("p2", "reject", None)]


async def test_hidden_signs_of_a_command_are_marks_and_nothing_is_cut():
    command = "echo " + "x" * 300 + " \u202e; rm -rf / \x1b[2J [@click=app.quit]q[/]"
    stage = Stage()
    async with stage.app.run_test(size=SIZE) as pilot:
        await opened(pilot, stage, started(), proposal(command=command))
        text = stage.text()
        assert "\u202e" not in text
        assert "\x1b" not in text
        assert "⟨U+202E⟩" in text
        assert "[@click=app.quit]q[/]" in text
        assert text.count("x") >= 300


async def test_the_edited_text_is_shown_and_then_approved():
    stage = Stage()
    edit = proposal(tool="write_file", command=None, path="a.txt", diff="@@ -0,0 +1 @@\n+b\n", after="blob")
    async with stage.app.run_test(size=SIZE) as pilot:
        await opened(pilot, stage, started(), edit)
        stage.screen.gate.edit.show(edit, "mine\n")
        await until(pilot, lambda: "mine" in stage.text() and stage.screen.gate.arming.painted is not None)
        await press(pilot, "y")
        assert [c.text for c in stage.link.commands if isinstance(c, Decide)] == ["mine\n"]


async def test_the_gates_mode_is_cycled_and_auto_asks_twice_where_nothing_holds_commands():
    stage = Stage()
    async with stage.app.run_test(size=SIZE) as pilot:
        stage.play(started(sandbox=None), StepStarted(number=1))
        await stage.caught_up(pilot)
        await press(pilot, "shift+tab")
        stage.screen.action_do("gate", "auto")
        assert [c.mode for c in stage.link.commands if isinstance(c, SetGateMode)] == [GateMode.EFFECTS]
        stage.screen.action_do("gate", "auto")
        command = stage.link.commands[-1]
        assert isinstance(command, SetGateMode)
        assert (command.mode, command.unsandboxed_ok) == (GateMode.AUTO, True)
