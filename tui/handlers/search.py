"""Handle actions on the board of a search."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from rundry.agent import RundryError

if TYPE_CHECKING:
    from ..screens.main import MainScreen

NO_SEARCH = "this run is not a search: start one with `rundry find`"
_KINDS = {"crawl": "url", "migrate": "file"}


def _board(screen: MainScreen, argument: str) -> None:
    del argument
    _want(screen)
    screen.show_board(not screen.board_wanted)


def _judging(verdict: str) -> Callable[[MainScreen, str], None]:
    def judge(screen: MainScreen, argument: str) -> None:
        del argument
        _want(screen)
        screen.show_board(True)
        screen.search.ask(verdict)

    return judge


def _merge(screen: MainScreen, argument: str) -> None:
    del argument
    _want(screen)
    screen.show_board(True)
    if said := screen.search.merge():
        screen.tell(said)


def _skip(screen: MainScreen, argument: str) -> None:
    del argument
    _want(screen, alive=True)
    screen.search.skip()


def _item(screen: MainScreen, argument: str) -> None:
    _want(screen, alive=True)
    if argument:
        screen.search.add_item(argument)
    else:
        search = screen.controller.state.search
        recipe = search.recipe.value if search is not None and search.recipe is not None else ""
        screen.fill(f"/item {_KINDS.get(recipe, 'file')} ")


def _lens(screen: MainScreen, argument: str) -> None:
    _want(screen, alive=True)
    if argument:
        screen.search.add_lens(argument)
    else:
        screen.fill("/lens ")


def _only(screen: MainScreen, argument: str) -> None:
    del argument
    _want(screen)
    screen.search.board.turn_filter()


def _detail(screen: MainScreen, argument: str) -> None:
    del argument
    _want(screen)
    screen.search.board.open()


def _view(screen: MainScreen, argument: str) -> None:
    del argument
    _want(screen)
    screen.search.board.next_tab()


def _copy_row(screen: MainScreen, argument: str) -> None:
    del argument
    _want(screen)
    board = screen.search.board
    finding = board.finding
    text = f"{finding.title}\n{finding.evidence}\n{finding.detail}".strip() if finding is not None else board.picked
    if not text:
        screen.tell("no row is selected")
        return
    screen.rundry.copy_to_clipboard(text)
    screen.tell(f"copied {len(text)} characters, if the terminal allows it (OSC 52)")


def _want(screen: MainScreen, *, alive: bool = False) -> None:
    """Raises RundryError where there is no search, or nobody who could hear it."""
    if screen.controller.state.finder is None:
        raise RundryError(NO_SEARCH)
    if alive and screen.controller.is_over:
        raise RundryError("this search has ended: use /resume to continue it first")


DOINGS: Mapping[str, Callable[[MainScreen, str], None]] = {
    "board": _board,
    "confirm": _judging("confirmed"),
    "refute": _judging("refuted"),
    "evidence": _judging("evidence"),
    "merge": _merge,
    "skip": _skip,
    "item": _item,
    "lens": _lens,
    "only": _only,
    "detail": _detail,
    "view": _view,
    "copy_row": _copy_row,
}
