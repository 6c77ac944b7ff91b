"""Finding text among very many blocks, and in the lines that are drawn of them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from ..state import Block
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
        flags = 0 if text != text.lower() else re.IGNORECASE
        self.pattern = re.compile(r"\s+".join(words), flags) if words else None
        self.hits: list[tuple[int, int]] = []
        """Block and number of the occurrence within it."""
        self.at = -1

    def look(self, blocks: Sequence[Block]) -> None:
        """Find all occurrences; a text marked up in Markdown is found without its stars."""
        self.hits = []
        if self.pattern is None:
            return
        for index, block in enumerate(blocks):
            count = sum(len(self.pattern.findall(text)) for text in _texts(block))
            self.hits.extend((index, number) for number in range(count))

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


def _texts(block: Block) -> tuple[str, ...]:
    text = block.text.translate(_EMPHASIS) if block.kind == "text" else block.text
    return tuple(part for part in (block.title, text, block.right, block.detail) if part)
