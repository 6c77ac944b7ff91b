"""A row for each item: those that wait, failed permanently, surfaced again, or were found last."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rundry.agent import ItemDuplicate, ItemFailed, ItemQueued, ItemRow

from ..lines.draw_runs import width_of
from ..text.show_text import one_line
from .row_cells import Row, blank, foreign, left, path, since

if TYPE_CHECKING:
    from .board_data import BoardData


def queued_row(data: BoardData, item: ItemRow | None, width: int) -> Row:
    """Return the row of a queued item, with its source, or the time of its next try."""
    palette = data.palette
    if item is None:
        return [("no longer in the queue", palette.faint)]
    if item.due is not None:
        wait = item.due - data.now
        when = f"retry in {since(wait + 0.999)}" if wait > 0 and not data.is_over else "retry"
        note: Row = [
            *foreign(item.error, palette.dim, palette),
            (f"  {when}, try {item.attempts + 1}", palette.verdict_partly),
        ]
        return _with_note(data, item.value, note, width)
    return _with_note(data, item.value, _source(data, item.source, width // 3), width)


def set_aside_row(data: BoardData, item: ItemRow | ItemFailed | None, width: int) -> Row:
    """Return the row of an item that failed permanently, with the reason."""
    palette = data.palette
    if item is None:
        return [("no longer failed", palette.faint)]
    value = item.value if isinstance(item, ItemRow) else item.key
    note: Row = [*foreign(item.error, palette.code, palette), (f"  {item.attempts}×", palette.dim)]
    return _with_note(data, value, note, width, limit=width // 2)


def duplicate_row(data: BoardData, event: ItemDuplicate | None, width: int) -> Row:
    """Return the row of an item that surfaced again, with its source."""
    if event is None:
        return []
    return _with_note(data, event.value or event.key, _source(data, event.source, width // 2 - 2), width)


def latest_row(data: BoardData, event: ItemQueued, width: int) -> Row:
    """Return the row of a new item, with its source."""
    return _with_note(data, event.value, _source(data, event.source, width // 3), width)


def _source(data: BoardData, source: str, width: int) -> Row:
    palette = data.palette
    short = without_host(data, source)
    word = {"seed": "seed", "person": "by you"}.get(source)
    if word is not None:
        return [(word, palette.dim)]
    return [("from ", palette.faint), *path(short, palette.dim, palette, max(8, width - 5))]


def without_host(data: BoardData, url: str) -> str:
    """Return the path of a URL on the one host of a crawl; any other text unchanged."""
    host = data.host
    return url[len(host) :] or "/" if host and url.startswith(f"{host}/") else url


def _with_note(data: BoardData, value: str, note: Row, width: int, *, limit: int = 0) -> Row:
    palette, value = data.palette, without_host(data, value)
    tail = min(width_of(note), limit or (width * 2) // 3)
    room = width - tail - 2
    whole = len(one_line(value))
    if whole < room:
        tail = min(width_of(note), width - whole - 2)
        room = width - tail - 2
    return [*left(path(value, palette.code, palette, room), room), blank(2), *left(note, tail)]
