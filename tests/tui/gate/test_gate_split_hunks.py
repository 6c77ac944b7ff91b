"""`s` splits a hunk, `S` joins it: what is shown, what is sent, and what a rebase leaves of it."""

from __future__ import annotations

from fakes.played_events import started
from fakes.pressing import press
from fakes.views.gate_stage import GateStage
from painted import until

OLD = "".join(f"def f{n}():\n    return {n}\n\n" for n in range(3)) + "# end\n" * 20 + "last = 1\n"
NEW = (
    OLD.replace("return 0", "return 'zero'").replace("return 1", "x = 1\n    return x").replace("last = 1", "last = 2")
)
ROWS = "\n".join(["a", "b", "c"]) + "\n"


async def test_s_splits_at_unchanged_lines_then_row_by_row_and_only_the_accepted_parts_are_sent(stage: GateStage):
    async with stage.app.run_test(size=(120, 40)) as pilot:
        await stage.opened(pilot, started(), stage.edit(old=OLD, new=NEW))
        assert "1 of 2" in stage.text()
        await press(pilot, "s")
        await until(pilot, lambda: "◉ accepted 3" in stage.text() and stage.takes_keys())
        await press(pilot, "]", "s")
        await until(pilot, lambda: "◉ accepted 4" in stage.text() and stage.takes_keys())
        assert stage.screen.gate.body.diff.current == 1
        await press(pilot, "]", "space", "tab", *"shorter", "enter")
        await until(pilot, lambda: 'skipped: "shorter"' in stage.text())
        assert "y approve 3" in stage.text()
        await press(pilot, "y")
        (command,) = stage.decided
        assert (command.verdict, command.hunks, command.cuts) == ("part", [0, 1, 3], {0: [1, 2]})
        assert command.hunk_reasons == {2: "shorter"}


async def test_a_part_keeps_the_choice_of_its_hunk_and_joining_accepts_what_was_accepted_in_part(stage: GateStage):
    async with stage.app.run_test(size=(120, 40)) as pilot:
        await stage.opened(pilot, started(), stage.edit(old=OLD, new=NEW))
        await press(pilot, "space", "[", "s")
        await until(pilot, lambda: "◉ accepted 1  ○ skipped 2" in stage.text() and stage.takes_keys())
        await press(pilot, "space")
        await until(pilot, lambda: "◉ accepted 2  ○ skipped 1" in stage.text())
        await press(pilot, "[", "S")
        await until(pilot, lambda: "◉ accepted 2  ○ skipped 0" in stage.text() and stage.takes_keys())
        await press(pilot, "S")
        await until(pilot, lambda: "this hunk is not split" in stage.text())


async def test_a_single_change_is_not_split(stage: GateStage):
    async with stage.app.run_test(size=(80, 24)) as pilot:
        await stage.opened(pilot, started(), stage.edit(old=ROWS, new=ROWS.replace("b", "B")))
        await press(pilot, "s")
        await until(pilot, lambda: "this is a single change: edit its text instead" in stage.text())


async def test_after_a_rebase_the_parts_and_their_choices_are_as_they_were(stage: GateStage):
    async with stage.app.run_test(size=(120, 40)) as pilot:
        await stage.opened(pilot, started(), stage.edit(old=OLD, new=NEW))
        await press(pilot, "s")
        await until(pilot, lambda: "◉ accepted 3" in stage.text() and stage.takes_keys())
        await press(pilot, "]", "space")
        await stage.opened(pilot, stage.rebased(old="# new\n" + OLD, new="# new\n" + NEW))
        await until(pilot, lambda: "◉ accepted 2  ○ skipped 1" in stage.text())
        await press(pilot, "y")
        assert [(c.hunks, c.cuts, c.digest) for c in stage.decided] == [([0, 2], {0: [1]}, "digest-r")]


async def test_parts_of_the_persons_own_version_are_sent_as_the_text_that_is_written(
    stage: GateStage,
):
    async with stage.app.run_test(size=(120, 40)) as pilot:
        await stage.opened(pilot, started(), stage.edit(old=OLD, new=NEW))
        stage.screen.gate.edit.show(stage.controller.state.proposals["p1"], NEW.replace("zero", "none"))
        await until(pilot, lambda: "edited by you" in stage.text() and stage.takes_keys())
        await press(pilot, "s")
        await until(pilot, lambda: "◉ accepted 3" in stage.text() and stage.takes_keys())
        await press(pilot, "]", "space", "y")
        (command,) = stage.decided
        assert command.text == OLD.replace("return 0", "return 'none'").replace("last = 1", "last = 2")
