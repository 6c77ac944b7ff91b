"""Hunk by hunk, with reasons, in the person's own words: each key (docs/requirements.md 6.3, 6.5)."""

from __future__ import annotations

from fakes.played_events import proposal, started
from fakes.pressing import press
from fakes.views.gate_stage import NEW, OLD, GateStage
from painted import shows, until

from rundry.agent import CommandRefused, ProposalDecided

SIZE = (120, 40)


async def test_space_skips_a_hunk_and_goes_to_the_next_and_y_shows_and_sends_the_accepted_ones(stage: GateStage):
    async with stage.app.run_test(size=SIZE) as pilot:
        await stage.opened(pilot, started(), stage.edit())
        assert "◉ accepted 3  ○ skipped 0" in stage.text()
        assert "◉ f1" in stage.text()
        await press(pilot, "]", "space")
        assert stage.screen.gate.body.diff.current == 2
        assert "◉ accepted 2  ○ skipped 1" in stage.text()
        assert "y approve 2" in stage.text()
        await press(pilot, "y")
        assert [(c.verdict, c.hunks, c.digest) for c in stage.decided] == [("part", [0, 2], "digest-1")]


async def test_a_skipped_hunk_is_accepted_again_and_plus_and_minus_are_for_all(stage: GateStage):
    async with stage.app.run_test(size=SIZE) as pilot:
        await stage.opened(pilot, started(), stage.edit())
        await press(pilot, "space", "[", "space")
        assert "○ skipped 0" in stage.text()
        await press(pilot, "minus")
        assert "◉ accepted 0  ○ skipped 3" in stage.text()
        assert "○ f6" in stage.text()
        await press(pilot, "y")
        assert stage.decided == []
        assert "no hunk is accepted" in stage.text()
        await press(pilot, "plus", "y")
        assert [(c.verdict, c.hunks) for c in stage.decided] == [("approve", None)]


async def test_tab_on_a_left_hunk_asks_why_it_is_left_and_the_answer_says_so(stage: GateStage):
    async with stage.app.run_test(size=SIZE) as pilot:
        await stage.opened(pilot, started(), stage.edit())
        await press(pilot, "space", "[")
        assert "tab why skipped" in stage.text()
        await press(pilot, "tab")
        await shows(pilot, 'keep as the reason to skip "f1"')
        await press(pilot, *"one", "enter")
        await until(pilot, lambda: stage.screen.gate.has_focus)
        assert 'skipped: "one"' in stage.text()
        await press(pilot, "]", "tab", *"go on", "enter")
        await until(pilot, lambda: 'reason: "go on"' in stage.text())
        await press(pilot, "y")
        (command,) = stage.decided
        assert (command.verdict, command.hunks, command.hunk_reasons) == ("part", [1, 2], {0: "one"})
        assert command.reason == "go on"


async def test_tab_right_after_a_hunk_was_left_asks_for_that_one(stage: GateStage):
    async with stage.app.run_test(size=SIZE) as pilot:
        await stage.opened(pilot, started(), stage.edit())
        await press(pilot, "space")
        assert stage.screen.gate.body.diff.current == 1
        assert 'tab why not "f1"' in stage.text()
        await press(pilot, "tab")
        await shows(pilot, 'keep as the reason to skip "f1"')
        await press(pilot, *"no", "enter")
        await until(pilot, lambda: 'skipped: "no"' in stage.text())
        assert stage.screen.gate.body.diff.current == 1
        await press(pilot, "space", "[")
        assert "tab reason" not in stage.text()
        await press(pilot, "]", "]")
        assert "tab reason" in stage.text()
        await press(pilot, "y")
        assert stage.decided[0].hunk_reasons == {0: "no"}


