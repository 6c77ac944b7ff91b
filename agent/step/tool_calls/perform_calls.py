"""Perform the tool calls of one answer: validate each, ask the gate if needed, run it, record exactly one result."""

from __future__ import annotations

import asyncio
import os
import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from ...budget.quota import OVER_QUOTA
from ...layers.remedies import LayerRefused
from ...protocol import (
    Event,
    Fault,
    JournalError,
    PlanChanged,
    QuestionAnswered,
    QuestionAsked,
    ToolCall,
    ToolCalled,
    ToolFinished,
    Waiting,
)
from ...protocol.text.plan_lines import plan_steps, plan_summary
from ...protocol.tools.traits import ending_tool, tools_with, traits_of
from ...tools.carry_out import run_reading_tool
from ...tools.parse import parse_call, with_meant_path
from ...tools.tool_arguments import EditFile, StartChild, WaitFor, WriteFile
from ...tools.tool_result import ToolResult, failure
from ...verdict.checks.finish import reject_finish
from ..hooks.tool_hooks import hooks_before_tool
from ..resources.activity import CommandEnded, PersonInterrupted
from ..resources.unit_view import refresh_unit
from .call_results import CallResults
from .gated_call import at_gate, carry_out_ruling
from .wait_for import wait_for

if TYPE_CHECKING:
    from ...gate.ruling import Ruling
    from ...host.workspace_paths import Workspace
    from ...protocol.tools.traits import ToolEffect
    from ...state.facts.run_facts import RunFacts
    from ...state.recorder import Events
    from ...tools.parse import Parsed
    from ...tools.tool_context import ToolContext
    from ..resources.run_context import RunContext
    from .background import Background
    from .call_results import Endings, GateResult

_SKIPPED = {
    "interrupt": "not run: the person interrupted the step",
    "steer": "not run: the person said something new first",
    "pause": "not run: the person paused the run",
    "wheel": "not run: the person took control",
    "stop": "not run: the person stopped the run",
    "deadline": "not run: the deadline passed",
}
_NOBODY_HERE = "Nobody is there to answer. Decide yourself, and say what you assumed."
_DECIDE_ALONE = (
    "Nobody is there to answer. Decide yourself with what you know, and say what you assumed: "
    "the check decides whether the goal is met. Another question ends the run."
)
_NOBODY = "nobody there"
_OF_PERSON = tools_with("ask", "wait")
_LONG_WAIT = 10.0
"""Seconds of a wait after which repeating calls is not a stall."""
_HANDED_OVER = "Nobody is there to answer now: the run is handed over, and the answer will come as a message."
_PARALLEL_READS, _PARALLEL_CHILDREN = 8, 4
"""Reads and child runs that run in parallel. The time-out of a read starts when it starts, not with the answer."""


class GatedCalls:
    """Performs the tool calls of the model. The gate decides about those that change something."""

    async def perform(
        self,
        ctx: RunContext,
        calls: Sequence[ToolCall],
        events: Events,
        *,
        step: int,
        work: str | None,
        names: Sequence[str],
        endings: Endings | None,
    ) -> CallResults:
        """Perform all calls: reads in parallel, changes of several files as one review, the rest in order.

        A call that ends the work comes last. If a proposal stays open, its call and those after it have no result.
        Raises PersonInterrupted at the end.
        """
        ctx.background.new_answer()
        named = [msgspec.structs.replace(call, call_id=f"call_{step}_{i}") for i, call in enumerate(calls, 1)]
        made, outcome = _parsed(ctx, named, names), CallResults(work, endings)
        if len(made) == 1 and made[0].effect == "end":
            _end_immediately(ctx, made[0], events, outcome)
            return outcome
        with ctx.events.together():
            for one in made:
                events.record(_called(one))
        return await _perform(ctx, made, events, outcome)

    async def resume(
        self, ctx: RunContext, calls: Sequence[ToolCall], events: Events, *, names: Sequence[str]
    ) -> CallResults:
        """Perform calls that are in the journal without a result, when a run resumes."""
        return await _perform(ctx, _parsed(ctx, calls, names), events, CallResults())

    async def carry_out(
        self, ctx: RunContext, call: ToolCall, arguments: msgspec.Struct | None, ruling: Ruling, events: Events
    ) -> GateResult:
        """Carry out a ruling on a file change, after the runner died that should have done it."""
        return await carry_out_ruling(ctx, call, arguments, ruling, events)


