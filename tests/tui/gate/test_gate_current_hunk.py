"""The hunk that Space accepts or skips is always the one whose title is visible."""

from __future__ import annotations

from fakes.played_events import started
from fakes.pressing import press
from fakes.views.gate_stage import GateStage
from painted import shows, until

OLD = "".join(f"def f{n}():\n" + f"    return {n}\n" * 30 + "\n" * 12 for n in range(3))
NEW = "".join(f"def f{n}():\n" + f"    return '{n}'\n" * 30 + "\n" * 12 for n in range(3))
"""Three hunks, each longer than a small screen."""
SIZE = (80, 24)


def _first_row(stage: GateStage) -> str:
    pane = stage.screen.gate.body.diff
    return pane.render_line(0).text.split("   ")[0].strip()


async def test_the_title_of_the_current_hunk_stays_on_the_top_row_while_its_lines_scroll(stage: GateStage):
    async with stage.app.run_test(size=SIZE) as pilot:
        await stage.opened(pilot, started(), stage.edit(old=OLD, new=NEW))
        diff = stage.screen.gate.body.diff
        assert _first_row(stage) == "◉ f0"
        seen = [0]
        for _ in range(20):
            await press(pilot, "pagedown")
            assert diff.marks_current
            title = next(text for text in stage.text().splitlines() if "◉ f" in text)
            assert f"◉ f{diff.current}" in title
            seen.append(diff.current)
        assert seen == sorted(seen) and set(seen) == {0, 1, 2}


async def test_space_skips_the_hunk_whose_title_is_on_the_top_row(stage: GateStage):
    async with stage.app.run_test(size=SIZE) as pilot:
        await stage.opened(pilot, started(), stage.edit(old=OLD, new=NEW))
        await press(pilot, "pagedown", "pagedown")
        assert _first_row(stage) == "◉ f0"
        await press(pilot, "space")
        assert stage.screen.gate.body.diff.current == 1
        await press(pilot, "pageup")
        await shows(pilot, "○ f0")


async def test_a_click_on_the_title_on_the_top_row_skips_its_hunk(stage: GateStage):
    async with stage.app.run_test(size=SIZE) as pilot:
        await stage.opened(pilot, started(), stage.edit(old=OLD, new=NEW))
        await press(pilot, "pagedown", "pagedown")
        await pilot.click(stage.screen.gate.body.diff, offset=(4, 0))
        await until(pilot, lambda: not stage.screen.gate.review.pending.picks.is_accepted(0))


async def test_a_hunk_stays_visible_when_the_gate_gets_smaller(stage: GateStage):
    async with stage.app.run_test(size=(80, 40)) as pilot:
        await stage.opened(pilot, started(), stage.edit())
        await press(pilot, "]", "]")
        await shows(pilot, "◉ f11")
        await pilot.resize_terminal(80, 20)
        await until(pilot, lambda: stage.screen.gate.body.diff.size.height < 16)
        await shows(pilot, "◉ f11")
        assert stage.screen.gate.body.diff.current == 2


async def test_space_scrolls_to_a_hunk_that_is_not_visible_before_it_decides_on_it(stage: GateStage):
    far = "".join(f"x{n} = {n}\n" for n in range(400))
    async with stage.app.run_test(size=SIZE) as pilot:
        changed = far.replace("x9 = 9\n", "x9 = 0\n").replace("x350 = 350", "x350 = 0")
        await stage.opened(pilot, started(), stage.edit(old=far, new=changed))
        await press(pilot, "w", *["pagedown"] * 8)
        diff = stage.screen.gate.body.diff
        assert not diff.marks_current
        await press(pilot, "space")
        assert diff.marks_current and stage.screen.gate.review.pending.picks.skipped_count == 0
        await shows(pilot, "scrolled to the hunk: space accepts or skips it")
        await press(pilot, "space")
        assert stage.screen.gate.review.pending.picks.skipped_count == 1
