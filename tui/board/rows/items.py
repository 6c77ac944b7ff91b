"""Items in a row each: what waits, what was set aside and why, what came again, what was found last."""

from __future__ import annotations

from rundry.agent import ItemDuplicate, ItemFailed, ItemQueued, ItemRow

from ...lines.draw import width_of
from ...text import one_line
from ..look import Look
from .cells import Row, blank, foreign, left, path, since


def queued_row(look: Look, item: ItemRow | None, width: int) -> Row:
    """What is to be worked, and where it came from or when it is tried again."""
    palette = look.palette
    if item is None:
        return [("no longer in the queue", palette.faint)]
    if item.due is not None:
        wait = item.due - look.now
        when = f"again in {since(wait + 0.999)}" if wait > 0 and not look.is_over else "again"
        note: Row = [
            *foreign(item.error, palette.dim, palette),
            (f"  {when}, try {item.attempts + 1}", palette.verdict_partly),
        ]
        return _with_note(look, item.value, note, width)
    return _with_note(look, item.value, _source(look, item.source, width // 3), width)


def set_aside_row(look: Look, item: ItemRow | ItemFailed | None, width: int) -> Row:
    """What failed for good, and why."""
    palette = look.palette
    if item is None:
        return [("no longer failed", palette.faint)]
    value = item.value if isinstance(item, ItemRow) else item.key
    note: Row = [*foreign(item.error, palette.code, palette), (f"  {item.attempts}×", palette.dim)]
    return _with_note(look, value, note, width, most=width // 2)


def duplicate_row(look: Look, event: ItemDuplicate | None, width: int) -> Row:
    """What surfaced again, and from where."""
    if event is None:
        return []
    return _with_note(look, event.value or event.key, _source(look, event.source, width // 2 - 2), width)


def latest_row(look: Look, event: ItemQueued, width: int) -> Row:
    """What was found, and where."""
    return _with_note(look, event.value, _source(look, event.source, width // 3), width)


def _source(look: Look, source: str, width: int) -> Row:
    palette = look.palette
    short = source
    if look.is_crawl and "://" in source:  # the host is the same all over
        short = "/" + source.split("://", 1)[1].partition("/")[2]
    word = {"seed": "seed", "person": "by you"}.get(source)
    if word is not None:
        return [(word, palette.dim)]
    return [("from ", palette.faint), *path(short, palette.dim, palette, max(8, width - 5))]


def _with_note(look: Look, value: str, note: Row, width: int, *, most: int = 0) -> Row:
    palette = look.palette
    tail = min(width_of(note), most or (width * 2) // 3)
    room = width - tail - 2
    whole = len(one_line(value))
    if whole < room:
        tail = min(width_of(note), width - whole - 2)
        room = width - tail - 2
    return [*left(path(value, palette.code, palette, room), room), blank(2), *left(note, tail)]
