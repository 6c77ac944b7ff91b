"""The parts of a run in its runner, which the driver and the commands of the user share."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...protocol import PERSON, LoopKind, Paused, Said, SaidKind, Unpaused
from ...step.checks.verify import verify
from ...step.perform import perform
from ...step.resources.activity import PersonInterrupted
from ...step.resources.watched_lock import WatchedLock
from ..end.case_of_run import prepare_judge
from ..loops.shared.loop_state import LoopState
from .control_requests import UserRequests
from .pool import Pool
from .run_waits import Sleeper, Waits

if TYPE_CHECKING:
    from ...gate.gate import Gate
    from ...host.processes.processes import Finished
    from ...protocol import Budget, Exhausted, Work, WorkResult
    from ...search.finder import Finder
    from ...state.facts.run_facts import RunFacts
    from ...state.recorder import Recorder
    from ...step.resources.program_messages import ProgramMessages
    from ...step.resources.run_context import RunContext
    from ...step.resources.stall_watches import StallWatches
    from ...step.resources.used_limits import UsedLimits
    from ..children.child_runs import ChildRuns
    from ..units.passes import Passes


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveRun:
    """A run in its runner."""

    run_ctx: RunContext
    """The context whose files are the workspace."""
    tools: Sequence[str]
    """Names of the tools that the model is offered."""
    finder: Finder | None
    """The search of an until-dry run; else None."""
    passes: Passes | None
    """The passes of an interval or improve run; else None."""
    children: ChildRuns | None
    """The child runs, if the run starts any; else None."""
    pool: Pool
    """The running work orders."""
    states: _LoopStates
    requests: UserRequests
    waits: Waits
    sleeper: Sleeper
    pauses: _Pauses
    messages: ProgramMessages
    queue: _MessageQueue
    shells: set[asyncio.Task[Finished]]
    """Running shell commands of the user."""
    files_lock: WatchedLock
    """Held while files are restored or a person acts, so that no step begins."""

    @property
    def ctx(self) -> RunContext:
        """The context whose files are those of the open pass, or else the workspace."""
        return self.run_ctx if self.passes is None else self.passes.work_ctx

    @property
    def gate(self) -> Gate:
        """The gate of the run, which knows those of its other trees."""
        return self.run_ctx.gate

    @property
    def facts(self) -> RunFacts:
        """The facts of the journal so far."""
        return self.run_ctx.facts

    @property
    def can_take_control(self) -> bool:
        """Whether a person can take control: with passes, only while one is open, to which the changes then belong."""
        return not self.facts.spec.has_children and (self.passes is None or self.passes.is_open)

    @property
    def is_user_in_control(self) -> bool:
        """Whether the person is in control."""
        return self.facts.manual.wheel is not None


def live_run(
    ctx: RunContext,
    messages: ProgramMessages,
    tools: Sequence[str],
    finder: Finder | None,
    passes: Passes | None,
    children: ChildRuns | None,
) -> LiveRun:
    """Build the parts of a run."""
    files_lock = WatchedLock("the files of the workspace", ctx.events.bound(None, None))
    pool = Pool(_Performer(ctx, tools, finder, passes, children, files_lock))
    requests = UserRequests(ctx.activity, ctx.gate)
    if children is not None:
        children.follow_stops_of(requests)
    waits = Waits(ctx.activity, requests, ctx.clock)
    return LiveRun(
        run_ctx=ctx,
        tools=tools,
        finder=finder,
        passes=passes,
        children=children,
        pool=pool,
        states=_LoopStates(ctx, finder, pool),
        requests=requests,
        waits=waits,
        sleeper=Sleeper(ctx.facts, ctx.events, ctx.limits, ctx.clock, waits),
        pauses=_Pauses(ctx.facts, ctx.events, ctx.limits, requests),
        messages=messages,
        queue=_MessageQueue(ctx.facts, ctx.events, ctx.stalls, messages),
        shells=set(),
        files_lock=files_lock,
    )


class _LoopStates:
    """Builds the state from the facts, the search and the running work."""

    def __init__(self, ctx: RunContext, finder: Finder | None, pool: Pool) -> None:
        self._ctx, self._finder, self._pool = ctx, finder, pool
        self._exhausted: tuple[Budget | None, Exhausted | None] = (None, None)
        self._ending: list[WorkResult] = []
        """Results that end a search; they are kept until its other work has ended."""

    def state(self, results: Sequence[WorkResult]) -> LoopState:
        """Return the present state. `results`: of the work that ended since the last decision."""
        ctx, finder = self._ctx, None
        if self._finder is not None:
            self._pool.take_request()
            results = [*self._ending, *results]
            self._ending = [one for one in results if one.fault or one.handoff] if self._pool.busy else []
            budget, end = self._exhausted
            finder = self._finder.state(self._pool.busy, end if budget == ctx.facts.budget else None)
        now, price = ctx.clock.now(), ctx.models.current.price
        is_attended = ctx.journal.views.is_attended()
        return LoopState(ctx.facts, results, is_attended, finder, self._pool.busy, now, price, ctx.judges)

    def note_exhausted(self, results: Sequence[WorkResult]) -> None:
        """Remember until a limit changes that the budget is exhausted, because other work may still run."""
        for result in results:
            if result.exhausted is not None:
                self._exhausted = (self._ctx.facts.budget, result.exhausted)


class _MessageQueue:
    """Delivers queued messages between two steps."""

    def __init__(self, facts: RunFacts, events: Recorder, stalls: StallWatches, messages: ProgramMessages) -> None:
        self._facts, self._events, self._stalls, self._messages = facts, events, stalls, messages
        self._steers: set[int] = set()

    @property
    def sender(self) -> str | None:
        """The sender of the first queued message, or None if no message is queued."""
        return next((self._facts.queue[queued_id].by for queued_id in sorted(self._facts.queue)), None)

    def mark_steer(self, queued_id: int) -> None:
        """Remember that this queued message interrupted the step, so that it is delivered first."""
        self._steers.add(queued_id)

    def deliver(self) -> None:
        """Add the queued messages to the conversation: the program's, then the user's.

        Nothing is added while a call has no result, because the result must come first.
        """
        facts = self._facts
        if facts.main.unanswered():
            return
        self._messages.deliver()
        queue = facts.queue
        if queue:
            self._stalls.of(None).reset_after_message()
        for queued_id in sorted(queue, key=lambda i: (i not in self._steers, i)):
            kind: SaidKind = "steer" if queued_id in self._steers else "say"
            if not facts.spec.task and not any(m.role == "user" for m in facts.main.messages):
                kind = "task"
            queued = queue[queued_id]
            self._events.record(
                Said(text=queued.text, kind=kind, queued_id=queued_id, images=queued.images, by=queued.by)
            )
        self._steers.clear()


class _Pauses:
    """Pauses and continues one run."""

    def __init__(self, facts: RunFacts, events: Recorder, limits: UsedLimits, requests: UserRequests) -> None:
        self._facts, self._events, self._limits, self._requests = facts, events, limits, requests

    def pause(self, why: str, *, by: str) -> None:
        """Pause the run, unless it is paused. `by`: `person`, `program` or a client."""
        if not self._facts.paused:
            self._events.record(Paused(by=by, why=why))

    def unpause(self, *, by: str = PERSON) -> None:
        """Continue the run, if it is paused. `by`: who asked for it."""
        if self._facts.paused:
            self._events.record(Unpaused(by=by))

    def after_interrupt(self) -> None:
        """Pause the run after an interrupt, except a chat, which waits for the next message in any case.

        The run is not paused either if a message, a stop or a deadline arrived with the interrupt.
        """
        facts, requests = self._facts, self._requests
        if requests.stop is not None or facts.queue or self._limits.deadline_passed():
            return
        if facts.spec.loop is not LoopKind.CHAT and not requests.wants_control:
            self.pause("interrupted", by="person")


@dataclass(frozen=True, slots=True)
class _Performer:
    """Performs single work orders of one run."""

    ctx: RunContext
    tools: Sequence[str]
    finder: Finder | None
    passes: Passes | None
    children: ChildRuns | None
    files_lock: WatchedLock

    async def perform(self, work: Work) -> WorkResult:
        """Perform a work order, once `files_lock` is free."""
        async with self.files_lock.held("a step"):
            pass
        with self.ctx.activity.in_progress():
            if self.children is not None and work.kind == "child":
                return await self.children.perform(work)
            if self.finder is not None:
                return await self.finder.perform(work)
            if self.passes is not None and work.kind != "main":
                return await self.passes.perform(work)
            ctx = self.ctx if self.passes is None else self.passes.work_ctx
            return await perform(ctx, work, self.tools)


async def check_predicates(run: LiveRun) -> bool:
    """Check the predicates outside of a step: before the first step, and after an undo.

    Returns whether all were evaluated: a person can interrupt it.
    """
    is_checked = False
    async with run.files_lock.held("a check"):
        with run.ctx.activity.in_progress():
            try:
                await run.ctx.fingerprint.refresh()
                await verify(run.ctx, run.ctx.events.bound(None, None), claim=False, baseline=True)
                is_checked = True
                await prepare_judge(run.ctx)
            except PersonInterrupted:
                run.pauses.after_interrupt()
    return is_checked


async def prepare_for_judge(run: LiveRun) -> None:
    """Prepare the judge of a run that does not check its predicates before the first step. The person can interrupt."""
    async with run.files_lock.held("the preparation of the judge"):
        with run.ctx.activity.in_progress():
            try:
                finder = run.finder if run.ctx.judges else None  # of a migration
                items = () if finder is None else await asyncio.to_thread(finder.checks_to_judge)
                await prepare_judge(run.ctx, items)
            except PersonInterrupted:
                run.pauses.after_interrupt()
