"""Finding text among very many blocks, and in the lines that are drawn of them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from rundry.agent import Block

from ..text import show

_EMPHASIS = str.maketrans("", "", "*`")


class Found(NamedTuple):
    """`current` of `total`, from 1; 0 of 0 where there is nothing."""

    current: int
    total: int


class Search:
    """A text that is looked for: as written where it has a capital, else in any case."""

    def __init__(self, text: str) -> None:
        self.text = text
        words = [re.escape(show(word)) for word in text.split()]
        self._any_case = text == text.lower()
        self._word = show(text.split()[0]) if words else ""
        self.pattern = re.compile(r"\s+".join(words), re.IGNORECASE if self._any_case else 0) if words else None
        self.hits: list[tuple[int, int]] = []
        """Block and number of the occurrence within it."""
        self.at = -1

    def look(self, blocks: Sequence[Block], start: int, end: int) -> None:
        """Add the occurrences in these blocks, which stand above those that were looked at already.

        A text marked up in Markdown is found without its stars.
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
        # looking for a word in lower case is ten times faster than the pattern
        if not text or self._word not in (text.lower() if self._any_case else text):
            return 0
        return len(self.pattern.findall(text.translate(_EMPHASIS) if marked_up else text))

    @property
    def found(self) -> Found:
        """Where it stands."""
        return Found(self.at + 1 if self.hits else 0, len(self.hits))

    def nearest(self, block: int) -> None:
        """Stand on the last occurrence at or before a block, so that the first look goes up."""
        self.at = max((n for n, (index, _) in enumerate(self.hits) if index <= block), default=0 if self.hits else -1)

    def step(self, by: int) -> None:
        """Go on, around the ends."""
        if self.hits:
            self.at = (self.at + by) % len(self.hits)

    def spans(self, text: str) -> list[tuple[int, int]]:
        """Where it occurs in a drawn line: start and end in characters."""
        return [match.span() for match in self.pattern.finditer(text)] if self.pattern else []
