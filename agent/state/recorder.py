"""Write the events of a run: to the journal, into the facts, and to the listeners."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from msgspec.structs import replace

from ..budget.ledger import USAGE_EVENTS
from ..journal.integrity.durable import must_be_flushed
from ..protocol import CallAdmitted, Event, FileChanged, Stamped
from .facts.checkpoint import free_memory

if TYPE_CHECKING:
    from ..journal.event_store import Entry
    from ..journal.journal import Journal
    from .facts.run_facts import RunFacts

Listener = Callable[[Stamped], None]
"""Receives each event after it was folded into the facts."""


class Events(Protocol):
    """Where a part of a run writes its events: the `Recorder`, or what it binds to a step or a work."""

    def record(self, event: Event) -> object:
        """Write the event to the journal."""
        ...


@dataclass(frozen=True, slots=True)
class StepEvents:
    """Writes the events of one step or one work."""

    recorder: Recorder
    step: int | None
    work: str | None

    def record(self, event: Event) -> None:
        """Append the event with this step and this work. See `Recorder.record`."""
        self.recorder.record(event, step=self.step, work=self.work)


@dataclass(slots=True)
class _OpenCommit:
    """The events of the commit that is open now, which the recorders of one run share."""

    events: list[Stamped] | None = None
    """The events of the open commit, oldest first, or None if no commit is open."""


class Recorder:
    """Writes the events of a run; nothing else does. A try of a pass has its own recorder, made by `for_try`."""

    def __init__(
        self,
        journal: Journal,
        facts: RunFacts,
        listeners: Sequence[Listener] = (),
        *,
        work: str | None = None,
        open_commit: _OpenCommit | None = None,
    ) -> None:
        """`listeners` also get the events of tries.

        `work`: the name of the try, written to all its events. None means the run itself.
        """
        self._journal, self._facts, self._work = journal, facts, work
        self._listeners, self._own = listeners, list[Listener]()
        self._open = _OpenCommit() if open_commit is None else open_commit
        self.stages = False
        """Whether the files of this run are changed in a stage, and not in the workspace."""

    def for_try(self, facts: RunFacts, work: str) -> Recorder:
        """Return the recorder of a try, which writes to the same journal and joins the same commits."""
        return Recorder(self._journal, facts, self._listeners, work=work, open_commit=self._open)

    def follow(self, listener: Listener) -> None:
        """Pass all further events that this recorder writes to the listener."""
        self._own.append(listener)

    def unfollow(self, listener: Listener) -> None:
        """Stop passing events to the listener."""
        self._own.remove(listener)

    def record(
        self, event: Event, *, step: int | None = None, work: str | None = None, durable: bool = False
    ) -> Stamped:
        """Append the event, fold it into the facts, and pass it to the listeners.

        An event that permits an action is on the disk before the action.
        """
        event = self._placed(event)
        durable, work = durable or must_be_flushed(event), work or self._work
        if isinstance(event, CallAdmitted):  # the worst case is on the disk before the call
            self._journal.note_spent(self._facts.ledger.counted(event, work), with_next=True)
        stamped = self._journal.append(event, step=step, work=work, durable=durable)
        if self._open.events is None:
            self._publish([stamped])
        else:
            self._open.events.append(stamped)
        return stamped

    def record_all(self, entries: Sequence[Entry]) -> None:
        """Record several events in their order and in one commit."""
        stamped = self._journal.append_all(
            [(self._placed(event), step, work or self._work) for event, step, work in entries]
        )
        if self._open.events is not None:
            self._open.events += stamped
        else:
            self._publish(stamped)

    @contextmanager
    def together(self) -> Generator[None]:
        """Commit all events and table changes of the block in one transaction. Do not await inside the block.

        Events are folded and shown after the commit.
        """
        commit = self._open
        if commit.events is not None:
            yield
            return
        recorded = commit.events = []
        try:
            with self._journal.transaction():
                yield
        finally:
            commit.events = None
        self._publish(recorded)

    def bound(self, step: int | None, work: str | None) -> StepEvents:
        """Return what records events with this step and this work."""
        return StepEvents(self, step, work)

    def _placed(self, event: Event) -> Event:
        return replace(event, staged=True) if self.stages and isinstance(event, FileChanged) else event

    def _publish(self, events: Sequence[Stamped]) -> None:
        """Fold the events of one commit and pass them to the listeners, one after the other.

        The usage is recorded once for all of them: before the listeners receive the last event that changes it.
        """
        usage = [stamped.seq for stamped in events if type(stamped.event) in USAGE_EVENTS]
        last_usage = usage[-1] if usage else None
        for stamped in events:
            self._facts.apply(stamped)
            if self._work is None:
                free_memory(self._journal, self._facts, stamped)
            if stamped.seq == last_usage:
                self._journal.note_spent(self._facts.ledger.counted())
            for listener in (*self._own, *self._listeners):
                listener(stamped)
