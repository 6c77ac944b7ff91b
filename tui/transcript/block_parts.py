"""The parts of the transcript's blocks: which ones are unfolded, and what is kept of a text that grows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .pieces import Pieces

if TYPE_CHECKING:
    from rundry.agent import Block

    from ..lines.parts import Part
    from .entries import Entries


class BlockParts:
    """Builds the parts of blocks. The user's folding counts against what a block says about itself."""

    def __init__(self) -> None:
        self._toggled: set[int] = set()
        """Indexes of the blocks that the user folded or unfolded."""
        self._all_open = False
        self._streams: dict[int, tuple[Pieces, list[Part], list[Part]]] = {}
        """For each growing text: its pieces, the parts that will not change again, and all parts as last built."""

    def is_open(self, index: int, block: Block) -> bool:
        """Return whether a block is unfolded."""
        return (block.open or self._all_open) != (index in self._toggled)

    def toggle(self, index: int) -> None:
        """Fold or unfold one block."""
        self._toggled ^= {index}

    def toggle_all(self) -> None:
        """Unfold all blocks, or show each as it was at first."""
        self._all_open = not self._all_open
        self._toggled.clear()

    def cut(self, count: int) -> None:
        """Forget the folding of the blocks from this index on, because they are gone."""
        self._toggled = {index for index in self._toggled if index < count}

    def end_stream(self, index: int) -> None:
        """Forget the parts of a text that no longer grows."""
        self._streams.pop(index, None)

    def forget_streams(self) -> None:
        """Forget the parts of all growing texts: their width or their colours changed."""
        self._streams.clear()

    def build(self, entries: Entries, index: int, block: Block, before: Block | None) -> list[Part]:
        """Return the parts of a block that is shown below `before`. Those of a growing text are kept."""
        if not block.live or block.kind != "text":
            self.end_stream(index)
            return entries.build(block, before, is_open=self.is_open(index, block))
        pieces, kept, shown = self._streams.get(index, (Pieces(), [], []))
        parts = entries.grown(block, before, pieces, kept)
        if parts and len(parts) == len(shown):
            parts[-1] = parts[-1].after(shown[-1])
        self._streams[index] = pieces, kept, parts
        return parts
