"""Call tools of MCP servers after their approval, and ask about servers that offer other tools."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ....mcp.failed import McpFailed
from ....tools.execution import carry_out
from ....tools.mcp_call import plan_list
from ...resources.activity import PersonInterrupted
from ...resources.recorder import with_waiting
from ..command_changes import keep_or_restore_guarded, record_changes, restore_guarded
from ..commands import CommandEnded

if TYPE_CHECKING:
    from ....gate.draft import McpDraft
    from ....gate.ruling import Ruling
    from ....mcp.client import McpClient
    from ....protocol import Record
    from ....tools.result import ToolResult
    from ...resources.context import RunContext

INTERRUPTED = "The person ended this call while it ran: the server may have carried it out. Check before you continue."


async def call_tool(ctx: RunContext, draft: McpDraft, ruling: Ruling, record: Record) -> ToolResult:
    """Call the tool. What a server that may write changed in the workspace is recorded, as for a command."""
    client = ctx.tools.mcp.clients.get(draft.server)
    if client is None or not client.may_write:
        return await _call(ctx, draft, ruling)
    ctx.files.person_made.clear()
    before = await ctx.snapshots.take()
    try:
        result = await _call(ctx, draft, ruling)
    except PersonInterrupted:
        await restore_guarded(ctx, await record_changes(ctx, before, record), before, record)
        raise
    changes = await record_changes(ctx, before, record)
    return result.with_notes(await keep_or_restore_guarded(ctx, changes, before, draft.tool, record))


async def _call(ctx: RunContext, draft: McpDraft, ruling: Ruling) -> ToolResult:
    try:
        with ctx.usage.running():
            return await ctx.activity.interruptible(carry_out(draft, ruling, ctx.tools))
    except PersonInterrupted as how:
        raise CommandEnded(how, INTERRUPTED) from how


async def review_lists(ctx: RunContext, record: Record) -> None:
    """Ask about servers whose list of tools changed. New and changed tools are offered only after an approval.

    Raises PersonInterrupted.
    """
    servers = ctx.tools.mcp
    async with servers.reviewing:
        for client in servers.waiting():
            await _review(ctx, client, record)


async def _review(ctx: RunContext, client: McpClient, record: Record) -> None:
    servers = ctx.tools.mcp
    try:
        change = await ctx.activity.interruptible(servers.change_of(client))
    except McpFailed:
        return  # the client has reported it
    if change is None:
        record(servers.changed(client))
        return
    try:
        asking = ctx.gate.propose(plan_list(change), call_id="", record=with_waiting(record))
        ruling = await ctx.activity.interruptible(asking)
    except PersonInterrupted:
        servers.decide_later(change)
        raise
    if ruling.approved:
        problem = servers.accept(change)
        record(servers.changed(client, f"{change.title}: accepted{f'; {problem}' if problem else ''}"))
    else:
        servers.decline(change)
        record(servers.changed(client, f"{change.title}: not accepted, so they are not offered"))
