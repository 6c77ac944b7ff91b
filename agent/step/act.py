"""The tool calls of one answer: each is validated, passes the gate where it must, runs, and gets exactly one result."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field

from ..gate import CommandDraft, Draft, Ruling
from ..protocol import (
    Event,
    FileChanged,
    PlanChanged,
    ProposalOpened,
    QuestionAsked,
    Record,
    Stamped,
    ToolCall,
    ToolCalled,
    ToolFinished,
    Waiting,
)
from ..stops import reject_finish
from ..tools import TOOLS, Parsed, ToolResult, draft_of, land, parse_arguments, plan_again, read
from .call import Reply
from .commands import run_at_gate
from .kit import Kit, PersonInterrupted

_SKIPPED = {
    "interrupt": "not run: the person interrupted the step",
    "steer": "not run: the person said something new first",
    "pause": "not run: the person paused the run",
    "stop": "not run: the person stopped the run",
}
NOBODY = "Nobody is there to answer. Decide yourself, and say what you assumed."


@dataclass(slots=True)
class Acted:
    """What came of a step's calls."""

    results: list[tuple[ToolCall, Parsed, ToolResult]] = field(
        default_factory=list[tuple[ToolCall, Parsed, ToolResult]]
    )
    ended_with: str | None = None
    """The tool that ended the work: an accepted `finish`, or nothing."""
    rejected: set[str] = field(default_factory=set[str])
    """Calls to which a person said no."""
    handoff: str | None = None
    """Someone has to decide: why."""


@dataclass(frozen=True, slots=True)
class _Call:
    call: ToolCall
    parsed: Parsed


async def act(kit: Kit, reply: Reply, record: Record, *, step: int, names: Sequence[str]) -> Acted:
    """All calls are answered: reads at once, changes in order, `finish` last. Raises PersonInterrupted after that."""
    calls = [ToolCall(f"call_{step}_{i}", call.tool, call.arguments) for i, call in enumerate(reply.calls, 1)]
    return await perform_calls(kit, calls, record, names=names)


async def perform_calls(kit: Kit, calls: Sequence[ToolCall], record: Record, *, names: Sequence[str]) -> Acted:
    """As `act`, for calls that have their ids (a resumed run's are taken up again)."""
    acted = Acted()
    known = {action.call_id for action in kit.facts.actions}
    made = [_Call(call, parse_arguments(call.tool, call.arguments, names)) for call in calls]
    for one in made:
        if one.call.call_id not in known:
            record(_called(one))
    interrupted: PersonInterrupted | None = None
    for batch in _batches(made):
        if interrupted is None:
            try:
                async with asyncio.TaskGroup() as group:
                    for one in batch:
                        group.create_task(_answer(kit, one, record, acted))
            except* PersonInterrupted as several:
                interrupted = PersonInterrupted(str(several.exceptions[0]))
    if interrupted is not None:
        answered = {call.call_id for call, _, _ in acted.results}
        for one in made:
            if one.call.call_id not in answered:
                _finish(
                    one, ToolResult(ok=False, text=_SKIPPED[str(interrupted)], summary="not run"), 0.0, record, acted
                )
        raise interrupted
    return acted


def _batches(made: Sequence[_Call]) -> list[list[_Call]]:
    """Neighbouring reads together, every other call alone, `finish` at the end."""
    batches: list[list[_Call]] = []
    for one in sorted(made, key=lambda one: one.call.tool == "finish"):
        last = batches[-1][-1] if batches else None
        if last is not None and _is_read(last) and _is_read(one):
            batches[-1].append(one)
        else:
            batches.append([one])
    return batches


def _is_read(one: _Call) -> bool:
    return one.parsed.error is None and TOOLS[one.call.tool].kind == "read"


def _called(one: _Call) -> ToolCalled:
    arguments = one.parsed.raw if one.parsed.error is None or one.parsed.raw is not None else one.call.arguments
    return ToolCalled(call_id=one.call.call_id, tool=one.call.tool, arguments=arguments, repaired=one.parsed.repaired)


def _finish(one: _Call, result: ToolResult, seconds: float, record: Record, acted: Acted) -> None:
    record(
        ToolFinished(
            call_id=one.call.call_id,
            tool=one.call.tool,
            ok=result.ok,
            result=result.text,
            seconds=seconds,
            full=result.full,
            summary=result.summary or None,
        )
    )
    acted.results.append((one.call, one.parsed, result))


async def _answer(kit: Kit, one: _Call, record: Record, acted: Acted) -> None:
    """One call's one result."""
    before = kit.clock.monotonic()
    if one.parsed.error is not None:
        result = ToolResult(ok=False, text=one.parsed.error, summary="wrong call")
    elif refusal := kit.quotas.take(one.call.tool, kit.clock.now()):
        result = ToolResult(ok=False, text=refusal, summary="over quota")
    else:
        try:
            result = await _run(kit, one, record, acted)
        except PersonInterrupted as how:
            _finish(one, _interrupted(one, how), kit.clock.monotonic() - before, record, acted)
            raise
    _finish(one, result, kit.clock.monotonic() - before, record, acted)


