"""Decide what a key at the gate means: an action, scrolling, or the first letter of a message."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from textual import events
from textual.widget import Widget

from ..keyboard.letters import FirstLetter, LetterKeys
from .decision.arming import HELD_BACK

if TYPE_CHECKING:
    from .view import ProposalView


class GateKeyboard(LetterKeys):
    """Handles the keys of the panel. A letter waits briefly, because it may begin a word."""

    def __init__(
        self, view: ProposalView, panel: Widget, actions: Mapping[str, str], *, do: Callable[[str], None]
    ) -> None:
        """`actions` maps a key to the name of its action."""
        self._view, self._panel, self._actions, self._do = view, panel, actions, do
        super().__init__(FirstLetter(panel, self._do_held_back))
        self._seen = ("", "")
        """The proposal and the digest that were painted when the letter was pressed: only that can be decided by it."""

    def is_stray(self, text: str) -> bool:
        """Return whether a text is only one key of the gate, pressed before a proposal was there; or blank."""
        letters = set(text.strip())
        return not letters or (len(letters) == 1 and letters.pop() in self._actions)

    def write(self, text: str) -> None:
        """Move a text to the message box, and with it the keys that follow."""
        self._letter.write(text)

    def press(self, event: events.Key) -> None:
        """Handle a key."""
        view, action, key = self._view, self._actions.get(event.key), event.key
        types = event.is_printable and event.character
        held = self._letter.held_key
        if key == held and view.arming.repeats(key, event.time):
            self._letter.drop()
            event.stop()
            event.prevent_default()
            return
        if held is not None and key in (held, "enter"):
            view.arming.pressed(key, event.time)
        if self._letter.follow(event):
            return
        if self._panel.screen.focused is not self._panel:
            return
        if action is None and not view.body.scrolls(key) and not types:
            return
        event.stop()
        event.prevent_default()
        is_meant = view.arming.pressed(key, event.time)
        if action == "gate_back":
            self._do(action)
        elif action is not None:
            if is_meant and view.arming.counts(event.time) and not view.review.is_answered:
                self._start(action, event)
        elif view.body.scrolls(key):
            view.skipped(None)
            view.body.press(key)
        elif event.character:
            self.leave(event.character)

    def click(self, action: str, at: float) -> None:
        """Carry out an action that was clicked; a second click in haste does nothing."""
        view = self._view
        if view.arming.pressed("click", at) and view.arming.counts(at) and not view.review.is_answered:
            self._panel.focus()
            self._do(action)

    def _start(self, action: str, event: events.Key) -> None:
        painted = self._view.arming.painted
        letter = event.character if event.is_printable else None
        is_word = letter is not None and (letter.isalpha() or action in HELD_BACK)
        if painted is None or not is_word:
            self._do(action)
            return
        self._seen = (painted.proposal_id, painted.digest)
        self._letter.hold(action, event)

    def _do_held_back(self, action: str, _at: float) -> None:
        now = self._view.arming.painted
        if now is not None and (now.proposal_id, now.digest) == self._seen:
            self._do(action)
