"""Fold long pastes into one mark in the box, and unfold them when they are sent. Does not import textual."""

from __future__ import annotations

LINES, CHARACTERS = 5, 600


class Pastes:
    """The texts behind the marks of one message."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}

    def fold(self, text: str) -> str:
        """Return the mark for `text`, or the text itself if it is short."""
        lines = text.count("\n") + 1
        if lines <= LINES and len(text) <= CHARACTERS:
            return text
        size = f"{lines} lines" if lines > 1 else f"{len(text)} characters"
        mark = f"[paste {len(self._texts) + 1}: {size}]"
        self._texts[mark] = text
        return mark

    def unfold(self, text: str) -> str:
        """Return `text` with each mark replaced by the paste that it represents."""
        for mark, whole in self._texts.items():
            text = text.replace(mark, whole)
        return text

    def clear(self) -> None:
        """Forget all pastes, because the message was sent."""
        self._texts.clear()
