"""Call tools of MCP servers after their approval."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ....tools.execution import carry_out
from ...resources.activity import CommandEnded, PersonInterrupted
from ..direct_changes import look_before, record_changes
from ..protected_changes import decide_protected, leave_protected

if TYPE_CHECKING:
    from ....gate.draft import McpDraft
    from ....gate.ruling import Ruling
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
    before = await look_before(ctx, record)
    try:
        result = await _call(ctx, draft, ruling)
    except PersonInterrupted:
        changed = await record_changes(ctx, before, draft.tool, record)
        await leave_protected(ctx, record, changed.protected)
        raise
    changed = await record_changes(ctx, before, draft.tool, record)
    return result.with_notes(await decide_protected(ctx, record, draft.tool, changed.protected))


async def _call(ctx: RunContext, draft: McpDraft, ruling: Ruling) -> ToolResult:
    try:
        with ctx.usage.running():
            return await ctx.activity.interruptible(carry_out(draft, ruling, ctx.tools))
    except PersonInterrupted as how:
        raise CommandEnded(how, INTERRUPTED) from how
