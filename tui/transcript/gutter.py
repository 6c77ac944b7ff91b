"""The columns to the left of each entry of the transcript."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.strip import Strip

from ..lines.draw_runs import to_strip
from ..lines.line_parts import Part

if TYPE_CHECKING:
    from rundry.agent import Block

    from ..lines.draw_runs import Run
    from ..theme.theme import Palette

MARGIN = 6
"""Width of the gutter: a cursor, the number of the step, two blanks."""
_SIGNS = {"task": "›", "say": "›", "steer": "»", "question": "?"}


def gutter_of(block: Block, before: Block | None, palette: Palette) -> list[Run] | None:
    """Return the symbol or the number of the step for the first row of a block, or None if it stays blank."""
    if block.kind in _SIGNS:
        style = palette.needs_you if block.kind == "question" else palette.cursor
        return [(f"   {_SIGNS[block.kind]}  ", style)]
    if block.step is None or (before is not None and before.step == block.step and before.kind not in _SIGNS):
        return None
    number = str(block.step)
    return [((number.rjust(4) + "  ") if len(number) < 5 else number + " ", palette.faint)]


def with_gutter(parts: list[Part], gutter: list[Run] | None) -> list[Part]:
    """Return the parts with this gutter in the first row."""
    if gutter is None or not parts:
        return parts
    first = parts[0]

    def draw() -> list[Strip]:
        rows = first.rows
        if not rows:
            return []
        return [Strip.join([to_strip(gutter), rows[0].crop(MARGIN)]), *rows[1:]]

    return [Part(draw, first.guess), *parts[1:]]
