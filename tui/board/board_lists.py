"""The rows of each view of the board."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeVar

from rundry.agent import ItemDuplicate, ItemFailed, ItemQueued, ItemRow, plural

from ..text.show_text import one_line
from .board_data import arranged
from .board_view import Listing
from .finding_rows import finding_row
from .item_rows import duplicate_row, latest_row, queued_row, set_aside_row
from .lens_rows import lens_row
from .list_pages import PAGE

if TYPE_CHECKING:
    from rundry.agent import Finding, LensFacts, Stamped

    from .board_data import BoardData
    from .board_view import BoardView
    from .list_pages import ItemLists, Pages
    from .row_cells import Row

_E = TypeVar("_E", ItemFailed, ItemDuplicate)
_JUDGING = "judging"
_DUPLICATES_LOOKED = 1_000
"""Number of duplicates among which a filter looks: each is read by itself."""


def listing_of(data: BoardData, view: BoardView, item_lists: ItemLists | None) -> Listing:
    """Return the rows of the present view."""
    match view.tab:
        case "findings":
            return _findings(data)
        case "lenses":
            return _lenses(data)
        case "latest":
            return _latest(data)
        case "queue":
            return _queue(data, item_lists)
        case "failed":
            return _set_aside(data, item_lists)
        case "duplicates":
            return _duplicates(data, item_lists)
        case "work" | "":
            return Listing(0, _no_row, _no_key, _nowhere)


def _findings(data: BoardData) -> Listing:
    found = arranged(data)
    places = {finding.key: at for at, finding in enumerate(found)}
    if data.is_over:
        empty = "no findings"
    elif data.by_lenses:
        running = sum(lens.since is not None for lens in data.facts.lenses.values())
        count = running or len(data.facts.lenses)
        empty = f"nothing found yet: {plural(count, 'lens')} {'look' if count > 1 else 'looks'}"
    else:
        empty = "nothing found yet"
    return Listing(
        len(found),
        lambda index, width: finding_row(data, found[index], width),
        lambda index: found[index].key,
        places.get,
        grows=not data.is_over,
        empty=empty,
        group=lambda index: found[index].verdict or _JUDGING,
        groups=("confirmed", _JUDGING, "refuted"),
        words=lambda index: _said(found[index]),
    )


def _lenses(data: BoardData) -> Listing:
    found = list(data.facts.lenses.values())
    names = [lens.name for lens in found]
    return Listing(
        len(found),
        lambda index, width: lens_row(data, found[index], width),
        lambda index: names[index],
        lambda key: names.index(key) if key in names else None,
        empty="no lens",
        group=lambda index: _state_of(found[index]),
        words=lambda index: f"{names[index]} {found[index].prompt} {_state_of(found[index])} {found[index].last}",
    )


def _latest(data: BoardData) -> Listing:
    found = list(data.state.progress.latest)
    places = {event.key: at for at, event in enumerate(found)}
    return Listing(
        len(found),
        lambda index, width: latest_row(data, found[index], width),
        lambda index: found[index].key,
        places.get,
        grows=True,
        empty="no items" if data.is_over else "no items yet: searching for the first ones",
        group=lambda index: _from(found[index].source),
        describe=lambda index: _described(found[index]),
    )


def _queue(data: BoardData, item_lists: ItemLists | None) -> Listing:
    if item_lists is None:
        return Listing(0, _no_row, _no_key, _nowhere, empty="the queue cannot be read")
    ready, waiting, _ = item_lists.counts()
    ahead = item_lists.ahead
    first = waiting + len(ahead)

    def at(index: int) -> ItemRow | None:
        if index < waiting:
            return item_lists.waiting[index]
        return ahead[index - waiting] if index < first else item_lists.queue[index - first]

    def key(index: int) -> str | None:
        item = at(index)
        return item.key if item is not None else None

    def find(key: str) -> int | None:
        for items, start, count in (
            (item_lists.waiting, 0, waiting),
            (ahead, waiting, len(ahead)),
            (item_lists.queue, first, ready),
        ):
            found = _near(key, items, start, min(count, PAGE))
            if found is not None:
                return found
        return None

    return Listing(
        first + ready,
        lambda index, width: queued_row(data, at(index), width),
        key,
        find,
        empty="the queue is empty",
        group=lambda index: _waits_as(at(index)),
        describe=lambda index: _described(at(index)),
    )


def _set_aside(data: BoardData, item_lists: ItemLists | None) -> Listing:
    empty = "nothing has failed"
    if item_lists is None:
        failed = [event for event in data.facts.recent if isinstance(event, ItemFailed) and event.final]
        return _of(failed, lambda item, width: set_aside_row(data, item, width), empty, _error_of)
    pages = item_lists.set_aside
    return Listing(
        item_lists.counts()[2],
        lambda index, width: set_aside_row(data, pages[index], width),
        lambda index: item.key if (item := pages[index]) is not None else None,
        _nowhere,
        empty=empty,
        describe=lambda index: _described(pages[index]),
        group=lambda index: _error_of(pages[index]),
    )


def _duplicates(data: BoardData, item_lists: ItemLists | None) -> Listing:
    empty = "no duplicates"
    if item_lists is None:
        again = [event for event in reversed(data.facts.recent) if isinstance(event, ItemDuplicate)]
        return _of(again, lambda event, width: duplicate_row(data, event, width), empty, _found_by)

    def at(index: int) -> ItemDuplicate | None:
        stamped: Stamped | None = item_lists.duplicates[index]
        return stamped.event if stamped is not None and isinstance(stamped.event, ItemDuplicate) else None

    return Listing(
        data.facts.duplicates,
        lambda index, width: duplicate_row(data, at(index), width),
        lambda index: event.key if (event := at(index)) is not None else None,
        _nowhere,
        empty=empty,
        describe=lambda index: _described(at(index)),
        group=lambda index: _found_by(at(index)),
        looked=_DUPLICATES_LOOKED,
    )


def _of(found: Sequence[_E], draw: Callable[[_E, int], Row], empty: str, group: Callable[[_E], str]) -> Listing:
    """Return a listing of entries that are known without a journal."""
    return Listing(
        len(found),
        lambda index, width: draw(found[index], width),
        lambda index: found[index].key,
        _nowhere,
        empty=empty,
        describe=lambda index: _described(found[index]),
        group=lambda index: group(found[index]),
    )


def _said(finding: Finding) -> str:
    """Return the text of a finding, in which a filter searches."""
    verdict = finding.verdict or _JUDGING
    return " ".join([finding.title, finding.evidence, finding.source, verdict, finding.detail, *finding.reasons])


def _state_of(lens: LensFacts) -> str:
    """Return the state of a lens in a word."""
    if lens.failed is not None:
        return "failed"
    if lens.since is not None:
        return "running"
    return "resting" if lens.passes else "never ran"


def _waits_as(item: ItemRow | None) -> str:
    """Return how an item came into the queue."""
    if item is None:
        return ""
    return "retry" if item.attempts else _from(item.source)


def _from(source: str) -> str:
    return {"seed": "seeds", "person": "by you"}.get(source) or f"from {source}"


def _error_of(item: ItemRow | ItemFailed | None) -> str:
    return "" if item is None else one_line(item.error) or "no reason"


def _found_by(event: ItemDuplicate | None) -> str:
    return "" if event is None else _from(event.source)


def _near(key: str, pages: Pages[ItemRow] | list[ItemRow], first: int, count: int) -> int | None:
    """Return the index of an entry if it is among the first ones."""
    for index in range(count):
        item = pages[index]
        if item is not None and item.key == key:
            return first + index
    return None


def _described(entry: ItemRow | ItemFailed | ItemDuplicate | ItemQueued | None) -> list[tuple[str, str]]:
    match entry:
        case None:
            return [("", "it no longer exists")]
        case ItemRow():
            pairs = [("item", entry.value), ("key", entry.key), ("kind", entry.kind), ("from", entry.source)]
            failed = plural(entry.attempts, "time") if entry.attempts else ""
            return [*pairs, ("failed", failed), ("error", entry.error)]
        case ItemFailed():
            return [("key", entry.key), ("failed", plural(entry.attempts, "time")), ("error", entry.error)]
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
