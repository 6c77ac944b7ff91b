"""Give exactly one result to each call that an earlier runner or a hand-off left without one."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from ...gate.notes_for_model import comment_line
from ...gate.ruling import Ruling, approved
from ...gate.stored_drafts import is_file_change, stored_draft
from ...journal.journal import Journal
from ...protocol import (
    PERSON,
    FileChanged,
    Interrupted,
    ProposalDecided,
    ProposalOpened,
    Reason,
    StepFinished,
    ToolCall,
    ToolFinished,
    WorkResult,
    child_name,
)
from ...protocol.text.counts import plural
from ...protocol.tools.traits import traits_of
from ...state.facts.checkpoint import last_end
from ...step.checks.verify import verify
from ...step.formats.file_edits import FileEdits
from ...step.resources.activity import PersonInterrupted
from ...step.tool_calls.apply_effects import finish_accepted
from ...step.tool_calls.gated_call import accept_plan
from ...tools.carry_out import is_as_called
from ...tools.parse import parse_arguments
from ..children.called_child import failed_child, finished_child, stage_of_child

if TYPE_CHECKING:
    from ...gate.gate import Gate
    from ...protocol import RunEnded
    from ...state.common.child_facts import Child
    from ...state.facts.run_facts import RunFacts
    from ...state.recorder import Events, Recorder
    from ...step.resources.run_context import RunContext
    from ..live.live_run import LiveRun

STOPPED = "the program stopped while it waited"
DONE = "done: the program stopped after the file was written; its new content is in place."
UNKNOWN = (
    "unknown: the program stopped while this command ran, so it may have run in part. What it changed is not recorded, "
    "and an undo leaves it. Check before you repeat it."
)
UNKNOWN_IN_LAYER = "The program ended while this command ran, so its output is lost."
UNKNOWN_CALL = (
    "interrupted: the program stopped while this call of an MCP server ran, so it may have been carried out. "
    "Check before you repeat it."
)
UNKNOWN_REQUEST = (
    "interrupted: the program stopped during this request, and its answer is lost. Repeat it if you need it."
)
STALE = "not run: the program stopped before this write, and the file was changed by somebody else since"
SUPERSEDED = "not run: the person sent a message instead"


async def settle(run: LiveRun, *, said: str | None = None, by: str = PERSON) -> Sequence[WorkResult]:
    """Finish the step that an earlier runner left unfinished, and return its results.

    An open proposal is opened again, unchanged. An approved change of a file is made if it was not. A command that may
    have run is never repeated. All other calls are made now.

    `said`: a message of the person, or of the client `by`, which answers the open proposals if no view is attached.
    """
    ctx, facts = run.ctx, run.facts
    _close_works(ctx.facts, ctx.events)
    facts.world = None
    dangling, number = facts.main.unanswered(), facts.open_step
    if number is None and not dangling:
        return ()
    events = ctx.events.bound(facts.step, None)
    _close_lost(run.facts, dangling, events)
    try:
        with ctx.activity.in_progress():
            return await _answer(run, dangling, (said, by), events)
    except PersonInterrupted as how:
        events.record(Interrupted(what="tool", detail=str(how)))
        run.pauses.after_interrupt()
        return ()
    finally:
        if number is not None:
            events.record(StepFinished(number=number, seconds=ctx.limits.count_seconds(), world=facts.world))


async def settle_open(run: LiveRun) -> Sequence[WorkResult]:
    """Finish the calls that this runner left open at a hand-off."""
    return await settle(run) if run.facts.main.unanswered() else ()


async def _answer(
    run: LiveRun, dangling: Sequence[ToolCall], message: tuple[str | None, str], events: Events
) -> Sequence[WorkResult]:
    ctx, facts = run.ctx, run.facts
    said, by = message
    if not said and (queued := next(iter(facts.queue.values()), None)) is not None:
        said, by = queued.text, queued.by
    if said and not ctx.journal.views.is_attended() and (waiting := _undecided(run.facts, run.ctx.gate, dangling)):
        answer_with(run, dangling, waiting, (said, by), events)
        return ()
    handoff: str | None = None
    again: list[ToolCall] = []
    for call in dangling:
        opened = facts.requests.approved.get(call.call_id)
        if opened is None and _is_stale(ctx, call):
            _finish(call, STALE, events, "not run")
        elif opened is None or traits_of(call.tool).effect == "child":  # it finds its child run, and asks again
            again.append(call)
        elif opened.plan is not None:
            _accept(run, call, opened, events)
        elif is_file_change(opened):
            handoff = await _write(run, call, opened, events) or handoff
        else:
            text = await _unknown(run, opened, events)
            _finish(call, text, events)
    if handoff is not None:
        return [WorkResult(steps=1, handoff=handoff)]
    ctx.activity.message_waits = bool(said)
    try:
        outcome = await ctx.calls.resume(ctx, again, events, names=[*run.tools, *ctx.tools.mcp.names()])
    finally:
        ctx.activity.message_waits = False
    if dangling and not outcome.left_open:
        await ctx.fingerprint.refresh()
        await verify(ctx, events, claim=outcome.ended_with == "finish")
    return [WorkResult(steps=1, handoff=outcome.handoff)]


def _is_stale(ctx: RunContext, call: ToolCall) -> bool:
    """Return whether a call writes an answer over a file that somebody changed since the answer was read."""
    newest, edits = ctx.facts.answers.newest, ctx.edits
    if newest is None or not isinstance(edits, FileEdits) or not newest.files:
        return False
    if ctx.facts.requests.waiting_for(call.call_id) is not None:
        return False
    return not newest.is_written and not edits.is_untouched(newest)


def _close_works(facts: RunFacts, events: Recorder) -> None:
    """Close the steps and calls of a search's work, because that work starts again from its beginning."""
    for work, conversation in facts.conversations.items():
        for call in conversation.unanswered() if work is not None else ():
            text = "not run: the program stopped"
            events.record(ToolFinished(call_id=call.call_id, tool=call.tool, ok=False, result=text), work=work)
    for number, work in list(facts.open_steps.items()):
        if work is not None:
            events.record(StepFinished(number=number), step=number, work=work)


