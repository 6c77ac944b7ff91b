"""One entry of the transcript."""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from typing import Literal

from ...protocol import StallResponse

BlockKind = Literal[
    "task",
    "say",
    "steer",
    "text",
    "reasoning",
    "tool",
    "edit",
    "command",
    "check",
    "fault",
    "note",
    "stall",
    "prompted",
    "outcome",
    "question",
    "unknown",
]
BlockStatus = Literal[
    "",
    "next",  # a call whose proposal is not open yet
    "running",
    "ran",  # a command that ended: what it changed waits for a decision
    "ok",
    "failed",
    "waiting",
    "approved",
    "rejected",
    "part",
    "passed",
    "cut",
    StallResponse,
]
DetailKind = Literal["text", "diff", "json"]
_PACKED_FROM = 300
"""Minimum number of characters to compress."""


@dataclass(slots=True)
class Block:
    """One entry of the transcript. Only the reducer changes it, and increases `version` each time."""

    kind: BlockKind
    seq: int
    step: int | None
    work: str | None
    at: float
    """Unix seconds."""
    text: str = ""
    """Raw text: a widget must pass it through `tui.text.show_text`."""
    title: str = ""
    """`read src/calc.py`, `check pytest -q`."""
    status: BlockStatus = ""
    right: str = ""
    """`84 lines`, `2 of 3 hunks approved`."""
    seconds: float | None = None
    detail: str = ""
    """Folded content: a tool's result, a diff, a check's output. Read it with `whole_detail`: old ones are packed."""
    packed: bytes = b""
    """The detail in compressed form."""
    detail_kind: DetailKind = "text"
    open: bool = False
    """The block is unfolded."""
    live: bool = False
    """The block is still growing."""
    version: int = 0

    @property
    def has_detail(self) -> bool:
        """Whether the block has folded content."""
        return bool(self.detail or self.packed)

    @property
    def whole_detail(self) -> str:
        """The folded content, decompressed if needed."""
        return zlib.decompress(self.packed).decode("utf-8", "surrogatepass") if self.packed else self.detail

    def pack(self) -> None:
        """Compress the detail if it is long enough. The visible content does not change."""
        if len(self.detail) >= _PACKED_FROM:
            self.packed, self.detail = zlib.compress(self.detail.encode("utf-8", "surrogatepass"), 1), ""
