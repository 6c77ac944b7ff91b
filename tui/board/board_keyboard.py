"""Decide what a key on the board means: an action, a move of the selection, or the first letter of a message."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from textual import events
from textual.message import Message
from textual.widget import Widget

from ..keys.letters import LetterKeys
from ..keys.screen_keymap import keymap_of
from .board_arming import JUDGES, Arming

_FAR = 2**40
STEPS = {"row_up": -1, "row_down": 1, "first_row": -_FAR, "last_row": _FAR}
"""Actions that move the selection, and by how many rows."""


class BoardActed(Message):
    """The user pressed the key of an action."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name


class VerdictHeld(Message):
    """The key of a verdict was ignored, because the selected row was not visible long enough to be meant."""


class BoardKeyboard(LetterKeys):
    """Handles the keys of the board. A letter that does something waits briefly, because it may begin a word."""

    def __init__(
        self, board: Widget, actions: Mapping[str, str], arming: Arming, *, travel: Callable[[str], bool]
    ) -> None:
        """`actions` maps a key to the name of its action. `travel` handles a key that only changes what is visible."""
        self._board, self._actions, self._arming, self._travel = board, actions, arming, travel
        super().__init__(board)

    def press(self, event: events.Key) -> None:
        """Handle a key."""
        types, action = event.is_printable and event.character, self._actions.get(event.key)
        if self.follow(event):
            pass
        elif types and self._arming.is_typing(event.time):
            self.leave(event.character or "")
        elif action is not None:
            self._act(action, event)
        elif self.continues_word(event, moves=bool(keymap_of(self._board).action_of(event.key, "rows"))):
            pass
        elif self._travel(event.key):
            self.moved(event)
        elif types:
            self.leave(event.character or "")
        else:
            return
        event.stop()
        event.prevent_default()

    def _act(self, action: str, event: events.Key) -> None:
        if event.is_printable and (event.character or "").isalpha():
            self.hold(action, event)
        else:
            self.carry_out(action, event.time)

    def carry_out(self, action: str, at: float) -> None:
        """Post the action, unless it is a verdict on a row that was not visible long enough."""
        is_meant = action not in JUDGES or self._arming.counts(at)
        self._board.post_message(BoardActed(action) if is_meant else VerdictHeld())
