"""Decide what a key at the gate means: an action, scrolling, or the first letter of a message."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from textual import events
from textual.timer import Timer
from textual.widget import Widget

from .decision.arming import HELD_BACK, TYPING, HeldBack
from .view import ProposalView


class GateKeyboard:
    """Handles the keys of the panel. A letter that changes something waits briefly, because it may begin a word."""

    def __init__(
        self,
        view: ProposalView,
        panel: Widget,
        actions: Mapping[str, str],
        *,
        do: Callable[[str], None],
        to_message: Callable[[str], None],
    ) -> None:
        """`actions` maps a key to the name of its action; `to_message` passes typed text to the message box."""
        self._view, self._panel, self._actions = view, panel, actions
        self._do, self._to_message = do, to_message
        self._held_back: HeldBack | None = None
        self._timer: Timer | None = None
        self._is_writing = False
        """The last keys were a message, and so are the next ones until the gate has the focus again."""

    @property
    def is_holding_back(self) -> bool:
        """Whether a letter waits because it may begin a word."""
        return self._held_back is not None

    def focused(self) -> None:
        """Take the keys from now on as keys of the gate."""
        self._is_writing = False

    def press(self, event: events.Key) -> None:
        """Handle a key."""
        if self._is_writing:
            self._write(event)
            return
        if self._panel.screen.focused is not self._panel:
            return
        view, action, key = self._view, self._actions.get(event.key), event.key
        types = event.is_printable and event.character
        if action is None and not view.body.scrolls(key) and not types:
            return
        event.stop()
        event.prevent_default()
        if self._held_back is not None and self._follow_held_back(event):
            return
        is_meant = view.arming.pressed(key, event.time)
        if key == "escape" and view.always_shown:
            view.hide_rule()
            view.show_words()
        elif action is not None:
            if is_meant and view.arming.counts(event.time) and not view.review.is_answered:
                self._start(action, key, event.character if types else None)
        elif view.body.scrolls(key):
            view.skipped(None)
            view.body.move(key)
        elif types:
            self._is_writing = event.character != "?"
            self._to_message(event.character or "")

    def _start(self, action: str, key: str, letter: str | None) -> None:
        painted = self._view.arming.painted
        if letter is None or action not in HELD_BACK or painted is None:
            self._do(action)
            return
        self._held_back = HeldBack(action, key, letter, (painted.proposal_id, painted.digest))
        self._timer = self._panel.set_timer(TYPING, self._do_held_back)

    def _do_held_back(self) -> None:
        held, self._held_back = self._held_back, None
        now = self._view.arming.painted
        if held is not None and now is not None and (now.proposal_id, now.digest) == held.seen:
            self._do(held.action)

    def _follow_held_back(self, event: events.Key) -> bool:
        """Decide what the waiting letter was, by the key that follows it. Return whether this key was part of it."""
        held = self._held_back
        assert held is not None and self._timer is not None
        self._timer.stop()
        if event.key in (held.key, "enter"):
            self._view.arming.pressed(event.key, event.time)
            self._do_held_back()
            return True
        if event.is_printable and event.character:
            self._held_back, self._is_writing = None, True
            self._to_message(held.text + event.character)
            return True
        if event.key == "escape":
            self._held_back = None
            return True
        self._do_held_back()
        return False

    def _write(self, event: events.Key) -> None:
        # keys that arrived together, before the focus moved
        event.stop()
        event.prevent_default()
        if event.is_printable and event.character:
            self._to_message(event.character)
