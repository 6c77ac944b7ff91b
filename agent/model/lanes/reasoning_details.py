"""Merge `reasoning_details`: a list of reasoning blocks that arrives in fragments (OpenRouter, "Reasoning tokens")."""

from __future__ import annotations

from typing import Any

_JOINED = ("text", "summary", "data")
"""Fields whose fragments are joined; for any other the last value counts."""


def merge_detail(blocks: list[dict[str, Any]], piece: dict[str, Any]) -> None:
    """Add a fragment: to the last block if it has the same index and type, else as a new block."""
    last = blocks[-1] if blocks else None
    if last is None or any(last.get(k) != piece.get(k) for k in ("type", "index")):
        blocks.append(dict(piece))
        return
    for name, value in piece.items():
        before = last.get(name)
        if name in _JOINED and isinstance(value, str) and isinstance(before, str):
            last[name] = before + value
        elif value is not None:
            last[name] = value
