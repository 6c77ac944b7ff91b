"""The selected finding below the list: its evidence with the lines around it, and what it says."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from rundry.agent import relation_words

from ..lines.draw_runs import fold, width_of
from ..text.show_text import show
from .cited_lines import Excerpt, excerpt
from .row_cells import Row, apart, blank, foreign, left, right

if TYPE_CHECKING:
    from rundry.agent import Finding

    from .board_data import BoardData

_NUMBER = 6


def context(data: BoardData, finding: Finding, width: int, height: int) -> list[Row]:
    """Return at most `height` rows: a rule, the evidence, the lines around it, and the text of the finding."""
    palette = data.palette
    found = excerpt(finding.evidence, Path(data.state.workspace), finding.place)
    said = _said(data, finding, width)
    rows = [_head(data, finding, found, width)]
    room = height - 1 - min(len(said), max(1, (height - 1) // 3))
    if isinstance(found, Excerpt):
        rows += excerpt_rows(data, found, width, max(1, min(room, 15)))
    elif found:
        rows.append([blank(2), (found, palette.dim)])
    return [*rows, *said[: height - len(rows)]]


def hint(data: BoardData, finding: Finding, width: int) -> Row:
    """Return one row for a board without room for the evidence: how to see it, and where it is."""
    palette = data.palette
    way = data.keymap.named("{detail} shows the evidence") if data.is_focused else "evidence"
    evidence = " ".join(finding.evidence.split()) or "none"
    return left([(f"{way}   ", palette.dim), *foreign(evidence, palette.faint, palette)], width)


def excerpt_rows(data: BoardData, found: Excerpt, width: int, height: int) -> list[Row]:
    """Return the lines with their numbers; the cited one is marked."""
    palette = data.palette
    rows: list[Row] = []
    for number, text in found.around(height):
        here = number == found.line
        sign = ("▸", palette.needs_you) if here else (" ", palette.faint)
        style = palette.bright if here else palette.dim
        line = foreign(text[: width * 2].expandtabs(4), style, palette)
        rows.append([sign, *right([(str(number), palette.faint)], _NUMBER), blank(2), *line])
    return rows


def _head(data: BoardData, finding: Finding, found: Excerpt | str, width: int) -> Row:
    """Return a rule with the place, and with what changed since the finding was reported."""
    palette = data.palette
    outside = relation_words(finding.relation) if finding.relation == "outside" else ""
    note = (found.note if isinstance(found, Excerpt) else "") or outside
    evidence = " ".join(finding.evidence.split())
    name = "linked from " if finding.is_dead_link and evidence else ""
    start: Row = [
        ("── ", palette.rule),
        (name, palette.dim),
        *foreign(evidence or "no evidence", palette.link, palette),
    ]
    end: Row = [(f" {note} ", palette.verdict_partly)] if note else []
    room = width - width_of(end)
    if width_of(start) < room - 1:
        start = [*start, (" " + "─" * (room - width_of(start) - 1), palette.rule)]
    return apart(start, end, width) if end else start


def _said(data: BoardData, finding: Finding, width: int) -> list[Row]:
    """Return what the finding says, then why it was judged so."""
    palette = data.palette
    rows: list[Row] = []
    for line in show(finding.detail or finding.title).strip().split("\n"):
        rows += [[blank(2), *row] for row in fold(foreign(line, palette.code, palette), max(10, width - 2))]
    for reason in finding.reasons:
        if reason and finding.by != "none":
            rows += [[blank(2), *row] for row in fold(foreign(reason, palette.dim, palette), max(10, width - 2))]
    return rows
