"""Discoveries over time, in block characters. No textual in here."""

from __future__ import annotations

from collections.abc import Sequence

from rundry.agent import squeezed

_EIGHTHS = " ▁▂▃▄▅▆▇█"


def sparkline(counts: Sequence[int], width: int) -> str:
    """One row, a cell each; nothing found is a blank, something always shows."""
    return chart(counts, width, 1)[0]


def chart(counts: Sequence[int], width: int, height: int) -> list[str]:
    """So many rows from the top; the highest bar takes them all."""
    bars = squeezed(counts, width)
    top = max(bars, default=0.0)
    if not top:
        return [" " * len(bars)] * height
    filled = [max(1, round(bar / top * 8 * height)) if bar else 0 for bar in bars]
    return [
        "".join(_EIGHTHS[min(8, max(0, eighths - 8 * (height - 1 - row)))] for eighths in filled)
        for row in range(height)
    ]


def highest(counts: Sequence[int], width: int) -> float:
    """What the highest bar of that chart stands for."""
    return max(squeezed(counts, width), default=0.0)
