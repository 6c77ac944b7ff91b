"""The parts of a run in its runner, which the driver and the commands of the user share."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...step.checks.verify import verify
from ...step.perform import perform
from ...step.resources.activity import PersonInterrupted
from ...step.resources.watched_lock import WatchedLock
from ..judge_case import prepare_judge
from .loop_states import LoopStates
from .message_queue import MessageQueue
from .pauses import Pauses
from .pool import Pool
from .requests import UserRequests
from .waits import Sleeper, Waits

if TYPE_CHECKING:
    from ...facts.facts import RunFacts
    from ...finder.finder import Finder
    from ...gate.gate import Gate
    from ...protocol import Work, WorkResult
    from ...step.resources.context import RunContext
    from ...step.resources.program_messages import ProgramMessages
    from ...workspace.processes.processes import Finished
    from ..children.child_runs import ChildRuns
    from ..passes.passes import Passes


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
    states: LoopStates
    requests: UserRequests
    waits: Waits
    sleeper: Sleeper
    pauses: Pauses
    messages: ProgramMessages
    queue: MessageQueue
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
        return self.children is None and (self.passes is None or self.passes.is_open)

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
    pool = Pool(_Performer(ctx, tools, finder, passes, children, files_lock).perform)
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
        states=LoopStates(ctx, finder, pool),
        requests=requests,
        waits=waits,
        sleeper=Sleeper(ctx.facts, ctx.events, ctx.usage, ctx.clock, waits),
        pauses=Pauses(ctx.facts, ctx.events, ctx.usage, requests),
        messages=messages,
        queue=MessageQueue(ctx.facts, ctx.events, ctx.stalls, messages),
        shells=set(),
        files_lock=files_lock,
    )


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


async def check_predicates(run: LiveRun) -> None:
    """Check the predicates outside of a step: before the first step, and after an undo."""
    async with run.files_lock.held("a check"):
        with run.ctx.activity.in_progress():
            try:
                await run.ctx.fingerprint.refresh()
                await verify(run.ctx, run.ctx.events.bound(None, None), claim=False, baseline=True)
                await prepare_judge(run.ctx)
            except PersonInterrupted:
                run.pauses.after_interrupt()


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
