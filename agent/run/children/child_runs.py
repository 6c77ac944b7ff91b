"""Start, watch and stop the child runs of a run, each with a journal, an outcome and a share of the budget.

A child run is driven by the same code as any other run, in the process of its parent. The loop starts them one after
the other, or in a chat the model with `start_child`, also several at the same time.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol

import msgspec

from ...budget.ledger import LEDGER_EVENTS, USAGE_EVENTS, Ledger
from ...budget.shared_ledger import SharedLedger
from ...journal.claim import claim
from ...journal.integrity.unfinished import rename_complete
from ...journal.journal import Journal
from ...protocol import (
    Budget,
    BudgetChanged,
    CallAdmitted,
    ChildSpent,
    ChildStarted,
    ChildWaiting,
    Command,
    Fault,
    GateMode,
    GateModeChanged,
    HandoffClosed,
    HandoffOpened,
    Interrupt,
    JournalError,
    LoopKind,
    Outcome,
    Paused,
    ProposalDecided,
    QuestionAnswered,
    Reason,
    RepairResult,
    RuleAdded,
    RuleRemoved,
    RundryError,
    RunEnded,
    RunResumed,
    SetGateMode,
    StageBegan,
    StageEnded,
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
from ...sandbox.command_environment import OWN_GIT, command_env
from ...state.facts.checkpoint import last_end
from ...state.reports.run_files import journal_path, new_run_id
from ...step.resources.activity import CommandEnded, PersonInterrupted
from ...tools.tool_result import ToolResult, failure
from ..client.start_request import Order, ResumeChanges
from ..end.undecided import note_at_end
from ..handoff.handoff_record import STAGED_PREFIX
from ..start.take_review import take_again
from .called_child import (
    applied_files,
    can_change,
    failed_child,
    finished_child,
    gate_of_child,
    has_own_journal,
    left_in_stage,
    limits_of_tree,
    result_of,
    share_of_call,
    shown_name,
    spec_of_called,
    tools_of_child,
    why_only_reads,
)
from .child_kinds import new_findings, share_of_child, spec_of_child, start_of_child, targets_in
from .review_child import review_child
from .share import raised_limits

if TYPE_CHECKING:
    from ...protocol import Event, NewFinding, RunSpec
    from ...state.common.child_facts import Child
    from ...state.recorder import Events
    from ...step.resources.run_context import RunContext
    from ...tools.tool_arguments import StartChild
    from ..live.control_requests import UserRequests
    from .review_child import Reviewed

_TITLE = 80
"""Characters of a finding's title in the reason of a hand-off."""
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
        self._running: dict[int, _Running] = {}
        self._requests: UserRequests | None = None
        self._is_chat = ctx.facts.spec.loop is LoopKind.CHAT
        self._deciding = asyncio.Lock()
        """Held while somebody decides on the changes of a called child: each is compared with the newest files."""
        self._waits_to_decide = False
        self._shared = SharedLedger.of_runs_below(ctx.journal, ctx.facts.ledger)
        ctx.events.follow(self._on_event)

    def follow_stops_of(self, requests: UserRequests) -> None:
        """Stop the running child run whenever a stop of its parent is requested."""
        self._requests = requests
        if not self._is_chat:  # there, the interrupt of its call stops a child
            requests.follow_stops(self._stop)

    def forward(self, command: Command) -> None:
        """Put a command for the run into the inbox of each running child run."""
        if self._is_chat and isinstance(command, Interrupt):
            return  # it ends the step, and so the child runs of its calls
        for child in self._running.values():
            journal = child.journal
            above = journal.spec.parent
            if isinstance(command, SetGateMode) and (self._is_chat or (above is not None and above.stages)):
                if above is not None and above.stages:
                    journal.inbox.put(msgspec.structs.replace(command, mode=gate_of_child(command.mode)))
            else:
                journal.inbox.put(command)

    @property
    def running(self) -> str | None:
        """Id of the running child run, or of the first of several, or None."""
        return next((child.journal.spec.run_id for child in self._running.values()), None)

    @property
    def waits_to_continue(self) -> bool:
        """Whether an `Unpause` continues a running child run: it is paused, or one of its hand-offs is open."""
        return any(child.hold.paused or child.hold.at_handoff for child in self._running.values())

    @property
    def waits_for_person(self) -> bool:
        """Whether nothing happens in this chat until somebody acts on one of its child runs."""
        waits = [child.hold.waits for child in self._running.values()]
        return self._is_chat and (self._waits_to_decide if not waits else all(waits))

    async def reconcile(self) -> None:
        """Record what child runs did while this run had no runner: a child run can be resumed separately.

        A called child whose journal cannot be read has failed. Raises JournalError for the others.
        """
        for child in list(self._ctx.facts.common.children.by_number.values()):
            try:
                found = await asyncio.to_thread(self._read, child)
            except JournalError as error:
                if not child.call_id:
                    raise
                self._note_failed(child, str(error))
                continue
            if found is None:
                continue
            self._note_spent(child, found.ledger)
            ended = found.ended
            if self._ctx.facts.spec.review is not None:
                continue  # an open one is continued, and what a repair staged is decided on then
            if ended is not None and ended.complete and not (child.finished is not None and child.finished.complete):
                event = msgspec.structs.replace(finished_child(child, ended), new=found.new)
                self._ctx.events.record(event, work=child_name(child.number))

    def _read(self, child: Child) -> _Found | None:
        """Read the journal of a child run; None without one, or if it belongs to another run. Raises JournalError."""
        if not Path(child.journal).exists():
            return None
        journal = Journal.open_for_reading(Path(child.journal))
        try:
            if child.call_id and not has_own_journal(journal, self._ctx.journal.path):
                return None
            return _Found(_ledger_of(journal), last_end(journal), new_findings(self._ctx.facts, child, journal))
        finally:
            journal.close()

    async def perform(self, work: Work) -> WorkResult:
        """Start or resume the child run of this work order, and drive it to its end."""
        number = int((work.work or "").partition(":")[2])
        self._count_this_run()
        try:
            return await self._drive(self._child(number), work)
        except RundryError as error:
            return WorkResult(work=work.work, fault=f"child run {number}: {error}")

    async def call(self, call_id: str, given: StartChild, events: Events, *, among: int) -> ToolResult:
        """Carry out a call of `start_child`: drive the child run to its end, and decide on its changes.

        After a kill, the same call continues its child run. `among`: number of such calls in the answer. Raises
        PersonInterrupted; the child run has then been stopped.
        """
        children = self._ctx.facts.common.children.by_number
        known = next((child for child in children.values() if child.call_id == call_id), None)
        try:
            tools = tools_of_child(self._ctx.facts, given)
        except ValueError as error:
            if known is not None:
                self._note_failed(known, str(error))
            return failure(str(error), "wrong tools")
        if known is None:
            if can_change(tools, self._ctx.facts.gate_mode) and (why := why_only_reads(self._ctx)):
                return failure(f"The child run was not started: {why}.", "not started")
            self._ctx.activity.raise_if_interrupted()
            known = self._called(call_id, given, among)
        self._count_this_run()
        try:
            return await self._call(known, lambda: spec_of_called(self._ctx, known, given, tools), events)
        except PersonInterrupted:
            raise
        except Exception as error:
            self._note_failed(known, str(error) or type(error).__name__)
            if not isinstance(error, RundryError):
                raise
            return failure(f"child run {known.number}: {error}")

    def _called(self, call_id: str, given: StartChild, among: int) -> Child:
        """Record the start of a called child run, and return it."""
        children, number = self._ctx.facts.common.children.by_number, len(self._ctx.facts.common.children.by_number) + 1
        run_id = new_run_id(self._ctx.clock.now())
        started = ChildStarted(
            number=number,
            run_id=run_id,
            journal=str(journal_path(self._ctx.journal.path.parent, run_id)),
            loop=LoopKind.GOAL,
            about="",
            title=shown_name(given),
            budget=share_of_call(self._ctx.facts, given.part, among),
            call_id=call_id,
        )
        self._ctx.events.record(started, work=child_name(number), durable=True)
        return children[number]

    async def _call(self, child: Child, spec: Callable[[], RunSpec], events: Events) -> ToolResult:
        journal = self._opened(child, spec)
        try:
            if not has_own_journal(journal, self._ctx.journal.path):
                why = f"Its child run {child.run_id} belongs to the run from which this one was forked."
                self._note_failed(child, why)
                return failure(why)
            ended = last_end(journal)
            if ended is None:
                ended = await self._until_end(child, journal)
            if ended is None:
                return self._left(child)
            is_noted = self._ctx.facts.common.children.by_number[child.number].finished is not None
            if not is_noted:
                self._ctx.events.record(finished_child(child, ended), work=child_name(child.number), durable=True)
            child = self._ctx.facts.common.children.by_number[child.number]
            if ended.reason is Reason.USER:
                return result_of(self._ctx, child, ended, stays=left_in_stage(child, ended.staged))
            reviewed = await self._reviewed(child, journal, ended, events)
            return result_of(self._ctx, child, ended, reviewed.lines, reviewed.stays)
        finally:
            journal.close()

    async def _until_end(self, child: Child, journal: Journal) -> RunEnded | None:
        """Drive a called child run to its end, and return it; None if somebody left it open.

        Raises CommandEnded after it was stopped, because a person ended the step.
        """
        activity = self._ctx.activity
        driving = asyncio.ensure_future(self._run(child, journal, None))
        try:
            await activity.interruptible(_until_done(driving))
        except PersonInterrupted as how:
            if child.number in self._running:
                journal.inbox.put(Stop(how="now"))
            else:
                driving.cancel()
            await asyncio.wait({driving})
            ended = last_end(journal)
            if ended is not None:
                self._ctx.events.record(finished_child(child, ended), work=child_name(child.number), durable=True)
            else:
                self._note_failed(child, "it was stopped before it had an end", Reason.USER)
            stays = "" if ended is None else left_in_stage(child, ended.staged)
            raise CommandEnded(how, f"The person stopped this child run. {stays}".rstrip(), stays) from how
        except BaseException:
            driving.cancel()
            await asyncio.wait({driving})
            raise
        driving.result()
        return last_end(journal)

    def _left(self, child: Child) -> ToolResult:
        """Return the result of a call whose child run has no end, because somebody let its runner exit."""
        why = f"it was left open: `rundry resume {child.run_id}` continues it"
        self._note_failed(child, why, Reason.HANDOFF)
        return failure(f"Child run {child.number} did not end: {why}. What it changed is not applied.", "left open")

    def _note_failed(self, child: Child, why: str, reason: Reason = Reason.ERROR) -> None:
        """Record that an open called child has no end and is not continued, so that its share is free again."""
        if self._ctx.facts.common.children.by_number[child.number].is_open:
            self._ctx.events.record(failed_child(child, why, reason), work=child_name(child.number), durable=True)

    async def _reviewed(self, child: Child, journal: Journal, ended: RunEnded, events: Events) -> Reviewed:
        """Decide on the changes of an ended child run, one child run after the other. Raises CommandEnded."""
        try:
            await self._ctx.activity.interruptible(self._deciding.acquire())
            try:
                return await review_child(self._ctx, child, journal, events, self._note_wait_to_decide)
            finally:
                self._deciding.release()
        except PersonInterrupted as how:
            result = result_of(self._ctx, child, ended, stays=left_in_stage(child, ended.staged))
            raise CommandEnded(how, result.text, result.stays) from how

    def _note_wait_to_decide(self, waits: bool) -> None:
        self._waits_to_decide = waits

    def _count_this_run(self) -> None:
        """Store the limits of the tree and what this run uses, before a child run begins."""
        self._shared.set_budget(limits_of_tree(self._ctx.facts))
        self._shared.note()

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
        diff = await self._diff_of(child)
        journal = self._opened(child, lambda: spec_of_child(self._ctx.facts, child, self._ctx.journal.path, diff))
        try:
            ended = last_end(journal)
            continues = _CONTINUES if self._ctx.facts.spec.improve is None else _CONTINUES_PASS
            if ended is None or ended.reason in continues:  # else the parent was killed before it recorded it
                await self._run(child, journal, ended)
            ended = last_end(journal)
            try:
                repair = await self._repair(child, journal, ended, work)
            except PersonInterrupted:  # it is asked about when the run is resumed
                return WorkResult(work=work.work, interrupted=True)
            if repair is None:
                return WorkResult(work=work.work, handoff=_waits_words(child, self._ctx.facts.spec.run_id))
            return self._note_end(child, journal, ended, work, repair)
        finally:
            journal.close()

    async def _diff_of(self, child: Child) -> str | None:
        """Return the hash of the diff for a later search of a review, as it is now, or None if it needs no new one."""
        review, path = self._ctx.facts.spec.review, Path(child.journal)
        if review is None or child.about or child.number == 1 or await asyncio.to_thread(path.exists):
            return None
        runs, env = self._ctx.journal.path.parent, command_env(os.environ, more=OWN_GIT)
        return self._ctx.journal.blobs.keep(await take_again(self._ctx.facts.spec, review.base, env, runs))

    async def _repair(self, child: Child, journal: Journal, ended: RunEnded | None, work: Work) -> RepairResult | None:
        """Decide on what a repair of a review staged. Returns None if it waits for somebody to decide.

        Raises PersonInterrupted.
        """
        is_repair = self._ctx.facts.spec.review is not None and bool(child.about)
        if not is_repair or ended is None or ended.reason is not Reason.DONE:
            return ""
        before = next(reversed(journal.read_types((StageBegan, StageEnded))), None)
        if before is not None and isinstance(before.event, StageEnded):  # `rundry apply` decided
            return "" if before.event.how == "lost" else before.event.how
        events = self._ctx.events.bound(None, work.work)
        reviewed = await self._reviewed(child, journal, ended, events)
        if reviewed.stays:
            self._ctx.events.record(Fault(kind="program", text=reviewed.stays))
            return None
        return reviewed.how or ""

    async def _run(self, child: Child, journal: Journal, ended: RunEnded | None) -> None:
        """Start or resume a child run, and drive it until its runner exits. `ended`: how it ended before."""
        order = Order(
            journal=child.journal,
            changes=msgspec.structs.replace(
                self._changes(child, ended),
                gate=self._missed_gate(journal),
                unsandboxed_ok=self._ctx.gate.policy.unsandboxed_ok and not self._is_chat,
            ),
            stale=[command_id for command_id, _ in journal.inbox.untaken()],
            linger=False,
            headless=self._ctx.headless,
        )
        ledger, hold = _ledger_of(journal), _hold_of(journal)
        self._running[child.number] = _Running(journal, hold)

        def on_event(stamped: Stamped) -> None:
            hold.apply(stamped.event)
            if type(stamped.event) in LEDGER_EVENTS:
                ledger.apply(stamped)
            if type(stamped.event) in USAGE_EVENTS:
                self._note_spent(child, ledger)
            elif isinstance(stamped.event, Waiting | Paused):
                self._note_wait(child, stamped.event)

        try:
            self._note_spent(child, ledger)
            self._tell_missed_rules(journal)
            await note_at_end(self._ctx)  # a child run must not take it for changes of the user
            await self._runner.run(order, on_event)
        finally:
            del self._running[child.number]

    def _opened(self, child: Child, spec_of: Callable[[], RunSpec]) -> Journal:
        """Open the journal of a child run, or create it with the spec that `spec_of` returns."""
        path = Path(child.journal)
        if path.exists():
            return Journal.open(path)
        spec = spec_of()
        journal = Journal.create_unnamed(path, spec, self._ctx.clock.now)
        try:
            review = [] if spec.finder is None or spec.finder.review is None else [spec.finder.review.diff]
            for sha in [*(image.sha for image in spec.images), *review]:
                journal.blobs.keep(self._ctx.journal.blobs.load(sha))
        finally:
            journal.close()
        rename_complete(journal.path, path)
        return Journal.open(path)

    def _tell_missed_rules(self, journal: Journal) -> None:
        """Record in the journal of a called child, before its runner starts, what changed in the rules of the chat."""
        if not self._is_chat:
            return
        known, rules = list(journal.spec.gate.rules), self._ctx.gate.policy.rules
        for stamped in journal.read_types((RuleAdded, RuleRemoved)):
            if isinstance(stamped.event, RuleAdded):
                known.append(stamped.event.rule)
            elif isinstance(stamped.event, RuleRemoved) and stamped.event.rule in known:
                known.remove(stamped.event.rule)
        added = [RuleAdded(rule=rule) for rule in rules if rule not in known]
        removed = [RuleRemoved(rule=rule) for rule in known if rule not in rules and rule.verdict == "allow"]
        if added or removed:
            with claim(Path(journal.path)):
                for event in (*added, *removed):
                    journal.append(event)

    def _missed_gate(self, journal: Journal) -> GateMode | None:
        """Return the gate's mode of this run, if it was changed after that of the child; otherwise None."""
        changes = journal.read_types((GateModeChanged,))
        since = changes[-1].at if changes else float(journal.meta("created") or 0)
        facts = self._ctx.facts
        if facts.common.children.gate_changed_at <= since:
            return None
        above = journal.spec.parent
        if above is not None and above.stages:
            return gate_of_child(facts.gate_mode)
        return None if self._is_chat else facts.gate_mode

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

    def _note_end(
        self, child: Child, journal: Journal, ended: RunEnded | None, work: Work, repair: RepairResult
    ) -> WorkResult:
        """Record how the child run ended. Without an end it waits for a person, so the result is a hand-off."""
        if ended is None:
            return WorkResult(work=work.work, handoff=f"the child run {child.run_id} waits for a person")
        event = finished_child(child, ended, resumes=self._resumes(ended))
        new = new_findings(self._ctx.facts, child, journal)
        event = msgspec.structs.replace(
            event, new=new, targets=targets_in(self._ctx.facts, child, journal), repair=repair
        )
        if repair == "applied":
            changed = applied_files(self._ctx.journal, journal, work.work)
            event = msgspec.structs.replace(event, files_changed=changed)
        self._ctx.events.record(event, work=work.work, durable=True)
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
            self._shared.set_budget(limits_of_tree(self._ctx.facts))


