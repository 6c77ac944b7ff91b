"""Turn tool calls into drafts, and carry out approved drafts. Only this module changes files or runs commands."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

import msgspec

from ..gate.draft import CommandDraft, Draft, EffectsDraft, FileDraft, McpDraft, PlanDraft, WebDraft
from ..gate.rebase import Conflict, rebase_draft, with_approved_bytes
from ..gate.text_diff import split_bytes
from ..host.file_errors import PathRefused, StaleFile, UnreadableFile, WriteFailed
from ..host.files.write_file import write_file
from ..host.terminal_text import plain
from ..sandbox.command_access import Access
from ..sandbox.sandbox import Sandbox
from .fit_text import head_and_tail, lines_of, numbered
from .mcp_drafts import McpCall, plan_call
from .reading.existing_files import SECONDS
from .tool_arguments import WriteFile
from .tool_result import ToolResult, Touched, failure
from .tool_table import TOOLS
from .web_tools import carry_out_request

if TYPE_CHECKING:
    from ..gate.ruling import Ruling
    from ..host.files.file_states import FileState
    from ..host.processes.processes import Finished
    from ..sandbox.command_access import LayerAccess
    from .tool_context import ToolContext

_REFUSED = {"person": "rejected", "conflict": "conflict"}
_SHOWN = 60
"""Number of changed lines that a result shows after a write."""


async def run_reading_tool(name: str, arguments: msgspec.Struct | None, ctx: ToolContext) -> ToolResult:
    """Run a read-only tool and return its result. Invalid arguments give a failure, not an exception."""
    tool = TOOLS[name]
    if tool.read is None:
        raise TypeError(f"{name} does not read")
    path = tool.traits.path
    seconds = ctx.bounded_seconds(SECONDS) + 5
    if why := ctx.denial_of(name, None if path is None else getattr(arguments, path)):
        return failure(f"refused by the policy: {why}. Do not repeat it.", "refused")
    if (done := await _elsewhere(name, arguments, ctx, seconds)) is not None:
        return done
    try:
        async with asyncio.timeout(seconds):
            return await tool.read(arguments, ctx)
    except TimeoutError:
        return failure(f"{name} timed out after {seconds:g} s", "timed out")


async def _elsewhere(
    name: str, arguments: msgspec.Struct | None, ctx: ToolContext, seconds: float
) -> ToolResult | None:
    """Return the result from another machine, or None if the tool has to run here."""
    if ctx.elsewhere is None or arguments is None:
        return None
    try:
        async with asyncio.timeout(seconds):
            return await ctx.elsewhere.read(name, arguments, ctx)
    except TimeoutError:
        return None


def draft_of(name: str, arguments: msgspec.Struct | None, ctx: ToolContext) -> Draft | ToolResult:
    """Return the draft for the gate, or the result if there is nothing to decide."""
    if isinstance(arguments, McpCall):
        return plan_call(arguments, ctx)
    plan = TOOLS[name].plan
    if plan is None:
        raise TypeError(f"{name} has nothing for the gate")
    try:
        return plan(arguments, ctx)
    except (PathRefused, UnreadableFile) as error:
        return failure(str(error))


def is_as_called(draft: FileDraft, arguments: msgspec.Struct | None) -> bool:
    """Return whether a draft of an earlier runner has only lines of the call, if that writes a whole file."""
    if not isinstance(arguments, WriteFile):
        return True
    try:
        return draft.after == draft.before.encode(arguments.content)
    except WriteFailed:
        return False


OnOutput = Callable[[bytes], None]


async def carry_out(
    draft: Draft,
    ruling: Ruling,
    ctx: ToolContext,
    on_output: OnOutput | None = None,
    layer: LayerAccess | None = None,
    *,
    keeps_workspace: bool = False,
) -> ToolResult:
    """Carry out exactly what was approved; if nothing was approved, return the reason.

    `on_output` receives a command's output while it runs. `layer`: where a command writes. None means the workspace
    itself. `keeps_workspace`: whether the workspace is read-only for a command.
    """
    if not ruling.approved:
        return failure(ruling.note_for_model, _REFUSED.get(ruling.refused_by or "", "refused"))
    decided = ruling.draft
    assert not isinstance(decided, EffectsDraft)  # no tool drafts one
    assert not isinstance(decided, PlanDraft)  # nothing is carried out in its run
    assert not isinstance(decided, McpDraft)  # `carry_out_call` needs more
    if isinstance(decided, CommandDraft):
        done = await _run(decided, ctx, on_output, layer, keeps_workspace=keeps_workspace)
        return done.with_notes([ruling.note_for_model] if ruling.note_for_model else [])
    if isinstance(decided, WebDraft):
        return await carry_out_request(decided, ruling.note_for_model, ctx)
    if decided.written_by is not None:
        return ToolResult(ok=True, text=f"the change of {decided.path} is kept", summary="kept")
    if decided.before.exists and ruling.after == decided.before.data:
        text = f"{decided.path} already has exactly this change: someone else made it meanwhile. Nothing was written."
        return ToolResult(ok=True, text=text, summary="there already")
    return await _write(decided, ruling, ctx)


def plan_again(ruling: Ruling, ctx: ToolContext) -> Draft:
    """Plan an approved change again on the file's present content after a `stale` result; it passes the gate again.

    The person's own text, or the hunks that they accepted, are kept.
    """
    draft = ruling.draft
    if not isinstance(draft, FileDraft):
        return draft
    if ruling.after is not None and ruling.after != draft.after:
        draft = with_approved_bytes(draft, ruling.after, [ruling.note_for_model] if ruling.note_for_model else [])
        draft = msgspec.structs.replace(draft, edited=ruling.edited)
    found = rebase_draft(ctx.workspace, draft)
    return msgspec.structs.replace(draft, conflict=found.why) if isinstance(found, Conflict) else found


async def _write(draft: FileDraft, ruling: Ruling, ctx: ToolContext) -> ToolResult:
    data = ruling.after
    assert data is not None
    try:
        await asyncio.to_thread(write_file, ctx.workspace, draft.before, data)
    except StaleFile as error:
        text = f"{error}. Nothing was written. Read the file again, then make the change again."
        return ToolResult(ok=False, text=text, summary="changed meanwhile", stale=True)
    except (PathRefused, WriteFailed) as error:
        return failure(str(error), "not written")
    before = draft.before
    parts = split_bytes(before, data)
    after = ctx.blobs.keep(data)
    seen = None if ctx.contents is None else ctx.contents.after_write(draft, data, after)
    touched = Touched(
        path=draft.path,
        before=ctx.blobs.keep(before.data) if before.exists else None,
        after=after,
        added=parts.added if parts else 0,
        removed=parts.removed if parts else 0,
    )
    size = f"+{touched.added} -{touched.removed}"
    done = "changed" if before.exists else "made"
    text = [f"{draft.path} {done} ({size} lines).", *draft.notes]
    if ruling.note_for_model:
        text.append(ruling.note_for_model)
    if before.exists:
        text += _surroundings(before, data)
    return ToolResult(ok=True, text="\n".join(text), summary=size, files=[touched], seen=seen)


def _surroundings(before: FileState, data: bytes) -> list[str]:
    """Return the changed lines as they are now, with a few lines around them."""
    parts = split_bytes(before, data)
    if parts is None:
        return []
    shown: list[str] = []
    for hunk in parts.hunks:
        first, last = max(0, hunk.changes[0].b1 - 2), hunk.changes[-1].b2 + 2
        piece = numbered((line.rstrip("\r\n") for line in parts.new[first:last]), first + 1)
        if len(shown) + len(piece) > _SHOWN:
            shown.append("[more lines changed: read_file shows them]")
            break
        shown += ["...", *piece] if shown else piece
    return ["It now reads:", *shown] if shown else []


async def _run(
    draft: CommandDraft,
    ctx: ToolContext,
    on_output: OnOutput | None,
    layer: LayerAccess | None,
    *,
    keeps_workspace: bool,
) -> ToolResult:
    timeout = ctx.bounded_seconds(draft.timeout)
    sandbox = Sandbox() if draft.unsandboxed else ctx.sandbox
    done = await sandbox.run(
        draft.command,
        ctx.workspace.root,
        Access(
            network=draft.network,
            writable=draft.writable,
            keeps_workspace=keeps_workspace,
            layer=layer,
        ),
        cwd=draft.cwd,
        env=ctx.env,
        timeout=timeout,
        on_output=on_output,
    )
    return msgspec.structs.replace(_command_result(done, timeout, ctx), finished=done)


def _command_result(done: Finished, timeout: float, ctx: ToolContext) -> ToolResult:
    if done.exit_code is None and not done.timed_out:
        return failure(f"the command did not start: {done.error}", "not started")
    if done.timed_out:
        head = f"timed out after {timeout:g} s; all processes that it started were ended."
        summary = "timed out"
    else:
        head = f"exit code {done.exit_code} after {done.seconds:.1f} s."
        summary = f"exit {done.exit_code}"
    if done.left_behind:
        one = done.left_behind == 1
        what = "One remaining process was" if one else f"{done.left_behind} remaining processes were"
        head += f" {what} ended."
    whole = done.full or done.output
    text = plain(whole)
    start, end, left_out = head_and_tail(text, ctx.limit)
    if not text.strip():
        return ToolResult(ok=done.exit_code == 0, text=f"{head} It printed nothing.", summary=summary)
    if not left_out:
        return ToolResult(ok=done.exit_code == 0, text=f"{head}\n{start}", summary=summary)
    sha = ctx.blobs.keep(whole)
    name = ctx.register_output(sha)
    dropped = f"; {done.full_dropped:,} bytes of them were too many to keep" if done.full_dropped else ""
    first = len(lines_of(start)) + 1
    middle = (
        f"[{left_out:,} lines left out{dropped}; the full output is stored: "
        f'use read_file with path "{name}" and start_line={first}]'
    )
    return ToolResult(
        ok=done.exit_code == 0, text=f"{head}\n{start.rstrip()}\n{middle}\n{end}", summary=summary, full=sha
    )
