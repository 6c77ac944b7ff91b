"""The table of lenses: what each did, its results, and what it does now."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from rundry.agent import noun_for

from .row_cells import Row, blank, foreign, grouped, left, right, since

if TYPE_CHECKING:
    from rundry.agent import LensFacts

    from .board_data import BoardData

_LAST = 16
"""Width that the words about a lens's last pass keep next to what it read."""
_NUMBERS = (("passes", 7), ("new", 5), ("✓", 4), ("✗", 4))


_PLACE = re.compile(r"https?://\S+: ")
"""The address in an error of a model. The narrow column shows only the error, and the detail also the address."""


def lens_heading(data: BoardData, width: int) -> Row:
    """Return the names of the columns."""
    palette = data.palette
    row = left([("lens", palette.bright)], _name_width(data, width))
    for name, size in _NUMBERS:
        row += right([(name, palette.dim)], size)
    return [*row, blank(3), ("last", palette.dim)]


def lens_row(data: BoardData, lens: LensFacts, width: int) -> Row:
    """Return `taint  14  61  9  18  nothing new`."""
    palette = data.palette
    name = _name_width(data, width)
    row = left(foreign(lens.name, palette.code, palette), name)
    has_run = lens.passes or lens.new
    for count, (_, size) in zip((lens.passes, lens.new, lens.confirmed, lens.refuted), _NUMBERS, strict=True):
        is_passes = size == _NUMBERS[0][1]
        number = str(count) if has_run or is_passes else "–"
        row += right([(number, palette.code if count else palette.faint)], size)
    rest = width - name - sum(size for _, size in _NUMBERS) - 3
    read = _read(data, lens)
    if read and rest > _LAST + len(read) + 2:
        rest -= len(read) + 2
        return [*row, blank(3), *left(last(data, lens), rest), blank(2), (read, palette.dim)]
    return [*row, blank(3), *left(last(data, lens), rest)]


def _read(data: BoardData, lens: LensFacts) -> str:
    """Return `read 12 files, 1 204 lines`; the detail also shows the totals."""
    covered = data.facts.read_by(lens.name)
    if not covered.files:
        return ""
    lines = f"{grouped(covered.lines)} {noun_for(covered.lines, 'line')}"
    return f"read {grouped(covered.files)} {noun_for(covered.files, 'file')}, {lines}"


def last(data: BoardData, lens: LensFacts) -> Row:
    """Return what the lens does now, or the result of its last pass."""
    palette = data.palette
    if data.rests("lens", lens.name):
        return [("paused", palette.dim)]
    if lens.since is not None and not data.is_over:
        return [("running", palette.bright), (since(data.now - lens.since).rjust(6), palette.dim)]
    if lens.failed is not None:
        return [("failed ! ", palette.verdict_bad), *foreign(_PLACE.sub("", lens.failed), palette.dim, palette)]
    if lens.failures and not data.is_over:
        wait = lens.due - data.now
        again = f"retry in {since(wait + 0.999)} ! " if wait > 0 else "retry now ! "
        return [(again, palette.verdict_partly), *foreign(lens.last, palette.dim, palette)]
    if not lens.passes:
        if data.facts.pass_number <= 1 and not data.is_over:
            return [("waits its turn", palette.dim)]
        return [("never ran !", palette.verdict_partly)]
    if lens.found_new and lens.last == "nothing new":
        return [("no new key,", palette.dim), (" says new", palette.verdict_partly)]
    return foreign(lens.last, palette.dim if lens.last == "nothing new" else palette.code, palette)


def _name_width(data: BoardData, width: int) -> int:
    longest = max((len(name) for name in data.facts.lenses), default=4)
    return max(8, min(longest + 1, 24, width - sum(size for _, size in _NUMBERS) - 17))
