"""Do one work order: its steps, each a model call with the tool calls of its answer."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..budget.stall.hint import stall_hint
from ..protocol import (
    Exhausted,
    Interrupted,
    Interruptible,
    Prompted,
    StallDetected,
    StepFinished,
    StepStarted,
    ToolSpec,
    Work,
    WorkResult,
)
from ..state.view.show.titles import stall_name
from ..tools.tool_table import tool_specs, usage
from .checks.verify import verify
from .detect_stalls import detect_stalls
from .diagnostics.diagnose import diagnose
from .formats.file_edits import NO_FILE
from .formats.format_offer import offer_format
from .formats.text_edits import TOOLS, TextEdits
from .formats.unused_code import nudge_about_code
from .hooks.send_context import send_start_context
from .model_call.call import Failed, call, prepare_call
from .model_call.changed_elsewhere import tell_changed
from .model_call.reading_speed import measure_reading
from .model_call.written_ending import written_ending
from .prompt.folder_instructions import send_folder_instructions
from .prompt.next_prompt import file_space, note_shortened, reading_speed, window_too_small
from .prompt.server_instructions import send_server_instructions
from .resources.activity import PersonInterrupted
from .review_mcp_lists import review_lists
from .tool_calls.direct_changes import record_background_changes

if TYPE_CHECKING:
    from ..budget.admission import Grant
    from ..state.facts.run_facts import RunFacts
    from ..state.recorder import Events, Recorder
    from .diagnostics.diagnose import FileDigests
    from .model_call.stream import Reply
    from .prompt.fit_conversation import Fitted
    from .resources.run_context import RunContext
    from .tool_calls.call_results import CallResults, Endings

_LONG = 4_000
"""Characters of a message with a file above which the reading speed of the server matters."""
CUT_CALLS = (
    "Your answer was too long and was cut off: the first {count} of its calls were run, "
    "the rest were not. Send fewer or shorter calls in one answer."
)


async def perform(ctx: RunContext, work: Work, tools: Sequence[str], *, endings: Endings | None = None) -> WorkResult:
    """Run steps until the work reaches its cap or its ending tool, fails, exhausts the budget, or a person ends it.

    All of these are returned, not raised.
    """
    if work.system is not None and not ctx.facts.conversation(work.work).messages:
        ctx.events.record(Prompted(kind="system", text=work.system), work=work.work)
    if work.prompt is not None:
        ctx.events.record(Prompted(kind=work.prompt_kind, text=work.prompt), work=work.work)
    edits = ctx.edits if work.work is None and ctx.edits is not None and ctx.edits.is_active else None
    own = tool_specs(work.tools if work.tools is not None else tools) if edits is None else []
    for done in range(work.step_cap):
        if done and not await ctx.activity.rest_while_paused():
            return WorkResult(work=work.work, steps=done, interrupted=True)
        specs = await _before_step(ctx, work, own, edits, done)
        if isinstance(specs, WorkResult):
            return specs
        fitted, grant = prepare_call(ctx, work.work, specs, edits)
        if not isinstance(grant, Exhausted) and _model_spoke_last(ctx.facts, work.work):
            ctx.events.record(Prompted(kind="note", text=_continue_message(work)), work=work.work)
            fitted, grant = prepare_call(ctx, work.work, specs, edits)
        if isinstance(grant, Exhausted):
            return WorkResult(work=work.work, steps=done, exhausted=grant)
        if not fitted.fits:
            return WorkResult(
                work=work.work,
                steps=done,
                fault=window_too_small(ctx.facts, ctx.models, edits, work.work, specs),
            )
        if work.work is None:
            ctx.prompts.offered = specs
        note_shortened(ctx, fitted.fixed, work.work, specs, ctx.events.bound(None, work.work))
        result = await _step(ctx, work, specs, fitted, grant, edits, endings)
        if isinstance(result, WorkResult):
            return result
        if result.ended_with is not None and result.ended_with == work.ends_with:
            return WorkResult(work=work.work, steps=done + 1, ending=result.ending)
    return WorkResult(work=work.work, steps=work.step_cap)


async def _before_step(
    ctx: RunContext, work: Work, own: Sequence[ToolSpec], edits: TextEdits | None, done: int
) -> list[ToolSpec] | WorkResult:
    """Prepare what the model is shown, and return the tools of the step, or why the work ends before it.

    The tools of MCP servers are offered only in the run's own conversation.
    """
    has_servers = work.work is None and work.tools is None and bool(ctx.tools.mcp.clients)
    send_start_context(ctx, work.work)
    try:
        if edits is None:
            await measure_reading(ctx)
            if work.work is None and not _model_spoke_last(ctx.facts, None):
                await tell_changed(ctx)
        else:
            shown = await _show_files(ctx, edits)
            return [] if shown else WorkResult(work=work.work, steps=done, fault=NO_FILE)
        if has_servers:
            await review_lists(ctx, ctx.events.bound(None, None))
            if not _model_spoke_last(ctx.facts, None):
                send_server_instructions(ctx, ctx.events.bound(None, None))
    except PersonInterrupted:
        return WorkResult(work=work.work, steps=done, interrupted=True)
    return [*own, *ctx.tools.mcp.specs()] if has_servers else [*own]


async def _show_files(ctx: RunContext, edits: TextEdits) -> bool:
    """Send the messages that show files. Returns False if there is no file to edit. Raises PersonInterrupted."""
    await ctx.fingerprint.take()
    shown = await asyncio.to_thread(edits.show, file_space(ctx))
    if shown is not None and sum(len(one.text) for one in shown) > _LONG and reading_speed(ctx.models.current) is None:
        await measure_reading(ctx)
        shown = await asyncio.to_thread(edits.show, file_space(ctx))
    for file in shown or ():
        ctx.events.record(file)
    return shown is not None


def _continue_message(work: Work) -> str:
    """Return the message after an answer without calls: it names the tool that ends the work, if there is one."""
    if not work.ends_with:
        return "Continue."
    how = f"call `{work.ends_with}`"
    if written_ending([work.ends_with]) is not None:
        how += f", or write its arguments as one JSON object ({usage(work.ends_with)})"
    return f"Continue; when you are done, {how}: nothing else ends this."


def _model_spoke_last(facts: RunFacts, work: str | None) -> bool:
    """Return whether the last message is the model's. Some providers do not continue then, so another must follow."""
    messages = facts.conversation(work).messages
    return bool(messages) and messages[-1].role == "assistant"


