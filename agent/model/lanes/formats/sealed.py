"""Keep the blocks of an answer in order, with the sealed ones complete. Claude needs them back on every cloud.

A sealed block is signed or encrypted reasoning. Texts are stored by length and calls by place, as in
`lanes/anthropic.py`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(slots=True)
class _Open:
    kind: str = ""
    length: int = 0
    thinking: list[str] = field(default_factory=list[str])
    signature: list[str] = field(default_factory=list[str])
    data: list[str] = field(default_factory=list[str])


class Blocks:
    """Collects the blocks of one answer by their index."""

    def __init__(self) -> None:
        self._blocks: dict[int, _Open] = {}

    def text(self, index: int, text: str) -> None:
        """Add a piece of text."""
        block = self._at(index, "text")
        block.length += len(text)

    def thinking(self, index: int, text: str = "", signature: str = "") -> None:
        """Add a piece of readable reasoning, or of its signature."""
        block = self._at(index, "thinking")
        block.thinking.append(text)
        block.signature.append(signature)

    def redacted(self, index: int, data: str) -> None:
        """Add a piece of encrypted reasoning."""
        self._at(index, "redacted_thinking").data.append(data)

    def call(self, index: int) -> None:
        """Add the beginning of a call."""
        self._at(index, "tool_use")

    def sealed(self) -> list[dict[str, Any]]:
        """Return the blocks in order; empty if no block is sealed."""
        out: list[dict[str, Any]] = []
        calls = 0
        for block in self._blocks.values():
            match block.kind:
                case "text":
                    out.append({"type": "text", "length": block.length})
                case "tool_use":
                    out.append({"type": "tool_use", "place": calls})
                    calls += 1
                case "redacted_thinking":
                    out.append({"type": block.kind, "data": "".join(block.data)})
                case _ if signature := "".join(block.signature):
                    thinking = "".join(block.thinking)
                    out.append({"type": "thinking", "thinking": thinking, "signature": signature})
                case _:
                    pass  # without a signature the provider refuses it
        return out if any(b["type"] not in ("text", "tool_use") for b in out) else []

    def _at(self, index: int, kind: str) -> _Open:
        block = self._blocks.setdefault(index, _Open())
        block.kind = block.kind or kind
        return block
