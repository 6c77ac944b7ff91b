"""The state of each item of a search at any event. The tables of the frontier only know it at the end of the run."""

from __future__ import annotations

from array import array
from collections.abc import Iterator

from rundry.agent import (
    ItemFailed,
    ItemQueued,
    ItemSkipped,
    RunEnded,
    RunResumed,
    Stamped,
    WorkFinished,
    WorkStarted,
)

_NEVER = 2**62
_TOLD = frozenset((ItemQueued, ItemFailed, ItemSkipped, WorkStarted, WorkFinished, RunResumed, RunEnded))


class StateIntervals:
    """The items in one state, each with the events at which it entered and left. Three numbers, to save memory."""

    def __init__(self) -> None:
        self._begins, self._ends = array("q"), array("q")
        self._sources = array("q")
        """The event that reports the item."""
        self._open: dict[str, int] = {}
        """Keys of the items that are in this state at the newest event."""

    def enter(self, key: str, seq: int, source: int) -> None:
        """Record that an item is in this state from an event on."""
        self.leave(key, seq)
        self._open[key] = len(self._begins)
        self._begins.append(seq)
        self._ends.append(_NEVER)
        self._sources.append(source)

    def leave(self, key: str, seq: int) -> int | None:
        """Record that an item left this state.

        Return the event that reported the item, or None if it was not in this state.
        """
        place = self._open.pop(key, None)
        if place is None:
            return None
        self._ends[place] = seq
        return self._sources[place]

    def at(self, seq: int) -> Iterator[int]:
        """Yield the events that report the items in this state after that event, in their order."""
        for begin, end, source in zip(self._begins, self._ends, self._sources, strict=True):
            if begin > seq:
                return
            if end > seq:
                yield source


class ItemHistory:
    """The states of all items. It receives each event once, in order, and answers for any event that it received."""

    def __init__(self) -> None:
        self.last_seq = 0
        self.queued, self.waiting, self.set_aside = StateIntervals(), StateIntervals(), StateIntervals()
        """Waiting to be worked; failed and waiting for another try; failed permanently."""
        self._flights: dict[str, int] = {}
        """Key of an item in progress to the event that queued it."""

    def take(self, stamped: Stamped) -> None:
        """Take in the next event. An event that was received before changes nothing."""
        if stamped.seq <= self.last_seq:
            return
        self.last_seq = stamped.seq
        event = stamped.event
        if type(event) in _TOLD:  # most events of a search are others
            self._take(stamped.seq, event)

    def _take(self, seq: int, event: object) -> None:
        match event:
            case ItemQueued(key=key, due=due):
                self._leave_all(key, seq)
                self._flights.pop(key, None)
                (self.queued if due is None else self.waiting).enter(key, seq, seq)
            case ItemFailed(key=key, final=True):
                self._leave_all(key, seq)
                self._flights.pop(key, None)
                self.set_aside.enter(key, seq, seq)
            case ItemSkipped(key=key):
                self._leave_all(key, seq)
            case WorkStarted(kind="item", about=key):
                self._flights[key] = self._leave_all(key, seq) or seq
            case WorkFinished(kind="item", about=key, interrupted=interrupted):
                source = self._flights.pop(key, None)
                if interrupted and source is not None:
                    self.queued.enter(key, seq, source)
            case RunResumed() | RunEnded():
                for key, source in self._flights.items():
                    self.queued.enter(key, seq, source)
                self._flights.clear()
            case _:
                pass

    def _leave_all(self, key: str, seq: int) -> int | None:
        sources = [stretch.leave(key, seq) for stretch in (self.queued, self.waiting, self.set_aside)]
        return next((source for source in sources if source is not None), None)
