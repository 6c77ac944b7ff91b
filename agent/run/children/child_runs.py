"""Start, watch and stop the child runs of a run, each with a journal, an outcome and a share of the budget.

A child run is driven by the same code as any other run, in the process of its parent.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import msgspec

from ...budget.ledger import LEDGER_EVENTS, USAGE_EVENTS, Ledger
from ...budget.shared_ledger import SharedLedger
from ...journal.integrity.unfinished import rename_complete
from ...journal.journal import Journal
from ...protocol import (
    Budget,
    BudgetChanged,
    ChildFinished,
    ChildSpent,
    ChildWaiting,
    Command,
    GateMode,
    GateModeChanged,
    HandoffClosed,
    HandoffOpened,
    Outcome,
    Paused,
    Reason,
    RundryError,
    RunEnded,
    RunResumed,
    Stamped,
    Stop,
    StopHow,
    Unknown,
    Unpaused,
    Waiting,
    Work,
    WorkResult,
    child_name,
)
from ...protocol.text.shorten_text import first_line
from ...state.facts.checkpoint import last_end
from ...state.reports.run_files import journal_path, new_run_id
from ..client.start_request import Order, ResumeChanges
from ..end.undecided import note_at_end
from ..units.pass_texts import LINE
from .child_kinds import new_findings, share_of_child, spec_of_child, start_of_child
from .share import raised_limits

if TYPE_CHECKING:
    from ...protocol import Event
    from ...state.common.child_facts import Child
    from ...step.resources.run_context import RunContext
    from ..live.person_requests import UserRequests

_CONTINUES = (Reason.BUDGET, Reason.ERROR, Reason.USER)
"""Reasons of an end after which an open child run is resumed."""
_CONTINUES_PASS = (*_CONTINUES, Reason.HANDOFF)
"""The same for the child run of a pass, which has to end before the pass does."""


class RunsChild(Protocol):
    """Drives child runs. The runner implements it."""

    async def run(self, order: Order, on_event: Callable[[Stamped], None]) -> Outcome:
        """Drive the run to its outcome, and call `on_event` with each event."""
        ...


class ChildRuns:
    """Starts, watches and stops the child runs of one run."""

    def __init__(self, ctx: RunContext, runner: RunsChild) -> None:
        self._ctx, self._runner = ctx, runner
        self._running: Journal | None = None
        self._requests: UserRequests | None = None
        self._hold = _Hold()
        self._shared = SharedLedger.of_runs_below(ctx.journal, ctx.facts.ledger)
        ctx.events.follow(self._on_event)

    def follow_stops_of(self, requests: UserRequests) -> None:
        """Stop the running child run whenever a stop of its parent is requested."""
        self._requests = requests
        requests.follow_stops(self._stop)

    def forward(self, command: Command) -> None:
        """Put a command for the run into the inbox of the running child run, if there is one."""
        if self._running is not None:
            self._running.inbox.put(command)

    @property
    def running(self) -> str | None:
        """Id of the running child run, or None."""
        return None if self._running is None else self._running.spec.run_id

    @property
    def waits_to_continue(self) -> bool:
        """Whether an `Unpause` continues the running child run: it is paused, or one of its hand-offs is open."""
        return self._running is not None and (self._hold.paused or self._hold.at_handoff)

    def reconcile(self) -> None:
        """Record what child runs did while this run had no runner: a child run can be resumed separately."""
        for child in list(self._ctx.facts.common.children.by_number.values()):
            if not Path(child.journal).exists():
                continue
            journal = Journal.open_for_reading(Path(child.journal))
            try:
                self._note_spent(child, _ledger_of(journal))
                ended = last_end(journal)
                new = new_findings(self._ctx.facts, child, journal)
            finally:
                journal.close()
            if ended is not None and ended.complete and not (child.finished is not None and child.finished.complete):
                event = msgspec.structs.replace(_finished(child, ended, resumes=False), new=new)
                self._ctx.events.record(event, work=child_name(child.number))

    async def perform(self, work: Work) -> WorkResult:
        """Start or resume the child run of this work order, and drive it to its end."""
        number = int((work.work or "").partition(":")[2])
        self._shared.set_budget(self._ctx.facts.budget)
        self._shared.note()
        try:
            return await self._drive(self._child(number), work)
        except RundryError as error:
            return WorkResult(work=work.work, fault=f"child run {number}: {error}")

    def _child(self, number: int) -> Child:
        """Return the child run with this number. A new one is recorded before its journal is created."""
        facts = self._ctx.facts
        known = facts.common.children.by_number.get(number)
        if known is None:
            self._record_start(number, new_run_id(self._ctx.clock.now()), share_of_child(facts))
            known = facts.common.children.by_number[number]
        return known

    def _record_start(self, number: int, run_id: str, share: Budget) -> None:
        journal = journal_path(self._ctx.journal.path.parent, run_id)
        started = start_of_child(self._ctx.facts, number, run_id, journal, share)
        self._ctx.events.record(started, work=child_name(number), durable=True)

    async def _drive(self, child: Child, work: Work) -> WorkResult:
        journal = self._opened(child)
        try:
            ended = last_end(journal)
            continues = _CONTINUES if self._ctx.facts.spec.improve is None else _CONTINUES_PASS
            if ended is not None and ended.reason not in continues:  # the parent was killed before it recorded it
                return self._note_end(child, journal, ended, work)
            order = Order(
                journal=child.journal,
                changes=msgspec.structs.replace(
                    self._changes(child, ended),
                    gate=self._missed_gate(journal),
                    unsandboxed_ok=self._ctx.gate.policy.unsandboxed_ok,
                ),
                stale=[command_id for command_id, _ in journal.inbox.untaken()],
                linger=False,
                headless=self._ctx.headless,
            )
            ledger, hold = _ledger_of(journal), _hold_of(journal)
            self._running, self._hold = journal, hold

            def on_event(stamped: Stamped) -> None:
                hold.apply(stamped.event)
                if type(stamped.event) in LEDGER_EVENTS:
                    ledger.apply(stamped)
                if isinstance(stamped.event, USAGE_EVENTS):
                    self._note_spent(child, ledger)
                elif isinstance(stamped.event, Waiting | Paused):
                    self._note_wait(child, stamped.event)

            self._note_spent(child, ledger)
            await note_at_end(self._ctx)  # a child run must not take it for changes of the user
            await self._runner.run(order, on_event)
            return self._note_end(child, journal, last_end(journal), work)
        finally:
            self._running = None
            journal.close()

    def _opened(self, child: Child) -> Journal:
        path = Path(child.journal)
        if path.exists():
            return Journal.open(path)
        spec = spec_of_child(self._ctx.facts, child, self._ctx.journal.path)
        journal = Journal.create_unnamed(path, spec, self._ctx.clock.now)
        try:
            for image in spec.images:
                journal.blobs.keep(self._ctx.journal.blobs.load(image.sha))
        finally:
            journal.close()
        rename_complete(journal.path, path)
        return Journal.open(path)

    def _missed_gate(self, journal: Journal) -> GateMode | None:
        """Return the gate's mode of this run, if it was changed after that of the child; otherwise None."""
        changes = journal.read_types((GateModeChanged,))
        since = changes[-1].at if changes else float(journal.meta("created") or 0)
        facts = self._ctx.facts
        return facts.gate_mode if facts.common.children.gate_changed_at > since else None

    def _changes(self, child: Child, ended: RunEnded | None) -> ResumeChanges:
        """Return the changes for the resume of a child run: after an exhausted budget, it gets a new share."""
        if ended is None:
            return ResumeChanges()
        share = share_of_child(self._ctx.facts)
        self._record_start(child.number, child.run_id, share)
        if ended.reason is not Reason.BUDGET:
            return ResumeChanges()
        limits = raised_limits(share, child.spent)
        return ResumeChanges(limits={name: value for name, value in limits.items() if value is not None})

    def _note_spent(self, child: Child, ledger: Ledger) -> None:
        known = self._ctx.facts.common.children.by_number[child.number]
        if ledger.spent != known.spent:
            spent = ChildSpent(run_id=child.run_id, spent=ledger.spent)
            self._ctx.events.record(spent, work=child_name(child.number))

    def _note_wait(self, child: Child, event: Waiting | Paused) -> None:
        """Record that the child run waits for somebody. A pause of this run itself says so already."""
        if isinstance(event, Waiting) or not self._ctx.facts.paused:
            why = event.why if isinstance(event, Waiting) else "pause"
            waits = ChildWaiting(number=child.number, run_id=child.run_id, why=why)
            self._ctx.events.record(waits, work=child_name(child.number))

    def _note_end(self, child: Child, journal: Journal, ended: RunEnded | None, work: Work) -> WorkResult:
        """Record how the child run ended. Without an end it waits for a person, so the result is a hand-off."""
        if ended is None:
            return WorkResult(work=work.work, handoff=f"the child run {child.run_id} waits for a person")
        event = _finished(child, ended, resumes=self._resumes(ended))
        new = new_findings(self._ctx.facts, child, journal)
        self._ctx.events.record(msgspec.structs.replace(event, new=new), work=work.work, durable=True)
        spec = self._ctx.facts.spec
        if spec.repeat is None and ended.reason in (Reason.ERROR, Reason.REFUSED):
            return WorkResult(work=work.work, fault=ended.detail, retryable=ended.retryable)
        if spec.improve is not None and ended.reason is Reason.HANDOFF:
            return WorkResult(work=work.work, handoff=f"the child run {child.run_id}: {ended.detail}")
        return WorkResult(work=work.work, steps=ended.steps)

    def _resumes(self, ended: RunEnded) -> bool:
        """Return whether a child run with this end continues when this run is resumed."""
        spec, stop = self._ctx.facts.spec, None if self._requests is None else self._requests.stop
        if spec.improve is not None:  # any other end also ends the pass
            return ended.reason in (Reason.ERROR, Reason.HANDOFF)
        is_stopped = ended.reason is Reason.USER and stop is not None
        if spec.repeat is not None:  # after a search that failed or used its share, the next one starts at its time
            return is_stopped
        return is_stopped or ended.reason in (Reason.BUDGET, Reason.ERROR)

    def _stop(self, how: StopHow) -> None:
        self.forward(Stop(how=how))

    def _on_event(self, stamped: Stamped) -> None:
        if isinstance(stamped.event, BudgetChanged):
            self._shared.set_budget(self._ctx.facts.budget)


