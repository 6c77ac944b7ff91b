"""The board as rows of cells for a size: two columns where there is room, one view at a time where there is not."""

from __future__ import annotations

from dataclasses import dataclass, replace

from rich.style import Style

from ..lines import Run
from ..lines.draw import width_of
from .look import Look
from .rows.bottom import bottom
from .rows.cells import Row, apart, beside, blank, left
from .rows.detail import finding_detail, item_detail, lens_detail
from .rows.findings import tally
from .rows.flights import failures, flights
from .rows.lenses import lens_heading, lens_row
from .rows.top import top
from .view import BoardView, Listing

WIDE = 106
_LEFT = 54
_GAP = 2
_TALL = 26


@dataclass(frozen=True, slots=True)
class Laid:
    """The rows, and where the list stands among them."""

    rows: list[Row]
    list_y: int = 0
    list_x: int = 0
    list_height: int = 0
    picked: str | None = None
    """Key of the picked entry."""

    def list_row(self, x: int, y: int) -> int:
        """Return the row of the list at a place of the board, or -1."""
        row = y - self.list_y
        return row if 0 <= row < self.list_height and x >= self.list_x else -1


def lay_out(look: Look, view: BoardView, listing: Listing, width: int, height: int) -> Laid:
    """Exactly `height` rows of at most `width` cells, a margin of one on the left."""
    inner = width - 2
    is_wide = width >= WIDE
    head = top(look, inner, is_wide=is_wide, tall=height >= _TALL)
    foot = bottom(look, inner, max(1, min(6, height // 4)))
    room = height - len(head) - len(foot) - 1 - bool(foot)
    if room < 3:  # nothing but the list
        head, foot, room = [], [], height - 1
    body = _body(look, view, listing, inner, room, is_wide=is_wide)
    above = [*head, []]
    filler = [list[Run]()] * (room - len(body.rows))
    rows: list[Row] = [[blank(1), *row] for row in above] + body.rows + filler
    if foot:
        rows += [[], *([blank(1), *row] for row in foot)]
    return replace(body, rows=rows[:height], list_y=body.list_y + len(above))


def _body(look: Look, view: BoardView, listing: Listing, width: int, height: int, *, is_wide: bool) -> Laid:
    alone = view.tab in ("lenses", "work")
    if not is_wide or alone:
        wide = is_wide and alone and not view.is_open
        return _column(look, view, listing, width, height, x=0, names_all=True, wide=wide)
    first = max(_LEFT, min(64, width * 2 // 5))
    main = _column(look, view, listing, width - first - _GAP, height, x=first + _GAP, names_all=False, wide=False)
    side = [[blank(1), *row] for row in _side(look, first, height)]
    return replace(main, rows=beside(side[:height], main.rows, first + 1, _GAP - 1))


def _side(look: Look, width: int, height: int) -> list[Row]:
    """Who searches and who works now."""
    rows: list[Row] = []
    if look.by_lenses:
        found = list(look.facts.lenses.values())
        fit = max(1, min(len(found), height - 6))
        rows = [lens_heading(look, width), *(lens_row(look, lens, width) for lens in found[:fit])]
        if fit < len(found):
            rows.append([(f"and {len(found) - fit} more", look.palette.faint)])
        rows.append([])
        return rows + ([] if look.is_over else flights(look, width, height - len(rows)))
    failed = failures(look, width, min(8, height // 2))
    if not look.is_over:
        rows = flights(look, width, height - len(failed) - 1)
        rows.append([])
    return rows + failed


def _column(
    look: Look, view: BoardView, listing: Listing, width: int, height: int, *, x: int, names_all: bool, wide: bool
) -> Laid:
    """The tabs, then the list or what is picked of it; its first cell is the margin."""
    heading: Row = [blank(1), *_heading(look, view, width, names_all=names_all)]
    if view.tab == "work":
        rows = _side(look, width, height - 2) or [[("no workers are running", look.palette.dim)]]
        return Laid([heading, [], *([blank(1), *row] for row in rows)][:height], picked=None)
    below: list[Row] = []
    above = [heading]
    if view.tab == "lenses" and not view.is_open:
        above += [[], [blank(1), *lens_heading(look, width)]]
        fit = max(1, min(listing.count, height - 3 - (5 if not look.is_over else 0)))
        rest = height - len(above) - fit - 1
        below = [[], *([blank(1), *row] for row in ([] if look.is_over else flights(look, width, rest)))]
        room = fit
    else:
        room = height - 1
    at = view.settle(listing, room)
    picked = listing.key(at) if at is not None else None
    if view.is_open and at is not None:
        return Laid([heading, [], *_detail(look, view, picked, at, listing, width, height - 2)], picked=picked)
    rows = _rows(look, view, listing, at, width, room)
    return Laid([*above, *rows, *below][:height], list_y=len(above), list_x=x, list_height=room, picked=picked)


def _heading(look: Look, view: BoardView, width: int, *, names_all: bool) -> Row:
    """The views' names, the present one bright; on the right what it adds up to."""
    palette = look.palette
    tabs = [tab for tab in look.tabs if names_all or tab not in ("lenses", "work")]
    end = _sum(look, view)
    for fits_numbers, gap in ((True, 3), (True, 2), (False, 2)):
        row: Row = []
        numbered = fits_numbers and look.numbered
        for number, tab in enumerate(look.tabs, 1):
            if tab not in tabs:
                continue
            is_now = tab == view.tab
            style = palette.bright if is_now else palette.dim
            row += [blank(gap)] if row else []
            row += [(f"{number} ", palette.code if look.is_focused else palette.faint)] if numbered else []
            row.append((tab, style + Style(underline=True) if is_now else style))
        if width_of(row) + width_of(end) + 2 <= width:
            break
    return apart(row, end, width)


def _sum(look: Look, view: BoardView) -> Row:
    palette = look.palette
    if view.is_open:
        return [("esc back", palette.dim)]
    if view.tab == "findings":
        return tally(look) if view.only == "all" else [(f"{view.only} only", palette.needs_you), ("  ", palette.dim)]
    return []


def _rows(look: Look, view: BoardView, listing: Listing, at: int | None, width: int, height: int) -> list[Row]:
    palette = look.palette
    if not listing.count:
        return [[blank(1)], [blank(1), (listing.empty, palette.dim)]]
    first = view.spot.top
    thumb = _thumb(first, listing.count, height)
    rows: list[Row] = []
    for y, index in enumerate(range(first, min(listing.count, first + height))):
        row = left(listing.draw(index, width - 1), width - 1)
        mark = (" ", Style.null())
        if index == at and look.is_focused:
            mark = ("▌", palette.cursor)
            row = [(text, style + palette.selection) for text, style in row]
        rows.append([mark, *row, (" ▐" if y in thumb else "  ", palette.thumb)])
    return rows


def _thumb(first: int, count: int, height: int) -> range:
    """Rows of the scroll bar's thumb; none where all is in sight."""
    if count <= height:
        return range(0)
    length = max(1, height * height // count)
    start = round((height - length) * first / (count - height))
    return range(start, start + length)


def _detail(
    look: Look, view: BoardView, key: str | None, at: int, listing: Listing, width: int, height: int
) -> list[Row]:
    facts = look.facts
    if view.tab == "findings" and key in facts.findings:
        rows = finding_detail(look, facts.findings[key], width - 2)
    elif view.tab == "lenses" and key in facts.lenses:
        rows = lens_detail(look, facts.lenses[key], width - 2)
    else:
        rows = item_detail(look, listing.tell(at), width - 2)
    view.scroll = max(0, min(view.scroll, len(rows) - height))
    thumb = _thumb(view.scroll, len(rows), height)
    shown = rows[view.scroll : view.scroll + height]
    return [
        [blank(1), *left(row, width - 1), (" ▐" if y in thumb else "  ", look.palette.thumb)]
        for y, row in enumerate(shown)
    ]
