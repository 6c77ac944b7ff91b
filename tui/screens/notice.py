"""A line for the person, in place of the keys for some seconds. No textual in here."""

from __future__ import annotations

import time
from collections.abc import Container

from ..text import one_line

NOTICE_SECONDS = 6.0


class Notice:
    """The line that was told last."""

    def __init__(self) -> None:
        self._text = ""
        self._told_at = 0.0
        self._asked: int | None = None

    def tell(self, text: str, *, asked: int | None = None) -> None:
        """The line from now on; an empty one takes away what stands there. `asked`: id of the command that it is of."""
        self._asked = asked
        self._text, self._told_at = one_line(text), time.monotonic()

    def forget(self, *answered: Container[int]) -> None:
        """What was asked for by one of these commands came about, or does not."""
        if self._asked is not None and any(self._asked in ids for ids in answered):
            self.tell("")

    @property
    def text(self) -> str:
        """What stands there now."""
        if self._text and time.monotonic() - self._told_at > NOTICE_SECONDS:
            self._text = ""
        return self._text

    def says(self, text: str) -> bool:
        """The person reads this line just now."""
        return self._text == one_line(text)
