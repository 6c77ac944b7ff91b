"""Decide what a key in the transcript means: an action, scrolling, or the first letter of a message."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from textual import events
from textual.widget import Widget

from ..actions.lookup import keys_of
from ..keyboard.letters import FirstLetter, LetterKeys

_MOVES = frozenset({"earlier", "later", "next_match", "previous_match"})
"""Actions that change nothing but what is in sight: a letter carries them out immediately."""


class ReadingKeyboard(LetterKeys):
    """Handles the keys of the transcript while it has the focus."""

    def __init__(self, transcript: Widget, keys: Mapping[str, str] | None, do: Callable[[str], None]) -> None:
        """`keys`: key to the name of its action; None: the defaults. `do` carries out an action by its name."""
        self._do = do
        self._enter: Callable[[], bool] = lambda: False
        self._actions = keys_of("transcript", {}) if keys is None else keys
        super().__init__(FirstLetter(transcript, lambda action, at: do(action)))

    def on_enter(self, enter: Callable[[], bool]) -> None:
        """Call `enter` before Enter unfolds the chosen entry; it returns whether it did something else."""
        self._enter = enter

    def press(self, event: events.Key) -> None:
        """Handle a key that is an action or a letter."""
        types, action = event.character if event.is_printable else None, self._actions.get(event.key)
        is_letter = bool(types and types.isalpha())
        if self._letter.follow(event) or (event.key == "enter" and action is not None and self._enter()):
            pass
        elif action in _MOVES or (action is not None and not is_letter):
            self._do(action)
            self._letter.moved(event)
        elif action is not None:
            self._letter.hold(action, event)
        elif self._letter.continues_word(event, moves=False):
            pass
        elif types:
            self.leave(types)
        else:
            return
        event.stop()
        event.prevent_default()
