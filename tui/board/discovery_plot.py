"""Plot discoveries over time with block characters. Does not import textual."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rundry.agent import downsampled, short

_EIGHTHS = " ▁▂▃▄▅▆▇█"
_WIDEST = 6
"""Width of the widest bar in cells, with the gap after it."""


def sparkline(counts: Sequence[int], width: int) -> str:
    """Draw one row with a cell for each count. Zero is blank; any other count is visible."""
    return chart(counts, width, 1)[0]


def chart(counts: Sequence[int], width: int, height: int) -> list[str]:
    """Draw `height` rows from the top; the highest bar fills all of them."""
    bars = downsampled(counts, width)
    top = max(bars, default=0.0)
    if not top:
        return [" " * len(bars)] * height
    filled = [max(1, round(bar / top * 8 * height)) if bar else 0 for bar in bars]
    return [
        "".join(_EIGHTHS[min(8, max(0, eighths - 8 * (height - 1 - row)))] for eighths in filled)
        for row in range(height)
    ]


@dataclass(frozen=True, slots=True)
class Plot:
    """A bar chart: each row with its label on the vertical axis, then the horizontal axis."""

    rows: list[tuple[str, str]]
    """Number and tick of the vertical axis, and the bars, from the top."""
    axis: str
    """The horizontal axis with its first and last value."""


def plot(counts: Sequence[int], width: int, height: int, first: str, last: str) -> Plot:
    """Draw bars over the whole width. `first` and `last` label the ends of the horizontal axis."""
    size = max(len(_number(highest(counts, max(1, width)))), 2)
    room = max(1, width - size - 2)
    bars = downsampled(counts, room)
    top = max(bars, default=0.0)
    each = max(1, min(_WIDEST, room // max(1, len(bars))))
    gap = 1 if each > 2 else 0
    spread = ["".join(sign * (each - gap) + " " * gap for sign in row) for row in chart(counts, room, height)]
    middle = top * (height - height // 2) / height
    ticks = {0: top, height // 2: middle} if height > 2 and middle == int(middle) else {0: top}
    rows = [
        (f"{_number(ticks[y]).rjust(size)} ┤" if y in ticks and top else f"{'':{size}} │", row)
        for y, row in enumerate(spread)
    ]
    length = max(len(bars) * each, len(first) + len(last) + 2)
    line = f"{first}{'─' * max(1, length - len(first) - len(last))}{last}"
    return Plot(rows, f"{'0'.rjust(size)} └{line}"[: max(0, width)])


def _number(value: float) -> str:
    if value >= 10_000:
        return short(round(value))
    return str(round(value)) if value >= 10 or value == int(value) else f"{value:.1f}"


def highest(counts: Sequence[int], width: int) -> float:
    """Return the value that the highest bar of that chart represents."""
    return max(downsampled(counts, width), default=0.0)
