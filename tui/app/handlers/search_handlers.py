"""Handle actions on the board of a search."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from rundry.agent import JudgeVerdict, RundryError, plural

from ...board.board_panel import NO_FINDING, NO_LIST
from ...board.cited_lines import cited_file, excerpt

if TYPE_CHECKING:
    from ...control.run_controller import RunController
    from ...control.services import Services
    from ..message_and_notice import Prompt
    from ..middle_areas import Areas

NO_SEARCH = "this run is not a search: start one with `rundry find`"
_KINDS = {"crawl": "url", "migrate": "file"}


class SearchHandlers:
    """Handlers that judge findings, change the queue and move on the board."""

    def __init__(self, controller: RunController, prompt: Prompt, services: Services, areas: Areas) -> None:
        self._controller, self._prompt, self._services, self._areas = controller, prompt, services, areas

    def table(self) -> Mapping[str, Callable[[str], None]]:
        """Return the handlers by the action's name."""
        return {
            "board": self._board,
            "confirm": self._judge("confirmed"),
            "refute": self._judge("refuted"),
            "evidence": self._judge("evidence"),
            "merge": self._merge,
            "skip": self._skip,
            "item": self._item,
            "lens": self._lens,
            "only": self._only,
            "find_rows": self._find_rows,
            "detail": self._detail,
            "view": self._view,
            "copy_row": self._copy_row,
            "open_place": self._open_place,
            "back": self._back,
        }

    def _board(self, _argument: str) -> None:
        if self._controller.state.finder is None:
            self._services.redraw()
        else:
            self._areas.show_board(not self._areas.board_wanted)

    def _judge(self, verdict: JudgeVerdict) -> Callable[[str], None]:
        def judge(_argument: str) -> None:
            self._require_search()
            self._areas.show_board(True)
            self._areas.search.ask(verdict)

        return judge

    def _merge(self, _argument: str) -> None:
        self._require_search()
        self._areas.show_board(True)
        if notice := self._areas.search.merge():
            self._prompt.tell(notice)

    def _skip(self, _argument: str) -> None:
        self._require_search(alive=True)
        self._areas.search.skip()

    def _item(self, argument: str) -> None:
        self._require_search(alive=True)
        if argument:
            self._areas.search.add_item(argument)
        else:
            search = self._controller.state.search
            recipe = search.recipe.value if search is not None and search.recipe is not None else ""
            self._prompt.fill(f"/item {_KINDS.get(recipe, 'file')} ")

    def _lens(self, argument: str) -> None:
        self._require_search(alive=True)
        if argument:
            self._areas.search.add_lens(argument)
        else:
            self._prompt.fill("/lens ")

    def _only(self, _argument: str) -> None:
        self._require_search()
        board = self._areas.search.board
        if board.view.tab == "work":
            raise RundryError(NO_LIST)
        board.turn_filter()

    def _find_rows(self, _argument: str) -> None:
        self._require_search()
        self._areas.search.find()

    def _detail(self, _argument: str) -> None:
        self._require_search()
        self._areas.search.board.open()

    def _view(self, _argument: str) -> None:
        self._require_search()
        self._areas.search.board.next_tab()

    def _back(self, _argument: str) -> None:
        self._require_search()
        self._areas.search.board.step_back()

    def _copy_row(self, _argument: str) -> None:
        self._require_search()
        board = self._areas.search.board
        finding = board.finding
        text = f"{finding.title}\n{finding.evidence}\n{finding.detail}".strip() if finding is not None else board.picked
        if not text:
            self._prompt.tell("no row is selected")
            return
        self._services.copy(text)
        self._prompt.tell(f"copied {plural(len(text), 'character')}, if the terminal allows it (OSC 52)")

    def _open_place(self, _argument: str) -> None:
        self._require_search()
        finding = self._areas.search.board.finding
        if finding is None:
            raise RundryError(NO_FINDING)
        root = Path(self._controller.state.workspace)
        found = excerpt(finding.evidence, root, finding.place)
        place = cited_file(finding.evidence, root)
        if isinstance(found, str) or isinstance(place, str):
            raise RundryError(
                f"cannot open {finding.evidence or finding.title}: {found or 'no line of a file is cited'}"
            )
        self._services.open_file(place[0], found.line)

    def _require_search(self, *, alive: bool = False) -> None:
        """Raise RundryError if the run is not a search, or if `alive` and the search has ended."""
        if self._controller.state.finder is None:
            raise RundryError(NO_SEARCH)
        if alive and self._controller.status.is_over:
            raise RundryError("this search has ended: use /resume to continue it first")