def _close_lost(facts: RunFacts, dangling: Sequence[ToolCall], events: Events) -> None:
    """Reject open proposals whose call already has a result."""
    calls = {call.call_id for call in dangling}
    for opened in list(facts.requests.proposals.values()):
        if opened.call_id not in calls:
            events.record(
                ProposalDecided(proposal_id=opened.proposal_id, decision="reject", by="policy", reason=STOPPED)
            )


def _undecided(facts: RunFacts, gate: Gate, dangling: Sequence[ToolCall]) -> list[ProposalOpened]:
    found = [facts.requests.waiting_for(call.call_id) for call in dangling]
    given = gate.postponed.decisions
    return [opened for opened in found if opened is not None and opened.proposal_id not in given]


def answer_with(
    run: LiveRun,
    dangling: Sequence[ToolCall],
    waiting: Sequence[ProposalOpened],
    message: tuple[str, str],
    events: Events,
) -> None:
    """Reject the open proposals with a message and its sender, as if it had arrived while they waited at the gate."""
    said, by = message
    why = f"{'the person' if by == PERSON else by} said instead: {said}"
    calls = {opened.call_id for opened in waiting}
    for opened in waiting:
        run.ctx.gate.postponed.pop(opened.proposal_id)
        events.record(ProposalDecided(proposal_id=opened.proposal_id, decision="reject", by=by, reason=why))
    children = {child.call_id: child for child in run.facts.common.children.by_number.values()}
    for call in dangling:
        if (child := children.get(call.call_id)) is not None:
            _finish_child(run.ctx, call, child, why, events)
        else:
            _finish(call, f"not done: {why}" if call.call_id in calls else SUPERSEDED, events, "not run")


def _finish_child(ctx: RunContext, call: ToolCall, child: Child, why: str, events: Events) -> None:
    """Answer the call of a child run that worked, and on whose changes nobody decided.

    An end that is not recorded yet is recorded, so that its share is free again.
    """
    ended, is_staged = _left_by(child)
    finished = child.finished
    if finished is None:
        left = f"it was left open: `rundry resume {child.run_id}` continues it"
        finished = failed_child(child, left, Reason.HANDOFF) if ended is None else finished_child(child, ended)
        ctx.events.record(finished, work=child_name(child.number), durable=True)
    stays = child.stays_words(why) if is_staged else ""
    said = f" Its answer begins: {finished.said}" if finished.said else ""
    text = f"{child.words.capitalize()}: {finished.reason.words} ({finished.detail}).{said}\n{stays}".rstrip()
    events.record(
        ToolFinished(call_id=call.call_id, tool=call.tool, ok=False, result=text, summary="not decided", stays=stays)
    )


def _left_by(child: Child) -> tuple[RunEnded | None, bool]:
    """Return the end that the journal of a child run has, and whether the child may have something staged."""
    if not Path(child.journal).exists():
        return None, False
    journal = Journal.open_for_reading(Path(child.journal))
    try:
        ended = last_end(journal)
        return ended, stage_of_child(journal) is not None and (ended is None or bool(ended.staged))
    finally:
        journal.close()


def _finish(call: ToolCall, text: str, events: Events, summary: str = "unknown") -> None:
    events.record(ToolFinished(call_id=call.call_id, tool=call.tool, ok=False, result=text, summary=summary))


