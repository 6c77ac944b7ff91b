"""Where the items of a search stood at any event: what the frontier's tables know of the run's end alone."""

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


class Stretch:
    """Who was in one state from which event to which: three numbers an item, so that a long search fits."""

    def __init__(self) -> None:
        self._begins, self._ends = array("q"), array("q")
        self._sources = array("q")
        """The event that tells of the item."""
        self._open: dict[str, int] = {}
        """Keys of those that are in it, at the newest event."""

    def enter(self, key: str, seq: int, source: int) -> None:
        """It is in this state from that event on."""
        self.leave(key, seq)
        self._open[key] = len(self._begins)
        self._begins.append(seq)
        self._ends.append(_NEVER)
        self._sources.append(source)

    def leave(self, key: str, seq: int) -> int | None:
        """It is not in this state from that event on: the event that told of it, None where it was not."""
        place = self._open.pop(key, None)
        if place is None:
            return None
        self._ends[place] = seq
        return self._sources[place]

    def at(self, seq: int) -> Iterator[int]:
        """The events that tell of those that were in it after that event, in the order in which they came."""
        for begin, end, source in zip(self._begins, self._ends, self._sources, strict=True):
            if begin > seq:
                return
            if end > seq:
                yield source


class ItemHistory:
    """Fed with every event once, in order; asked about any event that it has seen."""

    def __init__(self) -> None:
        self.last_seq = 0
        self.queued, self.waiting, self.set_aside = Stretch(), Stretch(), Stretch()
        """To be worked at once; failed and tried again from a certain time on; failed for good."""
        self._flights: dict[str, int] = {}
        """Key of an item that is worked now to the event that queued it."""

    def take(self, stamped: Stamped) -> None:
        """The next event; one that was seen before changes nothing."""
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
