"""The board of a search as it was at one moment."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING

from rundry.agent import FrontierView, ItemFailed, ItemQueued, ItemRow, ItemState, Journal, ViewState

from ...board.board import Board
from ...board.board_lists import DuplicatePages, ItemLists, ListSource, Pages

if TYPE_CHECKING:
    from .replayed_items import ItemHistory
    from .timeline import Timeline

KEYS = ("detail", "view", "only")
"""The actions of the board that a replay offers: those that only change what is visible."""


class PastItemLists(ItemLists):
    """The items that waited, that had failed permanently and that had surfaced again, after one event."""

    def __init__(self, journal: Journal, history: ItemHistory) -> None:
        super().__init__(journal)
        self._history, self._items = history, FrontierView(journal)
        self._seq = 0
        self._go_to(0)

    def move_to(self, seq: int) -> None:
        """Show the lists as they were after this event; `counts` reads them."""
        self._seq = seq

    def _go_to(self, seq: int) -> None:
        self._at, self.version, history = seq, self.version + 1, self._history
        self._due = list(history.waiting.at(seq))
        self._queued, self._aside = list(history.queued.at(seq)), list(history.set_aside.at(seq))
        self.queue = _PastPages(self, ItemState.QUEUED, self._queued)
        self.waiting = _PastPages(self, ItemState.WAITING, self._due)
        self.set_aside = _PastPages(self, ItemState.SET_ASIDE, self._aside)
        self.duplicates = DuplicatePages(self._journal, seq + 1)

    def renew(self, in_flight: Collection[str]) -> None:
        """Do nothing: a past moment does not change."""

    def counts(self) -> tuple[int, int, int]:
        """Return how many items were queued and due, waited for their time, and had failed permanently."""
        if self._at != self._seq:
            self._go_to(self._seq)
        return len(self._queued), len(self._due), len(self._aside)

    def next_due(self, now: float) -> float | None:
        """Return the Unix time at which the next item was to be tried again."""
        rows = (self.waiting[index] for index in range(len(self._due)))
        return min((row.due for row in rows if row is not None and row.due is not None and row.due > now), default=None)

    def row(self, state: ItemState, number: int, source: int) -> ItemRow | None:
        """Return the item in this state that an event reports, or None if it reports none."""
        if state is ItemState.SET_ASIDE:
            return self._failed(number, source)
        event = self._event(source)
        if not isinstance(event, ItemQueued):
            return None
        before = self._event(source - 1) if event.attempts else None  # the failure is the event before it
        error = before.error if isinstance(before, ItemFailed) and before.key == event.key else ""
        return ItemRow(
            number, event.key, event.kind, event.value, event.source, state, event.attempts, event.due, error
        )

    def _failed(self, number: int, source: int) -> ItemRow | None:
        event = self._event(source)
        if not isinstance(event, ItemFailed):
            return None
        known = self._items.find(event.key)
        if known is None:
            return ItemRow(
                number, event.key, "value", event.key, "", ItemState.SET_ASIDE, event.attempts, None, event.error
            )
        return ItemRow(
            number,
            event.key,
            known.kind,
            known.value,
            known.source,
            ItemState.SET_ASIDE,
            event.attempts,
            None,
            event.error,
        )

    def _event(self, seq: int) -> object:
        found = self._journal.read(seq - 1, 1)
        return found[0].event if found else None


class _PastPages(Pages[ItemRow]):
    """Items in one state by the events that report them. The number of a row is its position, counted from 1."""

    def __init__(self, lists: PastItemLists, state: ItemState, sources: Sequence[int]) -> None:
        super().__init__(0)
        self._lists, self._state, self._sources = lists, state, sources

    def read(self, after: int, limit: int) -> Sequence[ItemRow]:
        """Return the items after this position."""
        sources = self._sources[after : after + limit]
        found = (self._lists.row(self._state, number, source) for number, source in enumerate(sources, after + 1))
        return [each for each in found if each is not None]

    def place(self, entry: ItemRow) -> int:
        """Return the position of an item."""
        return entry.number


class ReplayBoard:
    """Shows the board of a search as it was at one moment. Nothing can be decided on it."""

    def __init__(self, timeline: Timeline, actions: Mapping[str, str]) -> None:
        """`actions` maps a key to the action's name; only those of `KEYS` are handled."""
        self._film, self._stock = timeline, PastItemLists(timeline.journal, timeline.items)
        keys = {key: name for key, name in actions.items() if name in KEYS}
        # the digits set the speed of a replay
        self.widget = Board(keys, ListSource(timeline.journal, self._stock), is_live=False)

    def show(self, state: ViewState, now: float) -> None:
        """Show this state, at the Unix time `now` of the replay."""
        self._stock.move_to(state.last_seq)
        self.widget.show(state, self._film.journal, now, is_over=state.outcome is not None, at_once=True)

    def do(self, name: str) -> None:
        """Carry out an action of `KEYS`."""
        match name:
            case "detail":
                self.widget.open()
            case "view":
                self.widget.next_tab()
            case "only":
                self.widget.turn_filter()
            case _:
                pass
