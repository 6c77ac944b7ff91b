"""The client side of a run: start a runner, send commands, read events. Does not import a model library."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Self

import msgspec

from ...host.memory import return_freed_memory
from ...host.process_names import process_name
from ...journal.claim import holder
from ...journal.database import require_writable_folder
from ...journal.journal import Journal
from ...journal.write_watch import WriteWatch
from ...protocol import (
    Command,
    JournalError,
    Judge,
    Merge,
    ModelSpec,
    Refusal,
    Rewind,
    RunEnded,
    RunResumed,
    RunSpec,
    Stamped,
    Stop,
    Undo,
    Unreachable,
)
from ...state.reports.deciding_chat import CHAT_DECIDES, deciding_chat
from ...state.view.reading_progress import report_reading_progress
from ...state.view.stored_views import stored_view
from ...state.view.transcript_entries import IN_MEMORY
from .runner_process import RunnerProcess, start_module
from .start_request import Check, Expected, Order, Reply, ResumeChanges

if TYPE_CHECKING:
    from ...state.view.view_state import ViewState

BATCH = 2000
"""Maximum number of events that `new_events` returns, so that a view can repaint in between."""
_TIDY_EVENTS = 5_000
"""Number of events after which a view returns freed memory to the system."""
LOOK_SECONDS = 1 / 60
"""Seconds between two reads of new events while the journal is being written."""


@dataclass(frozen=True, slots=True)
class _Draft:
    spec: RunSpec
    path: Path
    notes: list[str]
    blobs: Sequence[bytes]


class Session:
    """A view that is attached to at most one run."""

    def __init__(
        self,
        journal: Journal | None,
        name: str,
        runner: RunnerProcess | None = None,
        *,
        attends: bool = True,
        lingers: bool = True,
    ) -> None:
        """`runner`: may have been started already; without one, `resume` starts one.

        `attends`: somebody looks at the view, so proposals wait for it. `lingers`: a runner that this view starts
        stays after the end while somebody looks at the run.
        """
        self.journal = journal
        self._attends, self._lingers = attends, lingers
        self._runner = runner or RunnerProcess(None)
        self._view = process_name(name)
        self._presence: _Presence | None = None
        self._after = self._resumed_at = self._tidied_at = 0
        self._more = journal is not None
        self._ended = False
        self._draft: _Draft | None = None
        """A run that the runner is checking; it has no journal yet."""
        self.said = ""
        """What the user waits for before the run begins, for the screen."""
        self.writes = WriteWatch(LOOK_SECONDS)
        """Reports when `new_events` should be called."""

    @classmethod
    def new(cls, runner: RunnerProcess, *, attends: bool = True, lingers: bool = True) -> Self:
        """Return a view without a run. Its runner starts with `preload`, `start_runner`, `begin` or `resume`.

        The runner exits if this view closes before a run begins.
        """
        return cls(None, "view", runner, attends=attends, lingers=lingers)

    @classmethod
    def attach(
        cls, path: Path, runner: RunnerProcess | None = None, *, attends: bool = True, lingers: bool = True
    ) -> Self:
        """Attach to an existing journal, live or ended. Raises JournalError. `runner`: the one that `resume` starts."""
        session = cls(Journal.open(path), "watch", runner, attends=attends, lingers=lingers)
        session._greet()
        return session

    def begin(self, spec: RunSpec, folder: Path, notes: list[str] | None = None, blobs: Sequence[bytes] = ()) -> Path:
        """Let the runner check whether the run can begin, and return the path of its journal.

        If it can, `new_events` creates the journal and passes it to the runner. `blobs`: the bytes of the task's
        images. Raises JournalError.
        """
        path = folder / f"{spec.run_id}.db"
        require_writable_folder(path)
        self._draft = _Draft(spec, path, notes or [], blobs)
        self._hand_over(Check(check=spec, runs=str(folder)))
        self.writes.wake()
        return path

    def resume(self, path: Path, changes: ResumeChanges | None = None) -> None:
        """Pass an existing journal to the runner. Raises JournalError."""
        journal = self.journal or Journal.open(path)
        try:
            if chat := deciding_chat(journal.spec):
                raise JournalError(CHAT_DECIDES.format(chat=chat))
            self._runner.log = path.parent / "runner.log"
            self.start_runner()
        except JournalError:
            if self.journal is None:
                journal.close()
            raise
        if self.journal is None:
            self.journal = journal
            self._more = True
            self._greet()
        stale = [command_id for command_id, _ in self.journal.inbox.untaken()]
        self._ended, self._resumed_at = False, self._after
        self._hand_over(Order(journal=str(path), changes=changes or ResumeChanges(), stale=stale, linger=self._lingers))

    def preload(self, expected: Expected) -> None:
        """Let a runner without a run prepare for the run that is expected.

        Until the user types, no runner is started for a model that takes no seconds to load.
        """
        waits = not self._runner.is_started and not expected.is_typing and _loads_quickly(expected.model)
        if self.journal is not None or waits:
            return
        with contextlib.suppress(OSError, JournalError):  # `begin` starts it again and reports why it cannot
            self.start_runner()
            self._send(expected)

    def store_image(self, data: bytes) -> None:
        """Store an image's bytes for a command that names them. Raises JournalError if there is no run."""
        if self.journal is None:
            raise JournalError("there is no run yet")
        self.journal.blobs.keep(data)

    def put(self, command: Command) -> int:
        """Put a command into the inbox, and return the id that its answer will have.

        Raises JournalError if there is no run, and Refusal after a `Stop` of a run that has not begun.
        """
        if self.journal is None and self._draft is not None and isinstance(command, Stop):
            self._draft = None
            raise Refusal("stopped before it began")
        if self.journal is None:
            raise JournalError("there is no run yet")
        return self.journal.inbox.put(command)

    def put_without_runner(self, command: Undo | Rewind | Judge | Merge) -> int:
        """Put a command for a run without a runner. A separate process carries it out, and the run stays ended."""
        number = self.put(command)
        assert self.journal is not None  # otherwise nothing was put
        path = self.journal.path
        helper = start_module(
            "rundry.agent.run.commands.undo_after_end", path.parent / "runner.log", os.environ, str(path)
        )
        assert helper.stdin is not None
        helper.stdin.close()
        threading.Thread(target=helper.wait, daemon=True).start()
        return number

    def new_events(self) -> list[Stamped]:
        """Return the events since the last call, at most BATCH.

        Raises Refusal if the runner reports that the run cannot begin or continue, JournalError for a broken journal.
        """
        self._read_replies()
        if self.journal is None or not (self.journal.changed() or self._more):
            return []
        events = self.journal.read(self._after, BATCH)
        self._more = bool(events)
        if not events and self.journal.on_read is not None:
            self.journal.report_reading(None)
            self.said = ""
        if not self._more and self._after - self._tidied_at >= _TIDY_EVENTS:
            self._tidied_at = self._after
            return_freed_memory()
        for stamped in events:
            self._after = stamped.seq
            if isinstance(stamped.event, RunEnded):
                self._ended = True
            elif isinstance(stamped.event, RunResumed):
                self._ended = False
        return events

    def stored_state(self) -> ViewState | None:
        """Return the state that the runner stored last, or None if there is none. Raises JournalError.

        `new_events` continues after that state; without one, it begins with the first event.
        """
        state = None if self.journal is None or self._after else stored_view(self.journal, limit=IN_MEMORY)
        if state is not None:
            self._after, self._ended = state.last_seq, state.outcome is not None
        return state

    def beat(self) -> None:
        """Record in the journal that this view is attached. Call it every few seconds."""
        if self._presence is not None:
            self._presence.beat()

    def runner_state(self) -> str:
        """Return `warming`, `running`, `ended`, or `gone` if the runner died before the run ended."""
        if self._runner.is_alive:
            return "ended" if self._ended else "running" if self._after > self._resumed_at else "warming"
        if self._ended:
            return "ended"
        if self.journal is not None and holder(self.journal.path) is not None:
            return "running"
        return "gone"

    def close(self, *, stays: bool = False) -> None:
        """Detach from the run, which continues.

        `stays`: the user opens another run of the same tree, so this run counts as watched until that view is open.
        """
        self.writes.close()
        if self.journal is not None:
            if self._presence is not None:
                self._presence.end(lapses=stays)
            self.journal.close()
        self._runner.close()

    def start_runner(self) -> None:
        """Start a runner without a run, unless this view has one. Raises JournalError."""
        self._runner.start()

    def _read_replies(self) -> None:
        """Act on the runner's replies: remember what it waits for, raise a refusal, or create the journal."""
        if self._draft is not None:
            self.writes.wake()  # a reply does not change the journal, so nothing else wakes the view
        for line in self._runner.read():
            reply = msgspec.json.decode(line, type=Reply)
            self.said = reply.said
            if reply.refused:
                self._draft = None
                raise (Unreachable if reply.later else Refusal)(reply.refused)
            if reply.fits and self._draft is not None:
                draft, self._draft = self._draft, None
                self.journal = Journal.create(draft.path, draft.spec)
                for data in draft.blobs:
                    self.store_image(data)
                self._greet()
                self._hand_over(Order(journal=str(draft.path), notes=draft.notes, linger=self._lingers))
        if self._draft is not None and not self._runner.is_alive:
            self._draft = None
            raise Refusal("the runner process has exited: read runner.log in the folder of the journals")

    def _greet(self) -> None:
        if self.journal is not None:
            report_reading_progress(self.journal, self._say)
            self.journal.use_little_memory()
            if self._attends:
                self._presence = _Presence(self._view, self.journal)
            self.writes.follow(self.journal.path)

    def _say(self, line: str) -> None:
        self.said = line

    def _hand_over(self, order: Order | Check) -> None:
        self.start_runner()
        self._send(order)

    def _send(self, line: Order | Check | Expected) -> None:
        self._runner.send(msgspec.json.encode(line))


