"""Ask about MCP servers that offer other tools than before."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..extend.mcp.failed import McpFailed
from ..gate.draft import McpDraft
from .resources.activity import PersonInterrupted

if TYPE_CHECKING:
    from ..extend.mcp.client import McpClient
    from ..extend.mcp.mcp_servers import ListChange
    from ..state.recorder import Events
    from .resources.run_context import RunContext

_LISTING = "mcp"
"""The tool in a proposal about a server's list of tools."""


async def review_lists(ctx: RunContext, events: Events) -> None:
    """Ask about servers whose list of tools changed. New and changed tools are offered only after an approval.

    Raises PersonInterrupted.
    """
    servers = ctx.tools.mcp
    async with servers.reviewing:
        for client in servers.waiting():
            await _review(ctx, client, events)


async def _review(ctx: RunContext, client: McpClient, events: Events) -> None:
    servers = ctx.tools.mcp
    try:
        change = await ctx.activity.interruptible(servers.change_of(client))
    except McpFailed:
        return  # the client has reported it
    if change is None:
        events.record(servers.changed(client))
        return
    try:
        asking = ctx.gate.propose(_plan(change), call_id="", events=events)
        ruling = await ctx.activity.interruptible(asking)
    except PersonInterrupted:
        servers.decide_later(change)
        raise
    if ruling.approved:
        problem = servers.accept(change)
        events.record(servers.changed(client, f"{change.title}: accepted{f'; {problem}' if problem else ''}"))
    else:
        servers.decline(change)
        events.record(servers.changed(client, f"{change.title}: not accepted, so they are not offered"))


def _plan(change: ListChange) -> McpDraft:
    """Plan for the gate that other tools of a server are offered from now on."""
    server = change.client.server
    return McpDraft(
        tool=_LISTING, server=server.name, name="", arguments=change.text, identity=server.identity, is_listing=True
    )
