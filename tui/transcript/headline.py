"""The line of an event: verb and object on the left, facts and seconds on the right."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.style import Style

from rundry.agent import try_label

from ..lines.draw_runs import marked, shorten, width_of
from ..text.show_text import one_line

if TYPE_CHECKING:
    from rundry.agent import Block, BlockStatus

    from ..lines.draw_runs import Run
    from ..theme.theme import Palette

_COUNTS = re.compile(r"  (\+\d+) (−\d+)$")
_VERDICTS = {"passed": "✓", "ok": "", "failed": "✗", "cut": "~", "rejected": "✗", "part": "~", "approved": "✓"}
_WORDS = {
    "failed": "failed",
    "cut": "cut off",
    "rejected": "rejected",
    "passed": "passed",
    "part": "partly",
    "next": "next",
    "ran": "ran",
}


def headline(left: Sequence[Run], facts: Sequence[Run], seconds: str, width: int, style: Style) -> list[Run]:
    """Return a row of exactly `width` cells. The left side is shortened first."""
    field = seconds_field(width)
    room = max(12, width // 2 - field, width - width_of(left) - field - 2)
    right = [*shorten(facts, room), (seconds.rjust(field), style)]
    room = width - width_of(right)
    kept = shorten(left, room - 2)
    return [*kept, (" " * (room - width_of(kept)), Style.null()), *right]


def seconds_field(width: int) -> int:
    """Return the width of the field for the seconds, in cells."""
    return 13 if width >= 100 else 8


def title_runs(block: Block, palette: Palette) -> list[Run]:
    """Return `edit src/calc.py  +3 −1`: the verb is dim, its object is not."""
    now = block.status in ("running", "waiting")
    title = one_line(block.title)
    counts = _COUNTS.search(title) if block.kind == "edit" else None
    verb, blank, what = title[: counts.start() if counts else None].partition(" ")
    who = try_label(block.work)
    runs = [(f"{who}  ", palette.dim)] if who else []
    runs += marked(verb + blank, palette.bright if now else palette.dim, palette.mark)
    runs += marked(what, palette.bright if now else Style.null(), palette.mark)
    if counts:
        runs += [("  ", Style.null()), (counts[1], palette.diff_added_sign), (" ", Style.null())]
        runs += [(counts[2], palette.diff_removed_sign)]
    return runs


def fact_runs(block: Block, palette: Palette) -> list[Run]:
    """Return `✗ 3 failing, 14 before`: the symbol of the verdict, always with a word."""
    if block.status == "waiting":
        return [("waiting for you", palette.needs_you)]
    if block.status == "running":
        return [*marked(one_line(block.right), palette.dim, palette.mark), (" running", palette.bright)]
    said = one_line(block.right) or _WORDS.get(block.status, "")
    if block.kind in ("edit", "command", "tool") and block.status == "approved":
        return marked(said, palette.dim, palette.mark)
    sign = _VERDICTS.get(block.status, "")
    style = verdict_style(block.status, palette)
    if not sign or said.startswith(("✓", "✗", "~")):
        return marked(said, style, palette.mark)
    return [(f"{sign} ", style), *marked(said, style, palette.mark)]


def verdict_style(status: BlockStatus, palette: Palette) -> Style:
    """Return the style of a verdict. Only verdicts have these colours."""
    match status:
        case "failed" | "rejected":
            return palette.verdict_bad
        case "passed":
            return palette.verdict_good
        case "cut" | "part":
            return palette.verdict_partly
        case _:
            return palette.dim


def duration(seconds: float | None) -> str:
    """Return `0.2s`, `42s`, `1:12` or `1:02:03`; an empty text for None."""
    if seconds is None:
        return ""
    if seconds < 9.95:
        return f"{seconds:.1f}s"
    if seconds < 59.5:
        return f"{seconds:.0f}s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
