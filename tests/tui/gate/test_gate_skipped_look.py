"""A skipped hunk looks skipped, and the title counts the hunks that are there after a split."""

from __future__ import annotations

import pytest
from fakes.played_events import started
from fakes.pressing import press
from fakes.views.gate_stage import GateStage
from painted import until

from rundry.tui.theme.theme import palette_of

SIZE = (120, 60)


def grounds(stage: GateStage, text: str) -> set[object]:
    """The grounds of the cells of the line of the diff that holds a text."""
    diff = stage.screen.gate.body.diff
    for y in range(diff.size.height):
        strip = diff.render_line(y)
        if text in strip.text:
            return {segment.style.bgcolor for segment in strip if segment.style is not None}
    raise AssertionError(text)


@pytest.mark.parametrize("keys", [["space"], ["minus"]])
async def test_a_skipped_hunk_has_no_colours_of_a_change_until_it_is_accepted_again(stage: GateStage, keys: list[str]):
    async with stage.app.run_test(size=SIZE) as pilot:
        await stage.opened(pilot, started(), stage.edit())
        added = palette_of(stage.app).diff_added.bgcolor
        assert added in grounds(stage, "return 'one'")
        await press(pilot, *keys)
        await until(pilot, lambda: added not in grounds(stage, "return 'one'"))
        await press(pilot, "plus")
        await until(pilot, lambda: added in grounds(stage, "return 'one'"))


async def test_the_title_counts_the_parts_of_a_split_hunk(stage: GateStage):
    old = "".join(f"line {n}\n" for n in range(9))
    new = old.replace("line 1\n", "one\n").replace("line 4\n", "four\n").replace("line 7\n", "seven\n")
    async with stage.app.run_test(size=SIZE) as pilot:
        await stage.opened(pilot, started(), stage.edit(old=old, new=new))
        await until(pilot, lambda: "1 hunk " in stage.text())
        await press(pilot, "s")
        await until(pilot, lambda: stage.takes_keys() and "3 hunks" in stage.text())
        await press(pilot, "S")
        await until(pilot, lambda: stage.takes_keys() and "1 hunk " in stage.text())
