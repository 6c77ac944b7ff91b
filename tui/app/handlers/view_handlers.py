"""Handle actions on the transcript and the focus."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING

from rundry.agent import plural

from ...keys.lookup import actions_of

if TYPE_CHECKING:
    from ...control.run_controller import RunController
    from ...control.services import Services
    from ...transcript.transcript_search import Found
    from ..message_and_notice import Prompt
    from ..middle_areas import Areas

CONTINUES = "{next_match} and {previous_match} continue, {to_message} returns"
"""What can be done after something was found."""


class ViewHandlers:
    """Handlers that change what is visible and send nothing to the run."""

    def __init__(self, controller: RunController, prompt: Prompt, services: Services, areas: Areas) -> None:
        self._controller, self._prompt, self._services, self._areas = controller, prompt, services, areas

    def table(self) -> Mapping[str, Callable[[str], None]]:
        """Return the handlers by the action's name."""
        return {
            "to_gate": self.to_gate,
            "gate_back": lambda _argument: self._areas.leave_gate(),
            "unfold": self._unfold,
            "unfold_all": self._unfold_all,
            "read": self._read,
            "find": self._find,
            "copy": self._copy,
            "steer": self._steer,
            **{action.name: partial(self._in_transcript, action.name) for action in actions_of("transcript")},
        }

    def _steer(self, _argument: str) -> None:
        self._services.after_pending_keys(self._send_now)

    def _send_now(self) -> None:
        if not self._areas.keep_edit():
            self._prompt.send_now()

    def _in_transcript(self, name: str, _argument: str) -> None:
        self._areas.transcript.do(name)

    def to_gate(self, _argument: str) -> None:
        """Focus the gate, or else the board of a search."""
        if not self._areas.focus_gate():
            self._prompt.tell("no proposal is waiting")

    def _unfold(self, _argument: str) -> None:
        self._areas.show_transcript()
        self._areas.transcript.action_unfold()

    def _unfold_all(self, _argument: str) -> None:
        self._areas.show_transcript()
        self._areas.transcript.action_unfold_all()

    def _read(self, _argument: str) -> None:
        self._areas.show_board(False)
        self._areas.read_transcript()

    def _find(self, argument: str) -> None:
        if not argument:
            self._prompt.fill("/find ")
            return
        transcript = self._areas.transcript
        self._areas.show_board(False)
        found = transcript.find(argument)
        if not found.total and transcript.is_searching:
            self._prompt.tell("searching older entries")
        elif found.total:
            self._prompt.tell(search_progress(found, 1, self._prompt.named(CONTINUES)))
            self._areas.read_transcript()
        else:
            self._prompt.tell(f"nothing found for {argument}")

    def _copy(self, _argument: str) -> None:
        text = self._services.selected_text() or self._last_answer()
        if not text:
            self._prompt.tell("nothing to copy yet")
            return
        self._services.copy(text)
        self._prompt.tell(f"copied {plural(len(text), 'character')}, if the terminal allows it (OSC 52)")

    def _last_answer(self) -> str:
        """Return the model's newest text without any formatting."""
        blocks = self._controller.state.blocks
        return next((block.text for block in reversed(blocks) if block.kind in ("text", "outcome") and block.text), "")


def search_progress(found: Found, share: float, continues: str) -> str:
    """Return what a search of the transcript found in a share of the entries. `continues`: what can be done then."""
    place = f"{found.current} of {found.total}"
    if share < 1:
        return f"{place}; searching older entries: {share:.0%}"
    return f"{place}; {continues}" if found.total else "nothing found"
