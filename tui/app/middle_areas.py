"""The transcript, the board and the gate: which of them is visible and which has the focus."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.widget import Widget

if TYPE_CHECKING:
    from ..board.board_panel import BoardPanel
    from ..control.run_controller import RunController
    from ..control.run_follower import FollowedView
    from ..gate.gate_panel import GatePanel
    from ..message.message_box import MessageBox
    from ..transcript.transcript import Transcript


class Areas:
    """Switches between the transcript and the board, and moves the focus."""

    def __init__(
        self,
        controller: RunController,
        view: FollowedView,
        *,
        transcript: Transcript,
        search: BoardPanel,
        gate: GatePanel,
        box: MessageBox,
    ) -> None:
        """`view`: the screen with these parts. `box`: the message box."""
        self._controller, self._view = controller, view
        self.transcript, self.search, self._gate = transcript, search, gate
        self._box = box
        self._board_wanted = True

    @property
    def board_wanted(self) -> bool:
        """Whether a search shows its board instead of the transcript."""
        return self._board_wanted

    @property
    def shows_board(self) -> bool:
        """Whether the run is a search and its board is wanted."""
        return self._controller.state.finder is not None and self._board_wanted

    def _focus(self, part: Widget) -> None:
        part.screen.set_focus(part)

    def show_board(self, wanted: bool) -> None:
        """Show the board of a search, or its transcript."""
        if self._controller.state.finder is None or wanted == self._board_wanted:
            return
        self._board_wanted = wanted
        self._view.refresh_view()

    def show_transcript(self) -> None:
        """Shrink a proposal that takes the whole height, so that the transcript is visible."""
        self._gate.make_room()
        self._view.refresh_view()

    def read_transcript(self) -> None:
        """Make the transcript visible and give it the focus."""
        self.show_transcript()
        self._focus(self.transcript)

    def focus_gate(self) -> bool:
        """Focus the gate, or else the board of a search. Return False if there is neither."""
        if self._gate.display:
            self._focus(self._gate.inner)
        elif self._controller.state.finder is not None:
            self.show_board(True)
            self._focus(self.search.board)
        else:
            return False
        return True

    @property
    def focused(self) -> str:
        """The part that has the focus: `gate`, `transcript`, a view of the board as `board:NAME`, or empty.

        `gate:typing`: a line or an editor of the gate has it.
        """
        if self._gate.has_focus_within:
            return "gate" if self._gate.has_focus else "gate:typing"
        if self.transcript.has_focus:
            return "transcript"
        return f"board:{self.search.board.view.tab}" if self.search.board.has_focus else ""

    def step_back(self) -> bool:
        """Go to the message box. Return False if it has the focus already."""
        if self._box.has_focus:
            return False
        self._focus(self._box)
        return True

    def leave_gate(self) -> None:
        """Close what is open at the gate, or else move to the message box."""
        self._gate.go_back()

    def keep_edit(self) -> bool:
        """Keep the text that is edited at the gate. Return False if none is edited."""
        return self._gate.keep_edit()

    def scroll(self, name: str) -> None:
        """Scroll the transcript, or the board if it is shown, by an action of the message box, or enter the board."""
        if name != "newer_message":
            self.show_transcript()
        page = self.search.board if self.search.display else self.transcript
        match name:
            case "newer_message":
                if self.search.display:
                    self.search.board.slide_in()
            case "page_above":
                page.action_page_up()
            case "page_below":
                page.action_page_down()
            case "first_entry":
                self.transcript.action_scroll_home()
            case _:
                self.transcript.action_scroll_end()
