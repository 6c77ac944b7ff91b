"""What was sent before, to be called back with Up. No textual in here."""

from __future__ import annotations


class History:
    """Sent messages, oldest first, and where the person stands in them."""

    def __init__(self, sent: list[str] | None = None) -> None:
        self._sent: list[str] = list(sent or [])
        self._at = len(self._sent)
        self._draft = ""

    def add(self, text: str) -> None:
        """A message was sent; the same one twice in a row counts once."""
        if text and (not self._sent or self._sent[-1] != text):
            self._sent.append(text)
        self._at = len(self._sent)
        self._draft = ""

    def older(self, current: str) -> str | None:
        """The one before; None: there is none. `current` is what stands in the box and comes back at the end."""
        if self._at == 0:
            return None
        if self._at == len(self._sent):
            self._draft = current
        self._at -= 1
        return self._sent[self._at]

    def newer(self) -> str | None:
        """The one after, the draft at the end; None: there is nothing newer."""
        if self._at >= len(self._sent):
            return None
        self._at += 1
        return self._draft if self._at == len(self._sent) else self._sent[self._at]
