"""Plots as inline SVG. The style sheet colours them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from .page_text import escaped

_WIDTH, _HEIGHT = 320, 110
_LEFT, _RIGHT, _TOP, _BOTTOM = 4, 4, 14, 16
_FAR = 3.0
"""A limit further away than this many times the highest value is named, but not drawn."""

Point = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Plot:
    """One curve with its name and, if there is one, its limit."""

    name: str
    points: Sequence[Point]
    number: Callable[[float], str]
    """Writes a value for a person."""
    unit: str = "step"
    """What the horizontal axis counts."""
    limit: float | None = None
    stepped: bool = False
    """The value stays until the next point."""


def line_plot(plot: Plot) -> str:
    """Return a figure with the curve; an empty text if it has fewer than two points."""
    if len(plot.points) < 2:
        return ""
    highest = max(y for _, y in plot.points)
    drawn = plot.limit if plot.limit and plot.limit <= _FAR * highest else None
    top = max(highest, drawn or 0.0) or 1.0
    first, last = plot.points[0][0], plot.points[-1][0]
    place = _placer(first, last, top)
    line = _path(plot, place)
    (x0, base), (x1, _) = place((first, 0.0)), place((last, 0.0))
    end = place(plot.points[-1])
    limit = ""
    if drawn:
        y = place((first, drawn))[1]
        limit = f'<line class="limit" x1="{_LEFT}" y1="{y}" x2="{_WIDTH - _RIGHT}" y2="{y}"/>'
    label = f"{plot.name}: {plot.number(plot.points[-1][1])} at the end, {plot.number(highest)} at most"
    now = plot.number(plot.points[-1][1]) + (f" of {plot.number(plot.limit)}" if plot.limit else "")
    return (
        f"<figure><figcaption><strong>{escaped(plot.name)}</strong><span>{escaped(now)}</span></figcaption>"
        f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="{escaped(label)}">'
        f'<line class="axis" x1="{_LEFT}" y1="{base}" x2="{_WIDTH - _RIGHT}" y2="{base}"/>{limit}'
        f'<path class="area" d="{line} L {x1} {base} L {x0} {base} Z"/><path class="line" d="{line}"/>'
        f'<circle class="dot" cx="{end[0]}" cy="{end[1]}" r="2.4"/>'
        f'<text x="{_LEFT}" y="{_TOP - 4}">{escaped(plot.number(top))}</text>'
        f'<text x="{_LEFT}" y="{_HEIGHT - 3}">{escaped(plot.unit)} {first:g}</text>'
        f'<text x="{_WIDTH - _RIGHT}" y="{_HEIGHT - 3}" text-anchor="end">{last:g}</text></svg></figure>'
    )


def bar_plot(name: str, bars: Sequence[tuple[str, float]], number: Callable[[float], str]) -> str:
    """Return a figure with one upright bar for each value; an empty text for fewer than two, or for none above 0."""
    highest = max((value for _, value in bars), default=0.0)
    if highest <= 0 or len(bars) < 2:
        return ""
    width = (_WIDTH - _LEFT - _RIGHT) / len(bars)
    base, shapes = _HEIGHT - _BOTTOM, list[str]()
    for index, (label, value) in enumerate(bars):
        tall = round((base - _TOP) * value / highest, 1)
        x = round(_LEFT + index * width, 1)
        words = escaped(f"{label}: {number(value)}")
        wide = round(max(1.0, width - min(3.0, width / 4)), 1)
        shapes.append(
            f'<rect class="bars" x="{x}" y="{round(base - tall, 1)}" width="{wide}" height="{tall}">'
            f"<title>{words}</title></rect>"
        )
    total = number(sum(value for _, value in bars))
    return (
        f"<figure><figcaption><strong>{escaped(name)}</strong><span>{escaped(total)}</span></figcaption>"
        f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="{escaped(name)}">'
        f'<line class="axis" x1="{_LEFT}" y1="{base}" x2="{_WIDTH - _RIGHT}" y2="{base}"/>{"".join(shapes)}'
        f'<text x="{_LEFT}" y="{_TOP - 4}">{escaped(number(highest))}</text>'
        f'<text x="{_LEFT}" y="{_HEIGHT - 3}">{escaped(bars[0][0])}</text>'
        f'<text x="{_WIDTH - _RIGHT}" y="{_HEIGHT - 3}" text-anchor="end">{escaped(bars[-1][0])}</text></svg></figure>'
    )


def share_bar(share: float) -> str:
    """Return a small horizontal bar, filled to that share (0 to 1)."""
    full = round(100 * min(1.0, max(0.0, share)), 1)
    return (
        '<svg viewBox="0 0 100 5" preserveAspectRatio="none" aria-hidden="true">'
        f'<rect class="track" width="100" height="5"/><rect class="bars" width="{full}" height="5"/></svg>'
    )


def _placer(first: float, last: float, top: float) -> Callable[[Point], Point]:
    wide, tall = _WIDTH - _LEFT - _RIGHT, _HEIGHT - _TOP - _BOTTOM

    def place(point: Point) -> Point:
        x = _LEFT + wide * (point[0] - first) / ((last - first) or 1)
        return round(x, 1), round(_TOP + tall * (1 - point[1] / top), 1)

    return place


def _path(plot: Plot, place: Callable[[Point], Point]) -> str:
    parts: list[str] = []
    before = 0.0
    for index, point in enumerate(plot.points):
        x, y = place(point)
        if index and plot.stepped:
            parts.append(f"L {x} {before}")
        parts.append(f"{'L' if index else 'M'} {x} {y}")
        before = y
    return " ".join(parts)
