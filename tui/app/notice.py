"""A short notice that replaces the keys in the footer for some seconds. Does not import textual."""

from __future__ import annotations

import time
from collections.abc import Container

from ..text.show_text import one_line

NOTICE_SECONDS = 6.0


class Notice:
    """The notice that was shown last."""

    def __init__(self) -> None:
        self._text = ""
        self._told_at = 0.0
        self._asked: int | None = None

    def tell(self, text: str, *, asked: int | None = None) -> None:
        """Show this notice; an empty text removes the present one.

        `asked`: id of the command that the notice is about.
        """
        self._asked = asked
        self._text, self._told_at = one_line(text), time.monotonic()

    def forget(self, *answered: Container[int]) -> None:
        """Remove the notice if it is about one of these commands, which were answered."""
        if self._asked is not None and any(self._asked in ids for ids in answered):
            self.tell("")

    @property
    def text(self) -> str:
        """The text that is shown now, or empty."""
        if self._text and time.monotonic() - self._told_at > NOTICE_SECONDS:
            self._text = ""
        return self._text

    def says(self, text: str) -> bool:
        """Return whether this notice is on the screen."""
        return self._text == one_line(text)
