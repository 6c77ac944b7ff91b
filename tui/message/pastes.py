"""Long pastes stand in the box as one mark and are sent whole. No textual in here."""

from __future__ import annotations

LINES, CHARACTERS = 5, 600


class Pastes:
    """The texts behind the marks of one message."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}

    def fold(self, text: str) -> str:
        """The mark that stands for `text`, or the text itself where it is short."""
        lines = text.count("\n") + 1
        if lines <= LINES and len(text) <= CHARACTERS:
            return text
        size = f"{lines} lines" if lines > 1 else f"{len(text)} characters"
        mark = f"[paste {len(self._texts) + 1}: {size}]"
        self._texts[mark] = text
        return mark

    def unfold(self, text: str) -> str:
        """`text` with each mark replaced by what it stands for."""
        for mark, whole in self._texts.items():
            text = text.replace(mark, whole)
        return text

    def clear(self) -> None:
        """The message was sent."""
        self._texts.clear()
