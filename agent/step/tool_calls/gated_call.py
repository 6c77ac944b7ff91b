"""Draft a change, a command or a call of an MCP server, get the ruling of the gate, and carry it out."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from ...gate.draft import (
    CommandDraft,
    Draft,
    EffectsDraft,
    FileDraft,
    McpDraft,
    PlanDraft,
    WebDraft,
    digest_of_draft,
)
from ...gate.notes_for_model import comment_line
from ...gate.rebase import REBASED
from ...gate.stored_drafts import is_file_change, stored_draft
from ...gate.waiting_proposal import StoredProposal
from ...host.crash import crash_point
from ...protocol import FileChanged, PlanAccepted, ProposalDecided, ProposalOpened, ToolCall, is_try
from ...protocol.text.plan_text import Plan, read_plan
from ...state.reports.run_files import new_run_id
from ...tools.carry_out import carry_out, draft_of, is_as_called, plan_again
from ...tools.mcp_drafts import carry_out_call
from ...tools.tool_arguments import StartCommand
from ...tools.tool_result import ToolResult
from ..checks.check_of_plan import with_check_run
from ..hooks.tool_hooks import notes_after_edit
from ..model_call.images_shown import accepts_images
from ..resources.activity import CommandEnded, PersonInterrupted
from .call_results import GateResult
from .direct_changes import look_before, reach_of, record_changes
from .file_events import missing_folders
from .protected_changes import decide_protected, leave_protected
from .run_command import run_at_gate
from .server_caller import ServerCaller

if TYPE_CHECKING:
    from ...gate.ruling import Ruling
    from ...state.recorder import Events
    from ..resources.run_context import RunContext
    from .commit_edits import Commits

Arguments = msgspec.Struct | None
"""The checked arguments of a call."""
NOT_KEPT_OPEN = "The proposal of {one} does not stay open: {it} is worked again when the run is resumed"
CANNOT_REOPEN = "it cannot be shown again unchanged"
_MCP_INTERRUPTED = (
    "The person ended this call while it ran: the server may have carried it out. Check before you continue."
)


async def at_gate(
    ctx: RunContext,
    call: ToolCall,
    arguments: Arguments,
    events: Events,
    *,
    can_stay_open: bool,
    place: tuple[int, int] = (0, 0),
) -> GateResult:
    """Draft the call, get the ruling and carry it out. If the file changed meanwhile, ask the gate again.

    An open proposal of this call in the journal is shown again unchanged. `can_stay_open`: if no user is attached,
    the proposal stays open. `place`: number of its file among the files of the answer.
    """
    requests = ctx.facts.requests
    draft, opened = _drafted(ctx, call, arguments, requests.waiting_for(call.call_id), events)
    stored = None if opened is None else StoredProposal(opened, requests.conflict_of(opened.proposal_id))
    return await _pass_gate(ctx, call, arguments, draft, stored, events, can_stay_open=can_stay_open, place=place)


async def carry_out_ruling(
    ctx: RunContext, call: ToolCall, arguments: Arguments, ruling: Ruling, events: Events
) -> GateResult:
    """Carry out a ruling on a file change, after the runner died that should have done it."""
    assert isinstance(ruling.draft, FileDraft)  # the result of a command is unknown
    result = await _land(ctx, ruling.draft, ruling, events)
    if not result.stale:
        return GateResult(result)
    return await _pass_gate(ctx, call, arguments, plan_again(ruling, ctx.tools), None, events, can_stay_open=True)


async def _pass_gate(
    ctx: RunContext,
    call: ToolCall,
    arguments: Arguments,
    draft: Draft | ToolResult,
    stored: StoredProposal | None,
    events: Events,
    *,
    can_stay_open: bool,
    place: tuple[int, int] = (0, 0),
) -> GateResult:
    gated = GateResult(None)
    if isinstance(draft, PlanDraft) and stored is None:
        draft = await with_check_run(ctx, draft, events)
    while not isinstance(draft, ToolResult):
        passing = ctx.gate.propose(
            draft,
            call_id=call.call_id,
            events=events,
            can_stay_open=can_stay_open,
            stored=stored,
            place=place,
        )
        ruling, stored = await ctx.activity.interruptible(passing), None
        if ruling.handoff:
            gated.handoff = f"someone has to approve: {call.tool} {_what(draft)}".rstrip()
            if not can_stay_open:
                one, it = ("a try", "the try") if is_try(ctx.work) else ("an item", "the item")
                gated.handoff += f". {NOT_KEPT_OPEN.format(one=one, it=it)}"
        if ruling.is_left_open:
            return gated
        gated.is_rejected = not ruling.approved and ruling.by != "policy" and ruling.refused_by != "conflict"
        if ruling.approved and isinstance(ruling.draft, (CommandDraft, McpDraft)):
            gated.result = await _run(ctx, call.call_id, arguments, ruling.draft, ruling, events)
            return gated
        if ruling.approved and isinstance(ruling.draft, WebDraft):
            with ctx.limits.running():
                gated.result = await ctx.activity.interruptible(carry_out(ruling.draft, ruling, ctx.tools))
            return gated
        if ruling.approved and isinstance(ruling.draft, PlanDraft):
            gated.result = accept_plan(ctx, ruling.after or b"", ruling.reason, events)
            return gated
        result = await _land(ctx, draft, ruling, events)
        if not result.stale or not isinstance(ruling.draft, FileDraft):
            gated.result = result
            return gated
        again = plan_again(ruling, ctx.tools)
        if isinstance(again, FileDraft) and again.conflict is None and again.before == ruling.draft.before:
            gated.result = result  # the file is as it was planned for: asking again would never end
            return gated
        draft = again
    gated.result = draft
    return gated


def _drafted(
    ctx: RunContext, call: ToolCall, arguments: Arguments, opened: ProposalOpened | None, events: Events
) -> tuple[Draft | ToolResult, ProposalOpened | None]:
    """Return the draft for the gate, and the open proposal if it is exactly that draft."""
    if opened is not None and is_file_change(opened):
        stored = stored_draft(opened, ctx.workspace, ctx.journal.blobs)
        if stored is not None and digest_of_draft(stored, None) == opened.digest:
            notes = [] if is_as_called(stored, arguments) else [REBASED]
            return msgspec.structs.replace(stored, from_text=call.from_text, notes=notes), opened
    draft = draft_of(call.tool, arguments, ctx.tools)
    if isinstance(draft, FileDraft):
        draft = msgspec.structs.replace(draft, from_text=call.from_text)
    if opened is None:
        return draft, None
    if (
        isinstance(draft, (CommandDraft, McpDraft, PlanDraft, WebDraft))
        and digest_of_draft(draft, ctx.sandbox.kind) == opened.digest
    ):
        return draft, opened
    events.record(ProposalDecided(proposal_id=opened.proposal_id, decision="reject", by="policy", reason=CANNOT_REOPEN))
    return draft, None


def accept_plan(ctx: RunContext, accepted: bytes, reason: str | None, events: Events) -> ToolResult:
    """Record that a person accepted this text of a plan. The loop then ends the run."""
    plan = read_plan(accepted.decode())
    assert isinstance(plan, Plan)  # the gate accepted it
    crash_point("plan: approved")
    events.record(PlanAccepted(lines=plan.lines, check=plan.check, run_id=new_run_id(ctx.clock.now())))
    crash_point("plan: recorded")
    said = f" {comment_line(reason)}" if reason else ""
    return ToolResult(ok=True, text=f"the person accepted this plan:\n{accepted.decode()}{said}", summary="accepted")


async def _run(
    ctx: RunContext,
    call_id: str,
    arguments: Arguments,
    draft: CommandDraft | McpDraft,
    ruling: Ruling,
    events: Events,
) -> ToolResult:
    ctx.files.mark_acted()
    if isinstance(draft, McpDraft):
        return await _call_mcp_tool(ctx, call_id, draft, ruling, events)
    if isinstance(arguments, StartCommand):
        return await ctx.activity.interruptible(ctx.background.start(arguments.name, draft, events))
    return await run_at_gate(ctx, draft, ruling, events, call_id)


async def _call_mcp_tool(ctx: RunContext, call_id: str, draft: McpDraft, ruling: Ruling, events: Events) -> ToolResult:
    """Call the tool. What a server that may write changed in the workspace is recorded, as for a command."""
    client = ctx.tools.mcp.clients.get(draft.server)
    if client is None or not client.may_write:
        return await _carry_out_mcp_call(ctx, call_id, draft, ruling, events)
    ctx.files.person_made.clear()
    before = await look_before(ctx, events)
    try:
        result = await _carry_out_mcp_call(ctx, call_id, draft, ruling, events)
    except PersonInterrupted:
        changed = await record_changes(ctx, before, draft.tool, events)
        await leave_protected(ctx, events, changed)
        raise
    changed = await record_changes(ctx, before, draft.tool, events)
    return result.with_notes(await decide_protected(ctx, events, draft.tool, changed))


async def _carry_out_mcp_call(
    ctx: RunContext, call_id: str, draft: McpDraft, ruling: Ruling, events: Events
) -> ToolResult:
    model = ctx.models.current
    blind = "" if accepts_images(model, ctx.facts) else model.name
    caller = ServerCaller(ctx, draft.tool, call_id, events)
    try:
        with ctx.limits.running():
            working = carry_out_call(draft, ruling, ctx.tools, caller, blind=blind)
            result = await ctx.activity.interruptible(working)
            return result.with_notes(caller.notes)
    except PersonInterrupted as how:
        raise CommandEnded(how, _MCP_INTERRUPTED) from how
    finally:
        caller.close()


async def _land(ctx: RunContext, draft: Draft, ruling: Ruling, events: Events) -> ToolResult:
    crash_point("change: approved")
    folders = missing_folders(ctx.workspace.root, draft.path) if isinstance(draft, FileDraft) else None
    with ctx.limits.running():
        result = await carry_out(draft, ruling, ctx.tools)
    crash_point("change: made")
    if result.files:
        ctx.files.mark_changed()
    notes: list[str] = []
    for change in result.files:
        changed = FileChanged(
            path=change.path,
            by="person" if ruling.edited else "model",
            before=change.before,
            after=change.after,
            added=change.added,
            removed=change.removed,
            folders=folders,
        )
        events.record(changed)
        crash_point("change: recorded")
        if ctx.commits is not None:
            refused = await _committed(ctx, ctx.commits, changed, events)
            notes += [] if refused is None else [f"{change.path} was changed, and its commit was refused: {refused}"]
        notes += await notes_after_edit(ctx, changed, events, tool=draft.tool)
    return result.with_notes(notes)


async def _committed(ctx: RunContext, commits: Commits, changed: FileChanged, events: Events) -> str | None:
    """Commit a change. Returns why a hook refused it, or None. What the hooks changed is recorded."""
    before = None if ctx.hooks is None else await look_before(ctx, events)
    refused = await commits.add(changed, events, ctx.facts.step)
    if before is not None:
        made = await record_changes(ctx, before, "the hooks of a commit", events, reach=await reach_of(ctx))
        await leave_protected(ctx, events, made)
    return refused


def _what(draft: Draft) -> str:
    if isinstance(draft, McpDraft):
        return draft.arguments
    if isinstance(draft, PlanDraft):
        return ""
    if isinstance(draft, WebDraft):
        return draft.query or draft.url
    return draft.command if isinstance(draft, (CommandDraft, EffectsDraft)) else draft.path
