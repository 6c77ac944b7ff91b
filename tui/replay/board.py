"""The board of a search as it was at one moment of it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial

from rundry.agent import FrontierView, ItemFailed, ItemQueued, ItemRow, ItemState, Journal, ViewState

from ..board.board import Board
from ..board.pages import Pages, Stock
from ..board.source import ListSource
from .film import Film
from .items import ItemHistory

KEYS = ("detail", "view", "only")
"""The board's actions that a replay has: those that change nothing but what is looked at."""


class PastStock(Stock):
    """What waited, what was set aside and what had come twice after one event."""

    def __init__(self, journal: Journal, history: ItemHistory) -> None:
        super().__init__(journal)
        self._history, self._items = history, FrontierView(journal)
        self._seq = 0
        self._go_to(0)

    def move_to(self, seq: int) -> None:
        """Show the lists as they were after this event; `counts` reads them."""
        self._seq = seq

    def _go_to(self, seq: int) -> None:
        self._at, history = seq, self._history
        self._due = list(history.waiting.at(seq))
        self._queued, self._aside = list(history.queued.at(seq)), list(history.set_aside.at(seq))
        self.queue = _listed(self._queued, partial(self._row, ItemState.QUEUED))
        self.waiting = _listed(self._due, partial(self._row, ItemState.WAITING))
        self.set_aside = _listed(self._aside, self._failed)
        self.duplicates = Pages(self._duplicates, lambda stamped: stamped.seq, seq + 1)

    def renew(self, in_flight: Collection[str]) -> None:
        """Nothing: a moment that is past does not change."""

    def counts(self) -> tuple[int, int, int]:
        """Items queued and due, waiting for their time, set aside."""
        if self._at != self._seq:
            self._go_to(self._seq)
        return len(self._queued), len(self._due), len(self._aside)

    def next_due(self, now: float) -> float | None:
        """Unix time at which the next item was to be tried again."""
        rows = (self.waiting[index] for index in range(len(self._due)))
        return min((row.due for row in rows if row is not None and row.due is not None and row.due > now), default=None)

    def _row(self, state: ItemState, number: int, source: int) -> ItemRow | None:
        event = self._event(source)
        if not isinstance(event, ItemQueued):
            return None
        before = self._event(source - 1) if event.attempts else None  # the failure stands right before it
        error = before.error if isinstance(before, ItemFailed) and before.key == event.key else ""
        return ItemRow(
            number, event.key, event.kind, event.value, event.source, state, event.attempts, event.due, error
        )

    def _failed(self, number: int, source: int) -> ItemRow | None:
        event = self._event(source)
        if not isinstance(event, ItemFailed):
            return None
        known = self._items.find(event.key)
        kind, value, found_by = (known.kind, known.value, known.source) if known is not None else ("", event.key, "")
        return ItemRow(number, event.key, kind, value, found_by, ItemState.SET_ASIDE, event.attempts, None, event.error)

    def _event(self, seq: int) -> object:
        found = self._journal.read(seq - 1, 1)
        return found[0].event if found else None


def _listed(sources: Sequence[int], row: Callable[[int, int], ItemRow | None]) -> Pages[ItemRow]:
    """Items by the events that tell of them; a row's number is its place, counted from 1."""

    def read(after: int, limit: int) -> list[ItemRow]:
        found = (row(at, source) for at, source in enumerate(sources[after : after + limit], after + 1))
        return [each for each in found if each is not None]

    return Pages(read, lambda item: item.number, 0)


class PastBoard(Board):
    """Nothing can be done on it: it is looked at."""

    def __init__(self, film: Film, actions: Mapping[str, str]) -> None:
        """`actions` maps a key to the action's name; those of `KEYS` are obeyed."""
        self._film, self._past = film, PastStock(film.journal, film.items)
        source = ListSource(film.journal, self._past)
        super().__init__({key: name for key, name in actions.items() if name in KEYS}, source)

    def see(self, state: ViewState, now: float) -> None:
        """Bring it to this moment."""
        self._past.move_to(state.last_seq)
        self.show(state, self._film.journal, now, is_over=state.outcome is not None, at_once=True)

    def draw(self) -> None:
        """Once more; the digits are for the speed here."""
        if self._look is not None:
            self._look = replace(self._look, numbered=False)
        super().draw()

    def obey(self, name: str) -> None:
        """One of `KEYS`."""
        match name:
            case "detail":
                self.open()
            case "view":
                self.next_tab()
            case "only":
                self.turn_filter()
            case _:
                pass