async def _step(
    ctx: RunContext,
    work: Work,
    specs: Sequence[ToolSpec],
    fitted: Fitted,
    grant: Grant,
    edits: TextEdits | None,
    endings: Endings | None,
) -> CallResults | WorkResult:
    """Run one step and record it from start to end."""
    number, earlier = ctx.facts.next_step, dict(ctx.facts.changes.files)
    events = ctx.events.bound(number, work.work)
    events.record(StepStarted(number=number))
    runs: Interruptible = "model"
    try:
        reply = await call(ctx, work.work, specs, events, fitted, grant, edits=edits)
        if isinstance(reply, Failed):
            return WorkResult(work=work.work, steps=1, fault=reply.text, retryable=reply.retryable)
        if isinstance(reply, Exhausted):
            return WorkResult(work=work.work, steps=1, exhausted=reply)
        runs = "tool"
        await ctx.activity.interruptible(ctx.start_checks.ready())
        names = [spec.name for spec in specs] if edits is None else TOOLS
        outcome = await ctx.calls.perform(
            ctx, reply.calls, events, step=number, work=work.work, names=names, endings=endings
        )
        if outcome.left_open:
            return WorkResult(work=work.work, steps=1, handoff=outcome.handoff)
        for note in () if edits is None else edits.notes:
            events.record(note)
        runs = "check"
        if edits is not None and edits.has_tries:
            await _check_candidate(ctx, outcome, events)
            return _handed_off(ctx, work, outcome) or outcome
        stall = await _check_after_step(ctx, work, reply, outcome, events, earlier)
        return _handed_off(ctx, work, outcome) or _stalled(ctx.events, work, stall) or outcome
    except PersonInterrupted as how:
        events.record(Interrupted(what=runs, detail=str(how)))
        return WorkResult(work=work.work, steps=1, interrupted=True)
    finally:
        events.record(StepFinished(number=number, seconds=ctx.limits.count_seconds(), world=ctx.facts.world))


def _handed_off(ctx: RunContext, work: Work, outcome: CallResults) -> WorkResult | None:
    """Return the result if someone has to decide, or if a quota is used up."""
    if outcome.handoff is not None:
        return WorkResult(work=work.work, steps=1, handoff=outcome.handoff)
    if (over := ctx.quotas.end(ctx.facts.spec.gate.quotas)) is not None:
        return WorkResult(work=work.work, steps=1, exhausted=Exhausted(resource="quota", detail=over))
    return None


def _stalled(events: Recorder, work: Work, stall: StallDetected | None) -> WorkResult | None:
    """Send a hint about a stall to a work with its own conversation, or fail it if the stall continues.

    A stall in the run's own conversation is handled by the loop.
    """
    if stall is None or work.work is None:
        return None
    if stall.response != "hint":
        fault = f"the model repeated itself ({stall_name(stall.kind)}: {stall.signature})"
        return WorkResult(work=work.work, steps=1, fault=fault, stalled=True)
    events.record(Prompted(kind="hint", text=stall_hint(stall.kind, stall.signature)), work=work.work)
    return None


async def _check_candidate(ctx: RunContext, outcome: CallResults, events: Events) -> None:
    """Run the checks if an answer in a file format changed something. The loop compares the answers."""
    await ctx.fingerprint.refresh()
    if any(result.ok for _, _, result in outcome.results):
        await verify(ctx, events, claim=True)  # also with `--verify on-claim`
    ctx.activity.raise_if_interrupted()


async def _check_after_step(
    ctx: RunContext, work: Work, reply: Reply, outcome: CallResults, events: Events, earlier: FileDigests
) -> StallDetected | None:
    """Run tools, checks and detectors after the step. Returns what a detector found. `earlier`: files at its start."""
    if notes := await record_background_changes(ctx, events):
        events.record(Prompted(kind="background", text="\n".join(notes)))
    if reply.finish == "length" and reply.calls and not reply.calls[0].from_text:
        events.record(Prompted(kind="note", text=CUT_CALLS.format(count=len(reply.calls))))
    if work.work is None and not reply.calls and reply.finish == "stop":
        nudge = await nudge_about_code(ctx, reply.text)
        if nudge is not None:
            events.record(Prompted(kind="nudge", text=nudge))
    if work.work is None and not reply.calls:
        await offer_format(ctx, events)
    await send_folder_instructions(ctx, outcome, events, work.work)
    await diagnose(ctx, earlier, events, work.work)
    await ctx.fingerprint.refresh()
    claim = not reply.calls or outcome.ended_with == "finish"
    await verify(ctx, events, claim=claim)
    stall = detect_stalls(ctx, reply, outcome, events, work=work.work)
    ctx.activity.raise_if_interrupted()
    return stall
