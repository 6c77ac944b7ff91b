"""Earlier messages, which Up recalls. Does not import textual."""

from __future__ import annotations


class History:
    """Sent messages, oldest first, and the position of the user in them."""

    def __init__(self, sent: list[str] | None = None) -> None:
        self._sent: list[str] = list(sent or [])
        self._at = len(self._sent)
        self._draft = ""

    def add(self, text: str) -> None:
        """Add a sent message; the same one twice in a row counts once."""
        if text and (not self._sent or self._sent[-1] != text):
            self._sent.append(text)
        self._at = len(self._sent)
        self._draft = ""

    def older(self, current: str) -> str | None:
        """Return the previous message; None: there is none.

        `current` is the text in the box, which `newer` returns at the end.
        """
        if self._at == 0:
            return None
        if self._at == len(self._sent):
            self._draft = current
        self._at -= 1
        return self._sent[self._at]

    def newer(self) -> str | None:
        """Return the next message, and at the end the draft; None: there is nothing newer."""
        if self._at >= len(self._sent):
            return None
        self._at += 1
        return self._draft if self._at == len(self._sent) else self._sent[self._at]
