"""Search for a text in many blocks, and in the lines that are drawn of them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from ..lines.line_parts import Part, Place
from ..text.show_text import show
from .draw_entries import MARGIN

if TYPE_CHECKING:
    from rundry.agent import Block

_EMPHASIS = str.maketrans("", "", "*`")


class Found(NamedTuple):
    """Match `current` (from 1) of `total`; 0 of 0 if there is none."""

    current: int
    total: int


class Search:
    """A text to search for. The case of letters counts only if the text has a capital letter."""

    def __init__(self, text: str) -> None:
        self.text = text
        words = [re.escape(show(word)) for word in text.split()]
        self._any_case = text == text.lower()
        self._word = show(text.split()[0]) if words else ""
        self.pattern = re.compile(r"\s+".join(words), re.IGNORECASE if self._any_case else 0) if words else None
        self.hits: list[tuple[int, int]] = []
        """Index of the block, and number of the occurrence within it."""
        self.at = -1

    def add_matches(self, blocks: Sequence[Block], start: int, end: int) -> None:
        """Add the occurrences in these blocks, which are above those that were searched before.

        A text in Markdown is found without its asterisks and backquotes.
        """
        found: list[tuple[int, int]] = []
        for index in range(start, end):
            block = blocks[index]
            count = self._count(block.title) + self._count(block.text, marked_up=block.kind == "text")
            count += self._count(block.right) + self._count(block.whole_detail)
            found.extend((index, number) for number in range(count))
        self.hits[:0] = found
        self.at = self.at + len(found) if self.at >= 0 else len(found) - 1

    def _count(self, text: str, *, marked_up: bool = False) -> int:
        assert self.pattern is not None
        # a search for one word in lower case is ten times faster than the pattern
        if not text or self._word not in (text.lower() if self._any_case else text):
            return 0
        return len(self.pattern.findall(text.translate(_EMPHASIS) if marked_up else text))

    @property
    def found(self) -> Found:
        """The current match and the number of all."""
        return Found(self.at + 1 if self.hits else 0, len(self.hits))

    def nearest(self, block: int) -> None:
        """Make the last occurrence at or above a block the current match, so that the search goes up first."""
        self.at = max((n for n, (index, _) in enumerate(self.hits) if index <= block), default=0 if self.hits else -1)

    def step(self, by: int) -> None:
        """Go to another match; after the last one comes the first."""
        if self.hits:
            self.at = (self.at + by) % len(self.hits)

    def spans(self, text: str) -> list[tuple[int, int]]:
        """Return where the text occurs in a drawn line: start and end in characters."""
        return [match.span() for match in self.pattern.finditer(text)] if self.pattern else []

    def place(self, index: int, number: int, parts: Sequence[Part]) -> Place | None:
        """Return the line of an occurrence within the parts of a block, or None if no line has one.

        If fewer occurrences are drawn than the text has, it is the line of the last one.
        """
        found: Place | None = None
        for part, drawn in enumerate(parts):
            for row, strip in enumerate(drawn.rows):
                for _ in self.spans(strip.text[MARGIN:]):
                    found = Place(index, part, row)
                    if number == 0:
                        return found
                    number -= 1
        return found