def _over_quota(ctx: RunContext, one: _ParsedCall) -> str | None:
    """Count the call, or return why the quota of its tool refuses it."""
    return ctx.quotas.admit(one.call.tool, ctx.clock.monotonic(), ctx.facts.step, ctx.facts.spec.gate.quotas)


def _end_immediately(ctx: RunContext, one: _ParsedCall, events: Events, outcome: CallResults) -> None:
    """Record the call, its result and what follows from it in one commit, so that a crash cannot separate them."""
    refusal = _over_quota(ctx, one)
    with ctx.events.together():
        events.record(_called(one))
        result = ToolResult(ok=False, text=refusal, summary=OVER_QUOTA) if refusal else _end_work(one, outcome)
        _conclude(one, result, 0.0, events, outcome)


def _conclude(one: _ParsedCall, result: ToolResult, seconds: float, events: Events, outcome: CallResults) -> None:
    """Record the result, and what follows from a call that ended the work. Call it inside a transaction."""
    _finish(one, result, seconds, events, outcome)
    if outcome.ending is not None and outcome.ended_with == one.call.tool and outcome.endings is not None:
        outcome.endings.record_ending(outcome.work, one.call.tool, outcome.ending)


def _parsed(ctx: RunContext, calls: Sequence[ToolCall], names: Sequence[str]) -> list[_ParsedCall]:
    parsed = [parse_call(call.tool, call.arguments, names, ctx.tools.mcp) for call in calls]
    return [
        _ParsedCall(call, with_meant_path(call.tool, each, ctx.workspace))
        for call, each in zip(calls, parsed, strict=True)
    ]


async def _perform(ctx: RunContext, made: Sequence[_ParsedCall], events: Events, outcome: CallResults) -> CallResults:
    outcome.places = _places_of(made, ctx.tools.workspace.root)
    outcome.children = sum(one.effect == "child" for one in made)
    try:
        for batch in _batches_of(made, ctx):
            try:
                await refresh_unit(ctx, events)
            except LayerRefused as refused:
                for one in batch:
                    _finish(one, failure(f"Nothing was done: {refused}.", "not run"), 0.0, events, outcome)
                continue
            await _together(ctx, batch, events, outcome)
            if outcome.left_open:
                break
    except PersonInterrupted as how:
        answered = {call.call_id for call, _, _ in outcome.results} | outcome.left_open
        for one in made:
            if one.call.call_id not in answered:
                _finish(one, ToolResult(ok=False, text=_SKIPPED[str(how)], summary="not run"), 0.0, events, outcome)
        raise
    return outcome


@dataclass(frozen=True, slots=True)
class _ParsedCall:
    """A call and its parsed arguments."""

    call: ToolCall
    parsed: Parsed

    @property
    def effect(self) -> ToolEffect | None:
        """Return what the call does, or None if it is not a valid call."""
        return None if self.parsed.error is not None else traits_of(self.call.tool).effect


def _batches_of(calls: Sequence[_ParsedCall], ctx: RunContext) -> list[list[_ParsedCall]]:
    """Group adjacent reads, child runs, and changes of different files. The call that ends the work comes last."""
    batches: list[list[_ParsedCall]] = []
    files: set[str] = set()
    for one in sorted(calls, key=lambda call: call.effect in ("finish", "end")):
        last, file = batches[-1][-1] if batches else None, _changed_file(one, ctx.tools.workspace.root)
        most = _most_together(last, one, ctx)
        if most and len(batches[-1]) < most:
            batches[-1].append(one)
        elif file is not None and files and file not in files:
            batches[-1].append(one)
            files.add(file)
        else:
            batches.append([one])
            files = set() if file is None else {file}
    return batches


def _most_together(last: _ParsedCall | None, one: _ParsedCall, ctx: RunContext) -> int:
    """Return how many calls may run in parallel if this one runs with the last one. 0 means that it does not."""
    if last is None:
        return 0
    if last.effect == one.effect == "child":
        return _PARALLEL_CHILDREN
    return _PARALLEL_READS if _only_reads(last, ctx) and _only_reads(one, ctx) else 0


def _only_reads(one: _ParsedCall, ctx: RunContext) -> bool:
    """Return whether the call passes no gate. Requests do in a search that lists its hosts."""
    return one.effect == "read" or (one.effect == "web" and ctx.tools.fetcher is not None)


