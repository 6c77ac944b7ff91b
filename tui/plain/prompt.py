"""The message box and its notices, as handlers of actions use them, in a session without a screen."""

from __future__ import annotations

from collections.abc import Callable

from ..keyboard.keymap import Keymap
from ..screens.prompt import Prompt


class PlainPrompt(Prompt):
    """Prints each notice once. A text for the message box is printed as the start of a command."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self._say = say
        self._last = ""
        self._keymap = Keymap({})

    @property
    def text(self) -> str:
        """Always empty: there is no message box."""
        return ""

    @property
    def whole_text(self) -> str:
        """Always empty: there is no message box."""
        return ""

    def fill(self, text: str) -> None:
        """Print what the user should type."""
        self._say(f"complete the command: {text}")

    def tell(self, text: str, *, asked: int | None = None) -> None:
        """Print a notice as a line of its own."""
        self._last = text
        if text:
            self._say(text)

    def shows(self, text: str) -> bool:
        """Return whether this was the last notice."""
        return text == self._last