def _loads_quickly(model: ModelSpec) -> bool:
    from ...models.endpoint import is_direct  # a view of an existing run does not need it

    return model.api_base is not None or is_direct(model.name)


class _Presence:
    """Tells runners that a person looks at their run.

    A person who looks at a child run can answer for the runs above it, too: the next child begins while the view of
    the first one is still open, and its proposals wait for that person instead of being decided by the policy.
    """

    def __init__(self, view: str, run: Journal) -> None:
        """`view`: name of the view. Registers it. Raises JournalError."""
        self._view, self._run = view, run
        self._above = _runs_above(run)
        self.beat()

    def beat(self) -> None:
        """Record that the view is still open. Call it every few seconds. Raises JournalError."""
        for journal in (self._run, *self._above):
            journal.views.beat(self._view)

    def end(self, *, lapses: bool) -> None:
        """Remove the registration, or let it lapse within seconds. Raises JournalError."""
        for journal in () if lapses else (self._run, *self._above):
            journal.views.detach(self._view)
        for journal in self._above:
            journal.close()


def _runs_above(run: Journal) -> list[Journal]:
    """Open the journals of the runs above that exist, the nearest first."""
    found: list[Journal] = []
    parent = run.spec.parent
    with contextlib.suppress(JournalError):  # a parent that cannot be opened drives no other child
        while parent is not None:
            found.append(Journal.open(Path(parent.journal)))
            parent = found[-1].spec.parent
    return found