def _places_of(calls: Sequence[_ParsedCall], root: Path) -> dict[str, tuple[int, int]]:
    """Return for each change the number of its file and of all files, if the answer changes several files."""
    found = {one.call.call_id: file for one in calls if (file := _changed_file(one, root)) is not None}
    files = list(dict.fromkeys(found.values()))
    return {name: (files.index(file) + 1, len(files)) for name, file in found.items()} if len(files) > 1 else {}


def _changed_file(one: _ParsedCall, root: Path) -> str | None:
    """Return one name for the file that the call changes: links resolved, case folded.

    Returns None if it changes none.
    """
    given = one.parsed.arguments
    if not isinstance(given, EditFile | WriteFile):
        return None
    try:
        return os.path.realpath(root / given.path).casefold()
    except (ValueError, OSError):
        return None


async def _together(ctx: RunContext, batch: Sequence[_ParsedCall], events: Events, outcome: CallResults) -> None:
    """Run several calls in parallel. Each has its result at the end, even after an interrupt."""
    if len(batch) == 1:
        await _answer(ctx, batch[0], events, outcome)
    elif batch[0].effect == "child" or _only_reads(batch[0], ctx):
        ends = await asyncio.gather(*(_answer(ctx, one, events, outcome) for one in batch), return_exceptions=True)
        _raise_worst([end for end in ends if end is not None])
    else:
        _raise_worst(await _perform_as_review(ctx, batch, events, outcome))


async def _perform_as_review(
    ctx: RunContext, changes: Sequence[_ParsedCall], events: Events, outcome: CallResults
) -> list[BaseException]:
    """Show the changes at the gate together, as one review. Returns their exceptions.

    Each change begins when the one before it is done or waits for a person.

    If the journal fails, the waiting ones are cancelled, because nobody could decide on them.
    """
    turns = [asyncio.Event() for _ in range(len(changes) + 1)]
    turns[0].set()

    async def in_turn(at: int, change: _ParsedCall) -> None:
        await turns[at].wait()
        try:
            ctx.activity.raise_if_interrupted()
            await _answer(ctx, change, _TurnEvents(events, turns[at + 1]), outcome)
        except JournalError:
            ctx.activity.interrupt("stop")
            raise
        finally:
            turns[at + 1].set()

    ends = await asyncio.gather(*(in_turn(at, one) for at, one in enumerate(changes)), return_exceptions=True)
    return [end for end in ends if end is not None]


def _raise_worst(raised: Sequence[BaseException]) -> None:
    """Raise the first error; if there is none, the person's interrupt, if any."""
    for error in sorted(raised, key=lambda error: isinstance(error, PersonInterrupted)):
        raise error


@dataclass(frozen=True, slots=True)
class _TurnEvents:
    """Records events, and starts the next change of a review as soon as this one waits."""

    events: Events
    next_turn: asyncio.Event

    def record(self, event: Event) -> None:
        self.events.record(event)
        if isinstance(event, Waiting):
            self.next_turn.set()


def _called(one: _ParsedCall) -> ToolCalled:
    arguments = one.parsed.raw if one.parsed.error is None or one.parsed.raw is not None else one.call.arguments
    return ToolCalled(
        call_id=one.call.call_id,
        tool=one.call.tool,
        arguments=arguments,
        repaired=one.parsed.repaired,
        from_text=one.call.from_text,
        seen=one.call.seen,
    )


def _finish(one: _ParsedCall, result: ToolResult, seconds: float, events: Events, outcome: CallResults) -> None:
    events.record(
        ToolFinished(
            call_id=one.call.call_id,
            tool=one.call.tool,
            ok=result.ok,
            result=result.text,
            seconds=seconds,
            full=result.full,
            summary=result.summary or None,
            disturbed=result.disturbed,
            seen=result.seen,
            images=result.images,
            stays=result.stays,
        )
    )
    outcome.results.append((one.call, one.parsed, result))