def _accept(run: LiveRun, call: ToolCall, opened: ProposalOpened, events: Events) -> None:
    """Record an accepted plan, if the runner died before it did."""
    decided = run.facts.requests.decisions.get(call.call_id)
    if run.facts.accepted is None:
        text = run.ctx.journal.blobs.load(opened.after or "")
        accept_plan(run.ctx, text, None if decided is None else decided.reason, events)
    events.record(ToolFinished(call_id=call.call_id, tool=call.tool, ok=True, result="accepted", summary="accepted"))


async def _unknown(run: LiveRun, proposal: ProposalOpened, events: Events) -> str:
    """Return the result for an approved command or call during which its runner died."""
    if proposal.url is not None:
        return UNKNOWN_REQUEST
    applied = list[str]()
    if run.ctx.layers is not None and proposal.server is None:
        applied = await finish_accepted(run.ctx, run.ctx.layers, events)
        if proposal.command not in run.facts.requests.beyond:  # else it may have run outside of a layer
            return "\n".join([UNKNOWN_IN_LAYER, *(applied or ["Nothing that it changed was applied."])])
    unknown = "\n".join([UNKNOWN if proposal.server is None else UNKNOWN_CALL, *applied])
    if proposal.server is not None and not _may_write(run, proposal.server):
        return unknown
    run.ctx.files.mark_changed()
    return unknown


def _may_write(run: LiveRun, server: str) -> bool:
    """Return whether an MCP server could change files of the workspace."""
    client = run.ctx.tools.mcp.clients.get(server)
    return client is None or client.may_write


async def _write(run: LiveRun, call: ToolCall, opened: ProposalOpened, events: Events) -> str | None:
    """Make an approved change, unless the file already has it. Returns why a new decision is needed, or None."""
    ctx, after = run.ctx, opened.after or ""
    target = ctx.workspace.root / (opened.path or "")
    draft = stored_draft(opened, ctx.workspace, ctx.journal.blobs)
    if draft is None:
        _finish(call, "not done: the approved content is not in the journal.", events)
        return None
    draft = msgspec.structs.replace(draft, from_text=call.from_text)
    if target.is_file() and target.read_bytes() == draft.after:
        return _note_written(run, call, opened, after, events)
    ruling = _ruling_of(run.facts, call, approved(draft, by="person"))
    arguments = parse_arguments(call.tool, call.arguments, run.tools).arguments
    decided = run.facts.requests.decisions.get(call.call_id)
    is_own = is_as_called(draft, arguments) and (decided is None or decided.after is None)
    gated = await ctx.calls.carry_out(ctx, call, arguments, ruling, events)
    result = gated.result
    if result is not None:
        events.record(
            ToolFinished(
                call_id=call.call_id,
                tool=call.tool,
                ok=result.ok,
                result=result.text,
                summary=result.summary or None,
                seen=result.seen if is_own else None,
            )
        )
    return gated.handoff


def _note_written(run: LiveRun, call: ToolCall, opened: ProposalOpened, after: str, events: Events) -> None:
    path, known = opened.path or "", run.facts.changes.files.get(opened.path or "")
    if known is None or known[1] != after:
        run.ctx.files.mark_changed()
        changed = FileChanged(path=path, by="model", before=opened.before, after=after)
        events.record(msgspec.structs.replace(changed, added=opened.added, removed=opened.removed))
    note = _note(run.facts, call)
    text = f"{DONE}\n{note}" if note else DONE
    events.record(ToolFinished(call_id=call.call_id, tool=call.tool, ok=True, result=text, summary="written"))


def _ruling_of(facts: RunFacts, call: ToolCall, ruling: Ruling) -> Ruling:
    """Return the ruling with the decision that the journal contains."""
    decided = facts.requests.decisions.get(call.call_id)
    if decided is None:
        return ruling
    edited = decided.decision == "approve" and decided.after is not None
    return msgspec.structs.replace(ruling, by=decided.by, note_for_model=_note(facts, call), edited=edited)


def _note(facts: RunFacts, call: ToolCall) -> str:
    """Return the note to the model about a person's decision; empty if there is nothing to say."""
    decided = facts.requests.decisions.get(call.call_id)
    if decided is None or decided.by == "policy":
        return ""
    lines: list[str] = []
    if decided.decision == "part":
        lines.append(f"the person accepted {plural(decided.taken or 0, 'hunk')} of your change.")
    if decided.after is not None and decided.decision == "approve":
        lines.append("the person changed your text before approving it.")
    lines += [f"Hunk {i + 1} was skipped because: {why}" for i, why in sorted(decided.left.items())]
    return "\n".join([*lines, *([comment_line(decided.reason, decided.by)] if decided.reason else [])])