class _Hold:
    """What a run waits for until it is continued, folded from its events."""

    def __init__(self) -> None:
        self.paused = self.at_handoff = False

    def apply(self, event: Event) -> None:
        match event:
            case Paused():
                self.paused = True
            case Unpaused() | RunResumed():
                self.paused = False
            case HandoffOpened() | HandoffClosed():
                self.at_handoff = isinstance(event, HandoffOpened)
            case _:
                pass


def _hold_of(journal: Journal) -> _Hold:
    hold = _Hold()
    for stamped in journal.read_types((Paused, Unpaused, RunResumed, HandoffOpened, HandoffClosed)):
        hold.apply(stamped.event)
    return hold


def _ledger_of(journal: Journal) -> Ledger:
    ledger = Ledger()
    for stamped in journal.read_types(LEDGER_EVENTS - {Unknown}):
        ledger.apply(stamped)
    return ledger


def _finished(child: Child, ended: RunEnded, *, resumes: bool) -> ChildFinished:
    return ChildFinished(
        number=child.number,
        run_id=child.run_id,
        reason=ended.reason,
        detail=ended.detail,
        complete=ended.complete,
        exit_code=ended.exit_code,
        limit=ended.limit,
        resumes=resumes,
        files_changed=ended.files_changed,
        said=first_line(ended.answer or "", LINE),
    )