async def _answer(ctx: RunContext, one: _ParsedCall, events: Events, outcome: CallResults) -> None:
    """Perform one call and record its result. An error of the program becomes a failed result and a recorded fault."""
    before = ctx.clock.monotonic()
    if one.parsed.error is not None:
        result = ToolResult(ok=False, text=one.parsed.error, summary=one.parsed.summary)
    elif refusal := _over_quota(ctx, one):
        result = ToolResult(ok=False, text=refusal, summary=OVER_QUOTA)
    else:
        try:
            result = await _run(ctx, one, events, outcome)
        except PersonInterrupted as how:
            _finish(one, _interrupted(how), ctx.clock.monotonic() - before, events, outcome)
            raise
        except JournalError:
            raise
        except Exception as error:  # noqa: BLE001 - a fault of the program must not end the run
            what = f"{type(error).__name__}: {error}"
            events.record(Fault(kind="program", text=f"{one.call.tool}: {what}", trace=traceback.format_exc()))
            result = ToolResult(ok=False, text=f"{one.call.tool} failed inside the program ({what})", summary="failed")
    if result is None:
        outcome.left_open.add(one.call.call_id)
        return
    took = ctx.clock.monotonic() - before if result.finished is None else result.finished.seconds
    with ctx.events.together():
        _conclude(one, result, took, events, outcome)


def _interrupted(how: PersonInterrupted) -> ToolResult:
    """Return the result of an interrupted call. For a command, it says what was done until then."""
    if isinstance(how, CommandEnded):
        return ToolResult(ok=False, text=how.left, summary="interrupted", stays=how.stays)
    return ToolResult(ok=False, text=_SKIPPED[str(how)], summary="interrupted")


async def _run(ctx: RunContext, one: _ParsedCall, events: Events, outcome: CallResults) -> ToolResult | None:
    hooks = await hooks_before_tool(ctx, one.call, one.parsed, events)
    result = hooks.refused or await _allowed_by_hooks(ctx, one, events, outcome)
    return result and result.with_notes(hooks.notes)


async def _allowed_by_hooks(
    ctx: RunContext, one: _ParsedCall, events: Events, outcome: CallResults
) -> ToolResult | None:
    match traits_of(one.call.tool).effect:
        case "wait" | "child" | "ask":
            return await _wait_for_others(ctx, one, events, outcome)
        case "finish":
            return _judge_finish(ctx.tools, ctx.facts, ctx.workspace, one, outcome)
        case "end":
            return _end_work(one, outcome)
        case "plan":
            return _keep_plan(ctx.tools, one, events)
        case "stop":
            return await _stop_command(ctx.tools, ctx.background, one, events)
        case "read" | "web" | "change" | "command" | "mcp" | "agree":
            return await (_read(ctx, one) if _only_reads(one, ctx) else _at_gate(ctx, one, events, outcome))


async def _read(ctx: RunContext, one: _ParsedCall) -> ToolResult:
    with ctx.limits.running():
        return await ctx.activity.interruptible(run_reading_tool(one.call.tool, one.parsed.arguments, ctx.tools))


async def _at_gate(ctx: RunContext, one: _ParsedCall, events: Events, outcome: CallResults) -> ToolResult | None:
    """Return the result, or None if the proposal stays open until someone decides."""
    place, can_stay_open = outcome.places.get(one.call.call_id, (0, 0)), outcome.work is None and ctx.work is None
    gated = await at_gate(ctx, one.call, one.parsed.arguments, events, can_stay_open=can_stay_open, place=place)
    outcome.handoff = gated.handoff or outcome.handoff
    if gated.is_rejected:
        outcome.rejected.add(one.call.call_id)
    return gated.result


async def _stop_command(tools: ToolContext, background: Background, one: _ParsedCall, events: Events) -> ToolResult:
    """Stop a background command. It needs no gate, because the model started it."""
    name = tools.command_name(one.parsed.arguments)
    ended = await background.stop(name, "model", events)
    if ended is None:
        running = ", ".join(background.names()) or "nothing"
        return ToolResult(ok=False, text=f"nothing runs under `{name}`; running: {running}", summary="not there")
    return ToolResult(ok=True, text=f"`{name}` was ended. Its last lines:\n{ended.output}", summary="ended")


def _keep_plan(tools: ToolContext, one: _ParsedCall, events: Events) -> ToolResult:
    lines = tools.plan(one.parsed.arguments)
    events.record(PlanChanged(lines=lines))
    return ToolResult(ok=True, text="the plan is kept", summary=plan_summary(plan_steps(lines)))


def _end_work(one: _ParsedCall, outcome: CallResults) -> ToolResult:
    """End the work. Only the first such call counts."""
    if outcome.ending is not None:
        return ToolResult(ok=False, text="this step already ended with such a call", summary="said already")
    arguments = msgspec.to_builtins(one.parsed.arguments)
    if outcome.endings is not None and (why := outcome.endings.refuse_ending(outcome.work, one.call.tool, arguments)):
        return ToolResult(ok=False, text=f"{one.call.tool} is not accepted: {why}", summary="not accepted")
    outcome.ended_with, outcome.ending = ending_tool(one.call.tool), arguments
    return ToolResult(ok=True, text="noted", summary="noted")