def _waits_words(child: Child, run_id: str) -> str:
    """Return which commands continue first, because a line is cut at its end."""
    decides = f"`rundry apply {child.run_id}` decides, `rundry resume {run_id}` continues"
    return f"{STAGED_PREFIX}{decides}: {first_line(child.title, _TITLE)}"


async def _until_done(task: asyncio.Task[None]) -> None:
    """Wait for the end of a task. If that is cancelled, the task continues."""
    await asyncio.wait({task})


@dataclass(slots=True)
class _Hold:
    """What a run waits for until it is continued, folded from its events."""

    paused: bool = False
    at_handoff: bool = False
    waits: bool = False
    """It waits for a person."""

    def apply(self, event: Event) -> None:
        if isinstance(event, Waiting | Paused):
            self.waits = True
        elif isinstance(
            event, ProposalDecided | QuestionAnswered | Unpaused | HandoffClosed | CallAdmitted | RunResumed
        ):
            self.waits = False
        match event:
            case Paused():
                self.paused = True
            case Unpaused() | RunResumed():
                self.paused = False
            case HandoffOpened() | HandoffClosed():
                self.at_handoff = isinstance(event, HandoffOpened)
            case _:
                pass


@dataclass(frozen=True, slots=True)
class _Running:
    """A child run that is driven now."""

    journal: Journal
    hold: _Hold


class _Found(NamedTuple):
    """What the journal of a child run says."""

    ledger: Ledger
    ended: RunEnded | None
    new: list[NewFinding] | None


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
