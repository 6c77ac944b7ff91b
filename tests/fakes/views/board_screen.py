"""A search on a screen with its board."""

from __future__ import annotations

from collections.abc import Sequence

from painted import until
from textual.pilot import Pilot

from fakes.screens import Stage
from fakes.views.lens_search import Search, found, lens_search
from rundry.agent import (
    Stamped,
)
from rundry.tui.board.board import Board
from rundry.tui.board.board_arming import GRACE

SIZE = (120, 32)


class Searching(Stage):
    """A stage with a search on it."""

    def __init__(self, *events: object) -> None:
        super().__init__()
        self.script = Search()
        self.play(*events)

    def put(self, stamped: Sequence[Stamped]) -> None:
        self.link.play(stamped)

    @property
    def board(self) -> Board:
        return self.screen.search.board

    @property
    def box(self) -> str:
        return self.screen.message.box.text


def three() -> Searching:
    return Searching(lens_search(), *(found(f"f{n}", f"finding {n}", evidence="a.py:1") for n in range(3)))


async def on_board(pilot: Pilot, stage: Searching) -> None:
    """The board has the focus, and its keys count."""
    await until(pilot, lambda: stage.board.picked is not None)
    await pilot.press("f2")
    await until(pilot, lambda: stage.board.has_focus)
    await pilot.pause(GRACE + 0.05)
