"""Lay out the board for a size: two columns if there is room, otherwise one view at a time."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import product
from typing import TYPE_CHECKING

from rich.style import Style

from ..keys.clicks import action_style
from ..lines.draw_runs import Run, width_of
from ..text.shorten_cells import cells_cut
from .board_frame import bottom, failures, flights, top, workers
from .finding_rows import tally
from .lens_rows import lens_heading, lens_row
from .row_cells import Row, apart, beside, blank, foreign, left
from .row_detail import finding_detail, item_detail, lens_detail
from .selected_finding import context, hint

if TYPE_CHECKING:
    from .board_data import BoardData
    from .board_view import BoardView, Listing
    from .narrowing import Narrowed

WIDE = 106
_LEFT = 54
_GAP = 2
_ROOM_FOR_CONTEXT = 13
"""Height of the list from which the selected finding gets up to half of it."""
_ROOM_FOR_BRIEF = 6
"""Height of the list from which the selected finding is shown below it."""
_ROOM_FOR_HINT = 4
"""Height of the list from which one row below it says how to see the evidence."""
_ROOM_FOR_FLIGHTS = 26
"""Height from which works in progress are also shown, below the selected finding."""
_ROOM_FOR_BLANK = 7
"""Height of the selected finding from which a blank row is above it."""
_LEAST_LIST = 4
_MOST_CONTEXT = 26
_WIDEST_FLIGHTS = 120
_GROUP, _BRIEF_GROUP = 40, 14
"""Maximum number of cells of the name of a filter."""


@dataclass(frozen=True, slots=True)
class Laid:
    """The rows, and the position of the list in them."""

    rows: list[Row]
    list_y: int = 0
    list_x: int = 0
    list_height: int = 0
    picked: str | None = None
    """Key of the selected entry."""

    def list_row(self, x: int, y: int) -> int:
        """Return the row of the list at a place of the board, or -1."""
        row = y - self.list_y
        return row if 0 <= row < self.list_height and x >= self.list_x else -1


def lay_out(
    data: BoardData, view: BoardView, listing: Listing, width: int, height: int, narrowed: Narrowed | None = None
) -> Laid:
    """Return exactly `height` rows of at most `width` cells, with a left margin of one cell.

    `narrowed`: what the filter found, or None if all rows are listed.
    """
    inner = width - 2
    is_wide = width >= WIDE
    head = top(data, inner, height, is_wide=is_wide)
    foot = bottom(data, inner, max(1, min(6, height // 4)))
    room = height - len(head) - len(foot) - 1 - bool(foot)
    if room < 3:  # only the list
        head, foot, room = [], [], height - 1
    body = _body(data, view, listing, narrowed, inner, room, is_wide=is_wide)
    above = [*head, []]
    filler = [list[Run]()] * (room - len(body.rows))
    rows: list[Row] = [[blank(1), *row] for row in above] + body.rows + filler
    if foot:
        rows += [[], *([blank(1), *row] for row in foot)]
    return replace(body, rows=rows[:height], list_y=body.list_y + len(above))


def _body(
    data: BoardData,
    view: BoardView,
    listing: Listing,
    narrowed: Narrowed | None,
    width: int,
    height: int,
    *,
    is_wide: bool,
) -> Laid:
    if not is_wide or data.by_lenses or view.tab in ("work", "findings"):
        return _column(data, view, listing, narrowed, width, height, x=0)
    first = max(_LEFT, min(64, width * 2 // 5))
    main = _column(data, view, listing, narrowed, width - first - _GAP, height, x=first + _GAP)
    side = [[blank(1), *row] for row in _side(data, first, height)]
    return replace(main, rows=beside(side[:height], main.rows, first + 1, _GAP - 1))


def _side(data: BoardData, width: int, height: int) -> list[Row]:
    """Return the works in progress, and how items failed."""
    failed = failures(data, width, min(8, height // 2))
    if data.is_over:
        return failed
    room = height - len(failed) - 1
    rows = workers(data, width, room * 2 // 3)
    if rows:
        rows.append([])
    rows += flights(data, width, room - len(rows))
    rows.append([])
    return rows + failed


def _column(
    data: BoardData, view: BoardView, listing: Listing, narrowed: Narrowed | None, width: int, height: int, *, x: int
) -> Laid:
    """Lay out the tabs, then the list with what belongs to it, or the selected row in full. The first cell is empty."""
    heading: Row = [blank(1), *_heading(data, view, narrowed, width)]
    if view.tab == "work":
        rows = _side(data, width, height - 2) or [[("no workers are running", data.palette.dim)]]
        return Laid([heading, [], *([blank(1), *row] for row in rows)][:height], picked=None)
    if view.is_open and listing.count:
        at = view.settle(listing, height - 1)
        picked = listing.key(at) if at is not None else None
        shown = _detail(data, view, picked, at or 0, listing, width, height - 2)
        return Laid([heading, [], *shown], picked=picked)
    above, below_room = [heading], 0
    if view.tab == "lenses":
        above += [[], [blank(1), *lens_heading(data, width)]]
        below_room = max(0, height - len(above) - max(1, listing.count))
    elif view.tab == "findings":
        below_room = _context_room(listing.count, height - 1)
    room = height - len(above) - below_room
    at = view.settle(listing, room)
    picked = listing.key(at) if at is not None else None
    rows = _rows(data, view, listing, at, width, room)
    below = [[blank(1), *row] for row in _below(data, view, picked, width - 2, below_room)]
    filler = [list[Run]()] * max(0, room - len(rows) if below else 0)
    return Laid(
        [*above, *rows, *filler, *below][:height],
        list_y=len(above),
        list_x=x,
        list_height=room,
        picked=picked,
    )


def _context_room(count: int, height: int) -> int:
    """Return how many rows the selected finding gets below the list; the list gets at least half of what it needs."""
    if height < _ROOM_FOR_BRIEF:
        return int(height >= _ROOM_FOR_HINT)
    if height < _ROOM_FOR_CONTEXT:
        return height - max(_LEAST_LIST, min(count, height * 2 // 3))
    return min(height - max(_LEAST_LIST, min(count, height // 2)), _MOST_CONTEXT)


def _below(data: BoardData, view: BoardView, picked: str | None, width: int, height: int) -> list[Row]:
    """Return what belongs to the list: the works in progress, and the selected finding with its evidence."""
    if view.tab == "lenses":
        return [] if data.is_over or height < 3 else [[], *flights(data, min(width, _WIDEST_FLIGHTS), height - 1)]
    finding = data.facts.findings.get(picked or "")
    if finding is None:
        return _searching(data, width, height) if data.by_lenses and not view.is_narrowed and height >= 3 else []
    if height <= 1:
        return [hint(data, finding, width)] * height
    if height < _ROOM_FOR_BLANK:
        return context(data, finding, width, height)
    works: list[Row] = []
    if not data.is_over and height >= _ROOM_FOR_FLIGHTS // 2 and data.facts.flights:
        works = [[], *flights(data, min(width, _WIDEST_FLIGHTS), min(4, height // 4))]
    rows = context(data, finding, width, height - 1 - len(works))
    return [[], *rows, *works]


def _searching(data: BoardData, width: int, height: int) -> list[Row]:
    """Return the lenses and what they do now, for a search that has not found anything."""
    lenses = list(data.facts.lenses.values())
    fit = max(0, min(len(lenses), height - 2))
    rows = [[], lens_heading(data, width), *(lens_row(data, lens, width) for lens in lenses[:fit])]
    room = height - len(rows) - 1
    return [*rows, [], *flights(data, min(width, _WIDEST_FLIGHTS), room)] if data.facts.flights and room > 1 else rows


def _heading(data: BoardData, view: BoardView, narrowed: Narrowed | None, width: int) -> Row:
    """Return the names of the views, with the present one bright, and on the right a sum of its content.

    The sum is the longest form that leaves room for all names.
    """
    ends = _sums(data, view, narrowed)
    for end, has_numbers, gap in product(ends, (True, False), (3, 2)):
        row = _names(data, view, gap, has_numbers=has_numbers and data.numbered)
        if width_of(row) + (width_of(end) + 2 if end else 0) <= width:
            return apart(row, end, width)
    return apart(_names(data, view, 2, has_numbers=False), ends[-1], width)


def _names(data: BoardData, view: BoardView, gap: int, *, has_numbers: bool) -> Row:
    palette, row = data.palette, list[Run]()
    for number, tab in enumerate(data.tabs, 1):
        style = palette.bright if tab == view.tab else palette.dim
        row += [blank(gap)] if row else []
        click, key = action_style(f"tab {number}"), palette.code if data.is_focused else palette.faint
        digit = data.keymap.shown(f"view_{number}") if has_numbers else ""
        row += [(f"{digit} ", key + click)] if digit else []
        row.append((tab, style + click + Style(underline=True) if tab == view.tab else style + click))
    return row


def _sums(data: BoardData, view: BoardView, narrowed: Narrowed | None) -> list[Row]:
    """Return the sum of what the view shows, the longest form first."""
    palette = data.palette
    if view.is_open:
        return [[(data.keymap.named("{back} back"), palette.dim + action_style("back"))]]
    if narrowed is None:
        return [tally(data, has_words=words) for words in (True, False)] if view.tab == "findings" else [[]]
    counts: Row = [(narrowed.words, palette.needs_you)]
    wanted = " ".join([f"only {narrowed.only}"] * bool(narrowed.only) + [f"/{narrowed.text}"] * bool(narrowed.text))
    name, brief = (foreign(cells_cut(wanted, most), palette.needs_you, palette) for most in (_GROUP, _BRIEF_GROUP))
    way: Row = [(data.keymap.named("   {back} all"), palette.dim + action_style("back"))] if data.acts else []
    return [[*name, blank(2), *counts, *way], [*name, blank(2), *counts], [*brief, blank(2), *counts], counts]


def _rows(data: BoardData, view: BoardView, listing: Listing, at: int | None, width: int, height: int) -> list[Row]:
    palette = data.palette
    if not listing.count:
        return [[blank(1)], [blank(1), (listing.empty, palette.dim)]]
    first = view.spot.top
    thumb = _thumb(first, listing.count, height)
    rows: list[Row] = []
    for y, index in enumerate(range(first, min(listing.count, first + height))):
        row = left(listing.draw(index, width - 1), width - 1)
        mark = (" ", Style.null())
        if index == at and data.is_focused:
            mark = ("▌", palette.cursor)
            row = [(text, style + palette.selection) for text, style in row]
        rows.append([mark, *row, (" ▐" if y in thumb else "  ", palette.thumb)])
    return rows


def _thumb(first: int, count: int, height: int) -> range:
    """Return the rows of the scroll bar's thumb; none if all rows are visible."""
    if count <= height:
        return range(0)
    length = max(1, height * height // count)
    start = round((height - length) * first / (count - height))
    return range(start, start + length)


def _detail(
    data: BoardData, view: BoardView, key: str | None, at: int, listing: Listing, width: int, height: int
) -> list[Row]:
    facts = data.facts
    if view.tab == "findings" and key in facts.findings:
        rows = finding_detail(data, facts.findings[key], width - 2)
    elif view.tab == "lenses" and key in facts.lenses:
        rows = lens_detail(data, facts.lenses[key], width - 2)
    else:
        rows = item_detail(data, listing.describe(at), width - 2)
    view.scroll = max(0, min(view.scroll, len(rows) - height))
    thumb = _thumb(view.scroll, len(rows), height)
    shown = rows[view.scroll : view.scroll + height]
    return [
        [blank(1), *left(row, width - 1), (" ▐" if y in thumb else "  ", data.palette.thumb)]
        for y, row in enumerate(shown)
    ]
