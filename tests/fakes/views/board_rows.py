"""A board as rows of text."""

from __future__ import annotations

from collections.abc import Sequence

from fakes.views.lens_search import Search, a_pass, lens_search
from rundry.agent import (
    Reason,
    RunEnded,
    Stamped,
    ViewState,
    reduce_all,
)
from rundry.tui.board.board_data import BoardData
from rundry.tui.board.board_layout import Laid, lay_out
from rundry.tui.board.board_lists import listing_of
from rundry.tui.board.board_view import BoardView
from rundry.tui.board.row_cells import Row
from rundry.tui.theme.theme import shipped_palette


def seen(stamped: Sequence[Stamped]) -> ViewState:
    state = ViewState()
    reduce_all(state, stamped)
    return state


def board_data(state: ViewState, after: float = 0.0, **more: object) -> BoardData:
    assert state.finder is not None and state.search is not None
    fields = {"now": state.last_at + after, "is_over": state.outcome is not None, **more}
    return BoardData(state, state.finder, state.search, shipped_palette("dark"), **fields)  # type: ignore[arg-type]


def text(row: Row) -> str:
    return "".join(part for part, _ in row)


def laid(at: BoardData, width: int = 120, height: int = 30, view: BoardView | None = None) -> Laid:
    view = view or BoardView()
    view.tab = view.tab or at.tabs[0]
    return lay_out(at, view, listing_of(at, view, None), width, height)


def shown(at: BoardData, width: int = 120, height: int = 30, view: BoardView | None = None) -> str:
    return "\n".join(text(row).rstrip() for row in laid(at, width, height, view).rows)


def line(whole: str, *words: str) -> str:
    return next(row for row in whole.splitlines() if all(word in row for word in words))


def ended(detail: str, *, complete: bool, reason: Reason = Reason.DRY) -> ViewState:
    script = Search()
    outcome = RunEnded(reason=reason, detail=detail, complete=complete, exit_code=0)
    return seen([*script.stamp(lens_search()), *a_pass(script, 1, 2, 0), *script.stamp(outcome)])
