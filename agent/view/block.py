"""One entry of a transcript."""

from __future__ import annotations

import zlib
from dataclasses import dataclass

_PACKED_FROM = 300
"""Characters."""


@dataclass(slots=True)
class Block:
    """One entry of the transcript. The reducer alone changes it, and bumps `version` each time."""

    kind: str
    """`task`, `say`, `steer`, `text`, `reasoning`, `tool`, `edit`, `command`, `check`, `fault`, `note`, `stall`,
    `prompted`, `outcome`, `question` or `unknown`."""
    seq: int
    step: int | None
    work: str | None
    at: float
    """Unix seconds."""
    text: str = ""
    """Raw: a widget sends it through `tui.text`."""
    title: str = ""
    """`read src/calc.py`, `check pytest -q`."""
    status: str = ""
    """`running`, `ok`, `failed`, `waiting`, `approved`, `rejected`, `part`, `passed`, `cut` or nothing."""
    right: str = ""
    """`84 lines`, `2 of 3 hunks approved`."""
    seconds: float | None = None
    detail: str = ""
    """Folded content: a tool's result, a diff, a check's output. Read it with `whole_detail`: an old one is packed."""
    packed: bytes = b""
    """The detail, compressed."""
    detail_kind: str = "text"
    """`text`, `diff` or `json`."""
    open: bool = False
    """Unfolded."""
    live: bool = False
    """Still growing."""
    version: int = 0

    @property
    def has_detail(self) -> bool:
        """There is folded content."""
        return bool(self.detail or self.packed)

    @property
    def whole_detail(self) -> str:
        """The folded content."""
        return zlib.decompress(self.packed).decode("utf-8", "surrogatepass") if self.packed else self.detail

    def pack(self) -> None:
        """Compress the detail, where that is worth it. Nothing that is shown changes."""
        if len(self.detail) >= _PACKED_FROM:
            self.packed, self.detail = zlib.compress(self.detail.encode("utf-8", "surrogatepass"), 1), ""
