"""Claim a run and drive it to its outcome. This is the only writer of its events."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import traceback
from collections.abc import AsyncGenerator, Callable, Generator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, cast

from ...extend.telemetry.live_export import Telemetry
from ...extend.telemetry.span_target import target_of
from ...journal.claim import claim
from ...journal.journal import Journal
from ...models.lanes.close_connections import close_connections
from ...models.remote_model import RemoteModel
from ...protocol import (
    Fault,
    Finish,
    JournalError,
    JournalUnwritable,
    LoopKind,
    Outcome,
    Reason,
    Refusal,
    RunResumed,
    Stamped,
    UserError,
    WorkResult,
)
from ...state.facts.checkpoint import facts_of
from ...state.view.reading_progress import reading_progress
from ...state.view.view_keeper import ViewKeeper
from ...step.tool_calls.perform_calls import GatedCalls
from ..children.child_runs import ChildRuns
from ..commands.handle_commands import Inbox
from ..drive import drive
from ..end.outcome_of_run import ended_event, outcome_of, outcome_of_parked
from ..end.undecided import note_at_end
from ..handoff.tiers import HandoffTiers
from ..live.hooks_of_run import run_end_hooks, run_start_hooks
from ..live.live_run import LiveRun, check_predicates, live_run, prepare_for_judge
from ..loops.shared.loop_state import never_started
from ..run_driver import RunDriver
from ..start.assemble import assemble
from ..start.begin_run import Beginning, begin
from ..start.damaged_journal import admit_damage
from ..start.inputs import Inputs, ProcessContext
from ..start.offered_tools import tools_of_run
from ..start.resume_run import resume
from ..start.search_of_run import check_executor, search_of, with_remote_tools
from ..start.servers_of_run import record_servers
from ..start.settle import settle_open
from ..start.stage_of_run import close_places
from ..units.passes import passes_of
from .notify_hook import notify_of_end
from .parking import watch_for_parking
from .refused_run import bare_start

if TYPE_CHECKING:
    from ...journal.integrity.damage import Damage
    from ...protocol import RunSpec, TelemetryFailed
    from ...step.resources.run_context import RunContext
    from ..client.start_request import Order
    from ..end.dependencies import Dependencies
    from ..start.build_context import Assembled

OnEvent = Callable[[Stamped], None]


async def run_order(
    order: Order,
    on_event: OnEvent = lambda stamped: None,
    process: ProcessContext | None = None,
    tell: Callable[[str], None] = lambda line: None,
) -> Outcome:
    """Drive the requested run to its outcome. Signals end it with an outcome.

    `tell` is called with a line when the user has to wait before the run begins.

    Raises RunHeld, JournalError, and JournalUnwritable once the run has begun; Refusal or UserError if a run that had
    begun cannot continue: it stays unchanged.
    """
    with _received_signals() as signals:
        try:
            return await _run_claimed(order, on_event, process or ProcessContext(), signals, tell)
        finally:
            await close_connections()


@dataclass(slots=True)
class _Signals:
    """The signals that arrived so far, and the handler for the next one."""

    names: list[str] = field(default_factory=list[str])
    on: Callable[[str], object] = lambda name: None


@contextlib.contextmanager
def _received_signals() -> Generator[_Signals]:
    """Handle signals within this context. A signal that is ignored (as with `nohup`) stays ignored."""
    loop = asyncio.get_running_loop()
    signals = _Signals()

    def on_signal(name: str) -> None:
        signals.names.append(name)
        signals.on(name)

    wanted = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]
    numbers = [number for number in wanted if signal.getsignal(number) is not signal.SIG_IGN]
    for number in numbers:
        loop.add_signal_handler(number, on_signal, number.name)
    try:
        yield signals
    finally:
        for number in numbers:
            loop.remove_signal_handler(number)


async def _run_claimed(
    order: Order, on_event: OnEvent, process: ProcessContext, signals: _Signals, tell: Callable[[str], None]
) -> Outcome:
    path = Path(order.journal)
    with claim(path):
        journal = Journal.open(path)
        try:
            async with _exported_spans(journal.spec, process, tell) as process:
                with reading_progress(journal, tell):
                    damage = admit_damage(journal, order.changes)
                    facts = facts_of(journal)
                    keeper = ViewKeeper(journal, facts)
                on_event = keeper.listener(on_event)
                if process.spans is not None:
                    on_event = process.spans.listener(journal, on_event)
                inputs = Inputs(
                    journal=journal,
                    facts=facts,
                    order=order,
                    process=process,
                    calls=GatedCalls(),
                    on_event=on_event,
                    tell=tell,
                )
                return await _run(inputs, damage, signals)
        except JournalError as error:
            if journal.has_written:
                raise JournalUnwritable(str(error)) from error
            raise
        finally:
            journal.close()


async def _run(inputs: Inputs, damage: Damage, signals: _Signals) -> Outcome:
    order, process = inputs.order, inputs.process
    making = asyncio.ensure_future(_assemble(inputs))
    signals.on = lambda _: making.cancel()
    try:
        assembled = await making
    except (Refusal, UserError) as refusal:
        if inputs.facts.started:
            raise  # the run stays as it is
        return _end_early(inputs, Finish(reason=Reason.REFUSED, detail=str(refusal)))
    except asyncio.CancelledError:
        if not signals.names:
            raise
        detail = f"stopped by {signals.names[0]} before it began"
        return _end_early(inputs, Finish(reason=Reason.USER, detail=detail))
    ctx = with_remote_tools(assembled.ctx, order)
    try:
        if isinstance(ctx.models.of_run, RemoteModel):
            await ctx.models.of_run.encoding_loaded()
        tools = tools_of_run(inputs.journal.spec)
        children = _children_of(ctx, process)
        if "start_child" in tools:
            ctx = replace(ctx, children=children)
        finder, passes = search_of(ctx, order), passes_of(ctx, tools)
        run = live_run(ctx, assembled.messages, tools, finder, passes, children)
        begun = Beginning(order, assembled.notes, assembled.scope, damage)
        return await _watch_over(run, begun, assembled.dependencies, process, signals)
    except JournalError:
        raise
    except Exception as error:  # noqa: BLE001 - the last place that can record it
        outcome = _end_with_internal_error(ctx, error)
        await note_at_end(ctx)
        return outcome
    finally:
        await _close(ctx)


async def _assemble(inputs: Inputs) -> Assembled:
    """Check the cluster of a resumed search (that of a new one is already checked), and assemble the run.

    Raises Refusal, UserError.
    """
    if inputs.facts.started:
        await check_executor(inputs.facts.spec, inputs.order.changes.executor)
    return await assemble(inputs)


async def _close(ctx: RunContext) -> None:
    await ctx.tools.mcp.close()
    await close_places(ctx.stage, ctx.layers, ctx.units, ctx.views)
    await ctx.activity.close()
    ctx.shared.close()


@asynccontextmanager
async def _exported_spans(
    spec: RunSpec, process: ProcessContext, tell: Callable[[str], None]
) -> AsyncGenerator[ProcessContext]:
    """Yield the context with telemetry, and send the last spans at the end. Child runs use that of their parent.

    `tell` is called with a line if no span arrived and the run could not record that. Raises UserError.
    """
    target = target_of(spec.otel, process.env) if process.spans is None else None
    if target is None:
        yield process
        return
    telemetry = Telemetry(target)
    try:
        yield replace(process, spans=telemetry)
    finally:
        if (failure := await telemetry.close()) is not None:
            tell(failure)


def _record_failed_export(telemetry: Telemetry | None, run: LiveRun) -> None:
    """Record in this run, unless it has ended, that spans do not reach the collector."""

    def record(failure: TelemetryFailed) -> bool:
        if run.facts.ended is None:
            run.ctx.events.record(failure)
        return run.facts.ended is None

    if telemetry is not None:
        telemetry.report_to(record)


def _children_of(ctx: RunContext, process: ProcessContext) -> ChildRuns | None:
    """Return the child runs of the run, or None if it starts none."""
    if not ctx.facts.spec.has_children and ctx.facts.spec.loop is not LoopKind.CHAT:
        return None
    return ChildRuns(ctx, _ChildRunner(replace(process, tried=None)))


@dataclass(frozen=True, slots=True)
class _ChildRunner:
    """Drives child runs in the process of their parent."""

    process: ProcessContext

    async def run(self, order: Order, on_event: OnEvent) -> Outcome:
        """Drive the run to its outcome, and call `on_event` with each event."""
        return await _run_claimed(order, on_event, self.process, _Signals(), lambda line: None)


async def _watch_over(
    run: LiveRun, beginning: Beginning, dependencies: Dependencies, process: ProcessContext, signals: _Signals
) -> Outcome:
    """Run the loop, the inbox and what may park the run concurrently. When one ends, the others are cancelled."""
    commands = Inbox(run, beginning.order.stale)
    driver = RunDriver(run, commands, HandoffTiers(run, process.env))
    _record_failed_export(process.spans, run)
    inbox = asyncio.ensure_future(commands.keep_reading())
    live = asyncio.ensure_future(_drive_to_end(driver, beginning, dependencies, process.env))
    parking = asyncio.ensure_future(watch_for_parking(run))
    parked = asyncio.ensure_future(run.requests.parked.wait())

    def stop(name: str) -> None:
        if len(signals.names) > 1:
            live.cancel()
        run.requests.ask_to_stop("now", f"stopped by {name}")

    signals.on = stop
    try:
        await asyncio.wait({live, inbox, parking, parked}, return_when=asyncio.FIRST_COMPLETED)
        for task in (live, inbox, parking):
            if task.done() and not task.cancelled() and (error := task.exception()) is not None:
                raise error
        if live.done() and not live.cancelled():
            return live.result()
    finally:
        if run.requests.stop is None:
            run.gate.leave_open()
        for task in (live, inbox, parking, parked):
            task.cancel()
        await asyncio.gather(live, inbox, parking, parked, return_exceptions=True)
        await driver.close()
    await note_at_end(run.ctx)
    if run.requests.stop is None:
        return outcome_of_parked(run.facts, run.ctx.journal.path)
    return _ended(run.ctx, Finish(reason=Reason.USER, detail=run.requests.stop_detail))


async def _drive_to_end(
    driver: RunDriver, beginning: Beginning, dependencies: Dependencies, env: Mapping[str, str]
) -> Outcome:
    """Begin or resume the run, then drive it until it has ended and nobody continues it."""
    run, results = driver.run, list[WorkResult]()
    is_resumed = run.facts.started
    if is_resumed:
        results += await resume(run, beginning)
        if run.passes is not None:
            await run.passes.tries.sweep()
        if run.children is not None:
            await run.children.reconcile()
    else:
        begin(run, beginning)
    record_servers(run.ctx)
    dependencies.begin()
    await run_start_hooks(run, resumed=is_resumed, hint=beginning.order.changes.hint)
    try:
        return await _drive_until_left(driver, beginning.order, env, results)
    finally:
        await dependencies.close()


async def _drive_until_left(
    driver: RunDriver, order: Order, env: Mapping[str, str], results: Sequence[WorkResult]
) -> Outcome:
    run = driver.run
    await _baseline(driver)
    while True:
        outcome = await drive(driver, results)
        await run_end_hooks(run, outcome)
        run.ctx.events.record(ended_event(outcome), durable=True)
        run.ctx.limits.count_seconds()
        notify_of_end(run.ctx, env)
        if not (order.linger and await driver.continued_after_end()):
            return outcome
        await run_start_hooks(run, resumed=True, hint=None)
        results = await settle_open(run)


async def _baseline(driver: RunDriver) -> None:
    """Prepare the judge, and check the predicates first, because a goal that is already met needs no model call.

    After an interrupt they are checked again only if the run carries out a plan, which must know what held before.
    """
    run, facts = driver.run, driver.run.facts
    if facts.step:
        return
    if not facts.spec.loop.traits.ends_on_predicates:
        await prepare_for_judge(run)
        return
    if facts.verdicts.asked:  # a person decided about the first result: the model works now
        return
    if facts.verdicts.checks and never_started(facts) is None:
        return
    while not await check_predicates(run) and facts.spec.plan_of is not None:
        await driver.until_continued()
        if run.requests.stop is not None or run.ctx.limits.deadline_passed():
            return


def _ended(ctx: RunContext, end: Finish) -> Outcome:
    """Record the end of the run, and return its outcome."""
    outcome = outcome_of(ctx.facts, end, answer=None, seconds=ctx.limits.uncounted(), journal=ctx.journal.path)
    ctx.events.record(ended_event(outcome), durable=True)
    return outcome


def _end_with_internal_error(ctx: RunContext, error: Exception) -> Outcome:
    """End the run after an internal error: the traceback goes to the journal, one line to the user."""
    error = _unwrap(error)
    what = f"internal error: {type(error).__name__}: {error}"
    trace = "".join(traceback.format_exception(error))
    ctx.events.record(Fault(kind="program", text=what, trace=trace))
    return _ended(ctx, Finish(reason=Reason.ERROR, detail=f"{what} (the traceback is in the journal)"))


def _unwrap(error: Exception) -> Exception:
    """Return the error in an exception group of one."""
    inner = cast("Sequence[Exception]", getattr(error, "exceptions", ()))
    return _unwrap(inner[0]) if len(inner) == 1 else error


def _end_early(inputs: Inputs, end: Finish) -> Outcome:
    """Record that the run began or resumed, and ended immediately. Nothing else is changed."""
    journal, facts, order = inputs.journal, inputs.facts, inputs.order
    spec = journal.spec
    first = (
        RunResumed(run_id=spec.run_id, from_seq=facts.last_seq, notes=order.notes)
        if facts.started
        else bare_start(spec, str(journal.path), order.notes)
    )
    outcome = outcome_of(facts, end, answer=None, seconds=0.0, journal=journal.path)
    inputs.on_event(journal.append(first))
    inputs.on_event(journal.append(ended_event(outcome), durable=True))
    return outcome
