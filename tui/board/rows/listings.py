"""Each view of the board as rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from rundry.agent import ItemDuplicate, ItemFailed, ItemQueued, ItemRow, Stamped

from ..look import Look, arranged
from ..pages import PAGE, Pages, Stock
from ..view import BoardView, Listing
from .cells import Row
from .findings import finding_row
from .items import duplicate_row, latest_row, queued_row, set_aside_row
from .lenses import lens_row

_E = TypeVar("_E", ItemFailed, ItemDuplicate)


def listing_of(look: Look, view: BoardView, stock: Stock | None) -> Listing:
    """The rows of the present view."""
    match view.tab:
        case "findings":
            return _findings(look, view)
        case "lenses":
            return _lenses(look)
        case "latest":
            return _latest(look)
        case "queue":
            return _queue(look, stock)
        case "failed":
            return _set_aside(look, stock)
        case "duplicates":
            return _duplicates(look, stock)
        case _:
            return Listing(0, _no_row, _no_key, _nowhere)


def _findings(look: Look, view: BoardView) -> Listing:
    found = arranged(look, view.only)
    places = {finding.key: at for at, finding in enumerate(found)}
    if view.only != "all":
        empty = f"no finding is {'being judged' if view.only == 'judging' else view.only}: f shows others"
    elif look.is_over:
        empty = "no findings"
    elif look.by_lenses:
        running = sum(lens.since is not None for lens in look.facts.lenses.values())
        count = running or len(look.facts.lenses)
        noun = "lens" if count == 1 else "lenses"
        empty = f"nothing found yet: {count} {noun} {'look' if count > 1 else 'looks'}"
    else:
        empty = "nothing found yet"
    return Listing(
        len(found),
        lambda index, width: finding_row(look, found[index], width),
        lambda index: found[index].key,
        places.get,
        grows=not look.is_over,
        empty=empty,
    )


def _lenses(look: Look) -> Listing:
    found = list(look.facts.lenses.values())
    names = [lens.name for lens in found]
    return Listing(
        len(found),
        lambda index, width: lens_row(look, found[index], width),
        lambda index: names[index],
        lambda key: names.index(key) if key in names else None,
        empty="no lens",
    )


def _latest(look: Look) -> Listing:
    found = list(look.state.progress.latest)
    places = {event.key: at for at, event in enumerate(found)}
    return Listing(
        len(found),
        lambda index, width: latest_row(look, found[index], width),
        lambda index: found[index].key,
        places.get,
        grows=True,
        empty="no items" if look.is_over else "no items yet: searching for the first ones",
        tell=lambda index: _told(found[index]),
    )


def _queue(look: Look, stock: Stock | None) -> Listing:
    if stock is None:
        return Listing(0, _no_row, _no_key, _nowhere, empty="the queue cannot be read")
    ready, waiting, _ = stock.counts()
    ahead = stock.ahead
    first = waiting + len(ahead)

    def at(index: int) -> ItemRow | None:
        if index < waiting:
            return stock.waiting[index]
        return ahead[index - waiting] if index < first else stock.queue[index - first]

    def key(index: int) -> str | None:
        item = at(index)
        return item.key if item is not None else None

    def find(key: str) -> int | None:
        for items, start, count in (
            (stock.waiting, 0, waiting),
            (ahead, waiting, len(ahead)),
            (stock.queue, first, ready),
        ):
            found = _near(key, items, start, min(count, PAGE))
            if found is not None:
                return found
        return None

    return Listing(
        first + ready,
        lambda index, width: queued_row(look, at(index), width),
        key,
        find,
        empty="the queue is empty",
        tell=lambda index: _told(at(index)),
    )


def _set_aside(look: Look, stock: Stock | None) -> Listing:
    empty = "nothing has failed"
    if stock is None:
        failed = [event for event in look.facts.recent if isinstance(event, ItemFailed) and event.final]
        return _of(failed, lambda item, width: set_aside_row(look, item, width), empty)
    pages = stock.set_aside
    return Listing(
        stock.counts()[2],
        lambda index, width: set_aside_row(look, pages[index], width),
        lambda index: item.key if (item := pages[index]) is not None else None,
        _nowhere,
        empty=empty,
        tell=lambda index: _told(pages[index]),
    )


def _duplicates(look: Look, stock: Stock | None) -> Listing:
    empty = "no duplicates"
    if stock is None:
        again = [event for event in reversed(look.facts.recent) if isinstance(event, ItemDuplicate)]
        return _of(again, lambda event, width: duplicate_row(look, event, width), empty)

    def at(index: int) -> ItemDuplicate | None:
        stamped: Stamped | None = stock.duplicates[index]
        return stamped.event if stamped is not None and isinstance(stamped.event, ItemDuplicate) else None

    return Listing(
        look.facts.duplicates,
        lambda index, width: duplicate_row(look, at(index), width),
        lambda index: event.key if (event := at(index)) is not None else None,
        _nowhere,
        empty=empty,
        tell=lambda index: _told(at(index)),
    )


def _of(found: Sequence[_E], draw: Callable[[_E, int], Row], empty: str) -> Listing:
    """What is known without a journal."""
    return Listing(
        len(found),
        lambda index, width: draw(found[index], width),
        lambda index: found[index].key,
        _nowhere,
        empty=empty,
        tell=lambda index: _told(found[index]),
    )


def _near(key: str, pages: Pages[ItemRow] | list[ItemRow], first: int, count: int) -> int | None:
    """Where an entry is among the first ones."""
    for index in range(count):
        item = pages[index]
        if item is not None and item.key == key:
            return first + index
    return None


def _told(entry: ItemRow | ItemFailed | ItemDuplicate | ItemQueued | None) -> list[tuple[str, str]]:
    match entry:
        case None:
            return [("", "it no longer exists")]
        case ItemRow():
            pairs = [("item", entry.value), ("key", entry.key), ("kind", entry.kind), ("from", entry.source)]
            return [*pairs, ("failed", f"{entry.attempts} times" if entry.attempts else ""), ("error", entry.error)]
        case ItemFailed():
            return [("key", entry.key), ("failed", f"{entry.attempts} times"), ("error", entry.error)]
        case ItemDuplicate():
            return [("spelled", entry.value or entry.key), ("key", entry.key), ("from", entry.source)]
        case ItemQueued():
            return [("item", entry.value), ("key", entry.key), ("kind", entry.kind), ("from", entry.source)]


def _no_row(index: int, width: int) -> Row:
    del index, width
    return []


def _no_key(index: int) -> None:
    del index


def _nowhere(key: str) -> None:
    del key
