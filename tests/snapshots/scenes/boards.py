"""A search: each tab of its board, a selected finding, and its end."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from fakes.pressing import press
from fakes.views.board_screen import Searching, on_board
from fakes.views.lens_search import a_pass, judged, lens_search
from textual.pilot import Pilot

from rundry.agent import Reason, RunEnded

from .scene import Factory, Scene, began


def _search(*keys: str, ended: bool = False) -> Factory:
    @asynccontextmanager
    async def scene(_folder: Path) -> AsyncIterator[Scene]:
        stage = Searching()
        began(stage, 305.0)
        script = stage.script
        stage.put(script.stamp(lens_search()))
        stage.put(a_pass(script, 1, 4, 0))  # type: ignore[arg-type]
        stage.put(script.stamp(*judged("f1.0", "stands", "stands", "refuted"), *judged("f1.1", "refuted", "refuted")))
        stage.put(a_pass(script, 2, 1, 0))  # type: ignore[arg-type]
        stage.put(a_pass(script, 3, 0, 1))  # type: ignore[arg-type]
        if ended:
            stage.put(script.stamp(RunEnded(reason=Reason.DRY, detail="no new results", complete=True, exit_code=0)))

        async def reach(pilot: Pilot[object]) -> None:
            await on_board(pilot, stage)
            await press(pilot, *keys)

        yield Scene(stage.app, reach)  # type: ignore[arg-type]

    return scene


SCENES = {
    "board": _search(),
    "board-finding": _search("enter"),
    "board-tab-2": _search("tab"),
    "board-tab-3": _search("tab", "tab"),
    "board-tab-4": _search("tab", "tab", "tab"),
    "board-tab-5": _search("tab", "tab", "tab", "tab"),
    "board-filtered": _search("f"),
    "board-find": _search("slash", "1", "full_stop"),
    "board-ended": _search(ended=True),
}