async def test_a_long_proposal_makes_room_for_the_transcript_and_takes_the_height_again(stage: GateStage):
    async with stage.app.run_test(size=(100, 30)) as pilot:
        await stage.opened(pilot, started("mend the till"), stage.edit())
        assert "mend the till" not in "\n".join(stage.text().splitlines()[2:])
        assert "f smaller" in stage.text()
        await press(pilot, "]", "]", "f")
        await until(pilot, lambda: "mend the till" in "\n".join(stage.text().splitlines()[2:]))
        await shows(pilot, "◉ f11")
        assert "f full" in stage.text()
        assert "y approve" in stage.text()
        await press(pilot, "f")
        await until(pilot, lambda: stage.screen.gate.takes_all and "f smaller" in stage.text())
        await press(pilot, "b", "pageup")
        assert stage.screen.message.box.text == "b"
        await until(pilot, lambda: "mend the till" in "\n".join(stage.text().splitlines()[2:]))


async def test_a_reason_goes_along_with_a_rejection_of_all(stage: GateStage):
    async with stage.app.run_test(size=SIZE) as pilot:
        await stage.opened(pilot, started(), stage.edit())
        await press(pilot, "space", "[", "tab", *"one", "enter", "n")
        (command,) = stage.decided
        assert (command.verdict, command.hunks, command.hunk_reasons) == ("reject", None, {0: "one"})


async def test_marks_reasons_and_a_half_typed_reason_outlive_a_rebase(stage: GateStage):
    theirs = OLD.replace("def f3", "def changed")
    async with stage.app.run_test(size=SIZE) as pilot:
        await stage.opened(pilot, started(), stage.edit())
        await press(pilot, "space", "[", "tab", *"one", "enter", "]", "space", "[", "tab", *"yes an")
        new = NEW.replace("def f3", "def changed")
        await stage.opened(pilot, stage.rebased(old=theirs, new=new))
        assert "re-based on your edit of 12:04:31" in stage.text()
        await press(pilot, "y", "enter")
        await until(pilot, lambda: stage.screen.gate.has_focus)
        assert stage.decided == []
        await press(pilot, "y")
        (command,) = stage.decided
        assert (command.verdict, command.hunks, command.digest) == ("part", [2], "digest-r")
        assert command.hunk_reasons == {0: "one", 1: "yes any"}


async def test_a_reason_that_is_typed_while_its_proposal_goes_becomes_a_message(stage: GateStage):
    async with stage.app.run_test(size=SIZE) as pilot:
        await stage.opened(pilot, started(), stage.edit(), proposal(2))
        await until(pilot, stage.takes_keys)
        await press(pilot, "tab", *"why ")
        stage.play(ProposalDecided(proposal_id="p1", decision="reject", by="person"))
        await until(pilot, lambda: stage.screen.message.box.has_focus)
        await press(pilot, "y")
        assert stage.decided == []
        assert stage.screen.message.box.text == "why y"


async def test_several_waiting_proposals_are_gone_through_without_losing_what_was_chosen(stage: GateStage):
    other = stage.edit(2, path="other.py")
    async with stage.app.run_test(size=SIZE) as pilot:
        await stage.opened(pilot, started(), other, proposal(3), stage.edit())
        text = stage.text()
        assert "1 of 3 waiting" in text
        assert "▸ edit other.py" in text
        assert "run echo 0" in text
        await press(pilot, "space", "greater_than_sign", "greater_than_sign")
        await until(pilot, lambda: "3 of 3 waiting" in stage.text() and stage.takes_keys("digest-1"))
        assert "○ skipped 0" in stage.text()
        await press(pilot, "greater_than_sign")
        await until(pilot, lambda: "1 of 3 waiting" in stage.text() and stage.takes_keys("digest-2"))
        assert "○ skipped 1" in stage.text()
        await press(pilot, "y")
        await until(pilot, lambda: stage.takes_keys("digest-3"))
        await press(pilot, "less_than_sign")
        await until(pilot, lambda: stage.takes_keys("digest-2"))
        await press(pilot, "n")
        assert [(c.proposal_id, c.verdict) for c in stage.decided] == [("p2", "part")], "it is on its way"
        stage.play(CommandRefused(command_id=1, command="decide", why="the proposal changed"))
        await shows(pilot, "not accepted: the proposal changed")
        await press(pilot, "n")
        assert [(c.proposal_id, c.verdict) for c in stage.decided] == [("p2", "part"), ("p2", "reject")]


