"""Tell a letter that is a command from the first letter of a word, which belongs to the message box."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

from textual import events
from textual.message import Message
from textual.timer import Timer
from textual.widget import Widget

TYPING = 0.35
"""Seconds in which the next letter makes a word of a letter that is a command."""

WRITING = 0.5
"""Seconds in which keys that arrive before the message box has the focus are sent to it."""


class Left(Message):
    """Posted when the person returns to the message box, with what they typed elsewhere."""

    def __init__(self, text: str = "", key: events.Key | None = None) -> None:
        """`key`: a key that followed the text before the message box had the focus."""
        super().__init__()
        self.text = text
        self.key = key


@dataclass(frozen=True, slots=True)
class _Held:
    action: str
    key: str
    text: str
    at: float


class LetterKeys(ABC):
    """Base of the keyboards of the board, the transcript, the gate and the end panel.

    It holds a letter back until it is clear that no word follows. Letters that only move take effect immediately.
    """

    def __init__(self, widget: Widget) -> None:
        """`widget`: the part of the screen whose keys these are."""
        self._widget = widget
        self._held: _Held | None = None
        self._timer: Timer | None = None
        self._moved: tuple[str, float] = ("", float("-inf"))
        """Letters that were carried out in quick succession, and when the last of them came."""
        self._writes_until = float("-inf")
        """A word has begun: keys before that time belong to it, unless the widget gets the focus again."""

    @abstractmethod
    def carry_out(self, action: str, at: float) -> None:
        """Carry out the action of a letter that waited; `at`: the time of its key."""

    @property
    def is_holding_back(self) -> bool:
        """Whether a letter waits because it may begin a word."""
        return self._held is not None

    @property
    def held_key(self) -> str | None:
        """The key of the letter that waits."""
        return self._held.key if self._held is not None else None

    def drop(self) -> None:
        """Forget the letter that waits."""
        if self._held is not None and self._timer is not None:
            self._timer.stop()
        self._held = None

    def focused(self) -> None:
        """Take the next keys as keys of the widget."""
        self._writes_until = float("-inf")
        self._moved = ("", float("-inf"))

    def write(self, text: str) -> None:
        """Move to the message box with this text."""
        self._writes_until = Message().time + WRITING
        self._widget.post_message(Left(text))

    def leave(self, text: str) -> None:
        """Move to the message box with this text; `?` opens the help if the box is empty."""
        if text == "?":
            self._widget.post_message(Left(text))
        else:
            self.write(text)

    def moved(self, event: events.Key) -> None:
        """Remember a letter that was carried out although it may begin a word; any other key ends the word."""
        letter = event.character if event.is_printable and event.character else ""
        self._moved = (self._before(event.time) + letter if letter else "", event.time)

    def continues_word(self, event: events.Key, *, moves: bool) -> bool:
        """Return whether this letter makes a word of letters that moved. `moves`: it only moves, as they did."""
        before, letter = self._before(event.time), event.character if event.is_printable else None
        if moves or not before or not letter:
            return False
        self.write(before + letter)
        return True

    def hold(self, action: str, event: events.Key) -> None:
        """Carry out the action of this letter unless a word follows."""
        self._held = _Held(action, event.key, self._before(event.time) + (event.character or ""), event.time)
        self._timer = self._widget.set_timer(TYPING, self._do_held)

    def follow(self, event: events.Key) -> bool:
        """Return whether this key continues a word that has begun, or decides about the letter that waits."""
        if event.time < self._writes_until:
            self._widget.post_message(Left(key=event))
            event.stop()
            event.prevent_default()
            return True
        if self._held is None or not self._follow_held(event, event.character if event.is_printable else None):
            return False
        event.stop()
        event.prevent_default()
        return True

    def _before(self, at: float) -> str:
        text, moved_at = self._moved
        return text if at - moved_at < TYPING else ""

    def _follow_held(self, event: events.Key, letter: str | None) -> bool:
        held = self._held
        assert held is not None and self._timer is not None
        self._timer.stop()
        if event.key in (held.key, "enter"):
            self._do_held()
        elif letter:
            self._held = None
            self.write(held.text + letter)
        elif event.key == "escape":
            self._held = None
        else:
            self._do_held()
            return False
        return True

    def _do_held(self) -> None:
        held, self._held = self._held, None
        if held is not None:
            self.carry_out(held.action, held.at)