def _interrupted(one: _Call, how: PersonInterrupted) -> ToolResult:
    """A call that had begun: what it left half-done is said."""
    if one.call.tool != "run_command":
        return ToolResult(ok=False, text=_SKIPPED[str(how)], summary="interrupted")
    text = "the person ended this command while it ran or waited: it may have done a part of its work. Look first."
    return ToolResult(ok=False, text=text, summary="interrupted")


async def _run(kit: Kit, one: _Call, record: Record, acted: Acted) -> ToolResult:
    match TOOLS[one.call.tool].kind:
        case "read":
            with kit.watch.running():
                return await kit.interruptible(read(one.call.tool, one.parsed.arguments, kit.tools))
        case "ask":
            return await _ask(kit, one, record, acted)
        case "finish":
            return _judge_finish(kit, one, acted)
        case "plan":
            return _keep_plan(kit, one, record)
        case "change" | "command":
            return await _at_gate(kit, one, record, acted)


async def _at_gate(kit: Kit, one: _Call, record: Record, acted: Acted) -> ToolResult:
    """A change or a command: drafted, ruled on, done. What went stale in between comes before the gate again."""
    draft = draft_of(one.call.tool, one.parsed.arguments, kit.tools)
    while not isinstance(draft, ToolResult):
        ruling = await kit.interruptible(kit.gate.pass_(draft, call_id=one.call.call_id, record=_tell_waiting(record)))
        if ruling.handoff:
            acted.handoff = f"someone has to approve: {one.call.tool} {_what(draft)}"
        if not ruling.approved and ruling.by == "person":
            acted.rejected.add(one.call.call_id)
        if ruling.approved and isinstance(ruling.draft, CommandDraft):
            return await run_at_gate(kit, ruling.draft, ruling, record)
        result = await _write(kit, draft, ruling, record)
        if not result.stale or isinstance(ruling.draft, CommandDraft):
            return result
        draft = plan_again(ruling.draft, kit.tools)
    return draft


async def _write(kit: Kit, draft: Draft, ruling: Ruling, record: Record) -> ToolResult:
    with kit.watch.running():
        result = await land(draft, ruling, kit.tools)
    kit.changed = kit.changed or bool(result.files)
    for change in result.files:
        record(
            FileChanged(
                path=change.path,
                by="person" if ruling.edited else "model",
                before=change.before,
                after=change.after,
                added=change.added,
                removed=change.removed,
            )
        )
    return result


def _what(draft: Draft) -> str:
    return draft.command if isinstance(draft, CommandDraft) else draft.path


def _tell_waiting(record: Record) -> Record:
    """Says that the run waits for a person when a proposal opens that the policy does not decide."""

    def tell(event: Event) -> Stamped:
        stamped = record(event)
        if isinstance(event, ProposalOpened) and event.asks:
            record(Waiting(why="gate"))
        return stamped

    return tell


def _keep_plan(kit: Kit, one: _Call, record: Record) -> ToolResult:
    lines = kit.tools.plan(one.parsed.arguments)
    record(PlanChanged(lines=lines))
    return ToolResult(ok=True, text="the plan is kept", summary=f"{len(lines)} lines")


async def _ask(kit: Kit, one: _Call, record: Record, acted: Acted) -> ToolResult:
    """Waits for the person's answer; where nobody is there the run is handed off, or the model decides."""
    question = kit.tools.question(one.parsed.arguments)
    if not kit.watched():
        if kit.gate.policy.on_ask != "refuse":
            acted.handoff = f"the model asks: {question.question}"
        return ToolResult(ok=kit.gate.policy.on_ask == "refuse", text=NOBODY, summary="nobody there")
    record(QuestionAsked(question_id=one.call.call_id, question=question.question, options=question.options))
    record(Waiting(why="question"))
    await kit.interruptible(kit.until(lambda: one.call.call_id not in kit.facts.questions))
    return ToolResult(ok=True, text=kit.facts.answers[one.call.call_id], summary="answered")


def _judge_finish(kit: Kit, one: _Call, acted: Acted) -> ToolResult:
    answer, citations = kit.tools.finish(one.parsed.arguments)
    rejection = reject_finish(answer, citations, kit.workspace, kit.facts.touched())
    if rejection is not None:
        return ToolResult(ok=False, text=f"finish rejected: {rejection}", summary="rejected")
    acted.ended_with = "finish"
    checked = " The check decides whether the goal is met." if kit.facts.spec.predicates.exist else ""
    return ToolResult(ok=True, text=f"finish accepted.{checked}", summary="accepted")