async def test_what_the_sandbox_refused_is_let_through_once_and_never_always(stage: GateStage):
    ask = proposal(command="touch /etc/x", beyond="write to /etc/x", rule="allow run_command `touch`")
    async with stage.app.run_test(size=SIZE) as pilot:
        await stage.opened(pilot, started(), ask)
        assert "the sandbox refused: write to /etc/x. y allows it once" in stage.text()
        assert "y allow once" in stage.text()
        await press(pilot, "A", "A")
        assert stage.decided == []
        await press(pilot, "y")
        assert [(c.verdict, c.always) for c in stage.decided] == [("approve", False)]


async def test_each_proposal_in_a_row_takes_its_own_answer(stage: GateStage):
    async with stage.app.run_test(size=SIZE) as pilot:
        await stage.opened(pilot, started(), proposal(1), proposal(2))
        await press(pilot, "y")
        await until(pilot, lambda: stage.takes_keys("digest-2"))
        await press(pilot, "down", "y")
        assert [c.proposal_id for c in stage.decided] == ["p1", "p2"]


async def test_the_click_that_brings_the_window_to_the_front_moves_nothing(stage: GateStage):
    async with stage.app.run_test(size=SIZE) as pilot:
        stage.play(started())
        await press(pilot, "h", "i")
        stage.play(stage.edit())
        await until(pilot, lambda: stage.screen.gate.arming.painted is not None)
        stage.app.app_focus = False
        await pilot.pause()
        stage.app.app_focus = True
        await pilot.click("#gate")
        await press(pilot, "y")
        assert stage.decided == []
        assert stage.screen.message.box.text == "hiy"


async def test_a_window_in_the_background_keeps_the_line_that_is_being_typed(stage: GateStage):
    async with stage.app.run_test(size=SIZE) as pilot:
        await stage.opened(pilot, started(), stage.edit())
        await press(pilot, "tab", *"becaus")
        stage.app.app_focus = False
        await pilot.pause()
        stage.app.app_focus = True
        await pilot.pause()
        await press(pilot, "y", "enter", "n")
        assert [(c.verdict, c.reason) for c in stage.decided] == [("reject", "becausy")]


async def test_a_very_long_line_takes_the_room_that_it_needs_and_opens_where_it_changed(stage: GateStage):
    async with stage.app.run_test(size=SIZE) as pilot:
        old = f"x = 1\ntable = [{'12, 34, ' * 200}'before', {'56, 78, ' * 200}]\n"
        await stage.opened(pilot, started(), stage.edit(old=old, new=old.replace("before", "after")))
        assert "'before'" in stage.text()
        assert stage.screen.gate.takes_all
        await press(pilot, "y")
        assert stage.decided == [] and "scrolled down: y approves" in stage.text()


async def test_the_key_for_two_columns_names_what_it_does_next(stage: GateStage):
    async with stage.app.run_test(size=SIZE) as pilot:
        await stage.opened(pilot, started(), stage.edit())
        await shows(pilot, "v side by side")
        await press(pilot, "v")
        await shows(pilot, "v unified")
        await press(pilot, "v")
        await shows(pilot, "v side by side")


async def test_the_help_begins_with_the_keys_of_the_gate(stage: GateStage):
    async with stage.app.run_test(size=SIZE) as pilot:
        await stage.opened(pilot, started(), stage.edit())
        await press(pilot, "question_mark")
        screen = await shows(pilot, "At the gate")
        titles = [line.strip() for line in screen.splitlines() if line.strip() in ("At the gate", "Anywhere")]
        assert titles[0] == "At the gate"
