"""The transcript, the board and the gate: which of them is visible and which has the focus."""

from __future__ import annotations

from collections.abc import Callable

from textual.widget import Widget

from ..board import BoardPanel
from ..gate import GatePanel
from ..run_controller import RunController
from ..transcript import Transcript


class Areas:
    """Switches between the transcript and the board, and moves the focus."""

    def __init__(
        self,
        controller: RunController,
        *,
        transcript: Transcript,
        search: BoardPanel,
        gate: GatePanel,
        refresh: Callable[[], None],
        focus: Callable[[Widget], None],
    ) -> None:
        """`refresh` updates the whole screen; `focus` gives a widget the focus."""
        self._controller = controller
        self.transcript, self.search, self._gate = transcript, search, gate
        self._refresh, self._focus = refresh, focus
        self._board_wanted = True

    @property
    def board_wanted(self) -> bool:
        """Whether a search shows its board instead of the transcript."""
        return self._board_wanted

    @property
    def shows_board(self) -> bool:
        """Whether the run is a search and its board is wanted."""
        return self._controller.state.finder is not None and self._board_wanted

    def show_board(self, wanted: bool) -> None:
        """Show the board of a search, or its transcript."""
        if self._controller.state.finder is None or wanted == self._board_wanted:
            return
        self._board_wanted = wanted
        self._refresh()

    def show_transcript(self) -> None:
        """Shrink a proposal that takes the whole height, so that the transcript is visible."""
        self._gate.make_room()
        self._refresh()

    def read_transcript(self) -> None:
        """Make the transcript visible and give it the focus."""
        self.show_transcript()
        self._focus(self.transcript)

    def focus_gate(self) -> bool:
        """Focus the gate, or else the board of a search. Return False if there is neither."""
        if self._gate.display:
            self._focus(self._gate)
        elif self._controller.state.finder is not None:
            self.show_board(True)
            self._focus(self.search.board)
        else:
            return False
        return True

    def scroll(self, key: str) -> None:
        """Scroll the transcript, or the board if it is shown, by a key of the message box; Down enters the board."""
        if key != "down":
            self.show_transcript()
        page = self.search.board if self.search.display else self.transcript
        match key:
            case "down":
                if self.search.display:
                    self.search.board.slide_in()
            case "pageup":
                page.action_page_up()
            case "pagedown":
                page.action_page_down()
            case "ctrl+home":
                self.transcript.action_scroll_home()
            case _:
                self.transcript.action_scroll_end()