def _judge_finish(
    tools: ToolContext, facts: RunFacts, workspace: Workspace, one: _ParsedCall, outcome: CallResults
) -> ToolResult:
    answer, citations = tools.finish(one.parsed.arguments)
    rejection = reject_finish(answer, citations, workspace, facts.touched())
    if rejection is not None:
        return ToolResult(ok=False, text=f"finish rejected: {rejection}", summary="rejected")
    outcome.ended_with = "finish"
    checked = " The check decides whether the goal is met." if facts.spec.predicates.exist else ""
    return ToolResult(ok=True, text=f"finish accepted.{checked}", summary="accepted")


async def _wait_for_others(ctx: RunContext, one: _ParsedCall, events: Events, outcome: CallResults) -> ToolResult:
    """Return the result of a call that waits for something, for a child run or for a person."""
    given = one.parsed.arguments
    if isinstance(given, WaitFor):
        return await _wait_for(ctx, one, events, outcome)
    if isinstance(given, StartChild):
        assert ctx.children is not None  # only a chat offers the tool, in its own conversation
        return await ctx.children.call(one.call.call_id, given, events, among=outcome.children)
    return await _ask_person(ctx, one.call, one.parsed, events, outcome)


async def _wait_for(ctx: RunContext, one: _ParsedCall, events: Events, outcome: CallResults) -> ToolResult:
    """Wait for what the call names. A message ends only a wait in the conversation that gets it."""
    wanted = one.parsed.arguments
    assert isinstance(wanted, WaitFor)
    before = ctx.activity.awaited
    hears_messages = outcome.work is None and ctx.work is None
    result = await wait_for(ctx, one.call.call_id, wanted, events, hears_messages=hears_messages)
    if ctx.activity.awaited - before >= _LONG_WAIT:
        outcome.has_waited = True
    return _nobody_answers(ctx, f"the model waits for a person: {wanted.person}", outcome) if result is None else result


async def _ask_person(
    ctx: RunContext, call: ToolCall, parsed: Parsed, events: Events, outcome: CallResults
) -> ToolResult:
    """Ask the person a question of the model, and wait for the answer.

    If nobody is there, the run is handed off or the model decides. In a run with a check, the model decides the
    questions of one step before a later question hands the run off.
    """
    question, name = ctx.tools.question(parsed.arguments), call.call_id
    if name in ctx.facts.requests.answers:
        return ToolResult(ok=True, text=ctx.facts.requests.answers[name], summary="answered")
    if not ctx.journal.views.is_attended():
        return _nobody_answers(ctx, f"the model asks: {question.question}", outcome)
    events.record(QuestionAsked(question_id=name, question=question.question, options=question.options))
    events.record(Waiting(why="question"))
    asked = ctx.facts.requests.questions
    await ctx.activity.interruptible(
        ctx.activity.until(lambda: name not in asked or (ctx.headless and not ctx.journal.views.is_attended()))
    )
    if name in asked:
        result = _nobody_answers(ctx, f"the model asks: {question.question}", outcome)
        events.record(QuestionAnswered(question_id=name, text=result.text, by="program"))
        return result
    return ToolResult(ok=True, text=ctx.facts.requests.answers[name], summary="answered")


def _nobody_answers(ctx: RunContext, asks: str, outcome: CallResults) -> ToolResult:
    """Return the result of a call that needs a person, if none is there. `asks`: the reason of a hand-off."""
    on_ask = ctx.gate.policy.on_ask
    if on_ask == "refuse":
        return ToolResult(ok=True, text=_NOBODY_HERE, summary=_NOBODY)
    if on_ask is None and ctx.facts.spec.predicates.exist and not _was_told(ctx.facts):
        return ToolResult(ok=True, text=_DECIDE_ALONE, summary=_NOBODY)
    outcome.handoff = asks
    return ToolResult(ok=False, text=_HANDED_OVER, summary=_NOBODY)


def _was_told(facts: RunFacts) -> bool:
    """Return whether a question or a wait for a person of an earlier step was already answered that nobody is there."""
    asked = (action for action in facts.actions if action.tool in _OF_PERSON and action.summary == _NOBODY)
    return any(action.step != facts.step for action in asked)
