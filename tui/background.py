"""Show each background command on a line above the message box."""

from __future__ import annotations

from collections.abc import Sequence

from textual.content import Content

from rundry.agent import Background, clock

from .text import one_line

MOST = 3
"""Number of lines."""
_NAME = 14
"""Width of a name; a longer one is shortened."""


def background_lines(running: Sequence[Background], now: float, width: int) -> list[Content]:
    """Return name, duration and last output of each command, oldest first. `now`: Unix time; `width`: cells."""
    shown = running if len(running) <= MOST else running[: MOST - 1]
    lines = [_line(job, now, width) for job in shown]
    if len(shown) < len(running):
        rest = running[len(shown) :]
        lines.append(Content(_cut(f"and {len(rest)} more: {', '.join(j.name for j in rest)}", width)))
    return lines


def _line(job: Background, now: float, width: int) -> Content:
    name = _cut(job.name, _NAME)
    since = clock(now - job.since)
    end = f"/stop {job.name}"
    room = width - 2 - _NAME - 2 - 7 - 2 - len(end) - 2
    said = _cut(one_line(job.line or job.command), max(room, 0))
    return Content.assemble(
        ("▸ ", "$accent"),
        (name.ljust(_NAME), "$foreground"),
        f"  {since:>7}  ",
        said.ljust(max(room, 0)),
        "  ",
        (end, "$faint"),
    )


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[: max(0, most - 1)] + "…"
