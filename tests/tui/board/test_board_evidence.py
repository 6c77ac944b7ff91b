"""The evidence of the selected finding is visible at every size, or one row says how to see it."""

from __future__ import annotations

from pathlib import Path

import msgspec
from fakes.views.board_screen import Searching, on_board
from fakes.views.lens_search import found, lens_search
from painted import shows, until

from rundry.agent import Reason, RunEnded


async def test_an_ended_board_shows_the_evidence_of_the_selected_finding_on_a_small_screen(tmp_path: Path):
    (tmp_path / "a.py").write_text("import db\ndb.run(text)\n")
    end = RunEnded(reason=Reason.DRY, detail="no new results", complete=True, exit_code=0)
    begun = msgspec.structs.replace(lens_search(), workspace=str(tmp_path))
    stage = Searching(begun, *(found(f"f{n}", f"finding {n}", evidence="a.py:2") for n in range(9)), end)
    async with stage.app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: stage.board.picked is not None)
        await shows(pilot, "── a.py:2")
        await shows(pilot, "▸     2  db.run(text)")
        await pilot.resize_terminal(60, 20)
        await on_board(pilot, stage)
        await shows(pilot, "⏎ shows the evidence   a.py:2")
        await pilot.press("enter")
        await shows(pilot, "esc back")
