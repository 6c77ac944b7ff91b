"""Calls of tools of MCP servers: their drafts for the gate, and their results."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import msgspec

from ..extend.mcp.failed import McpFailed
from ..extend.mcp.result_text import call_text
from ..extend.mcp.running_call import MOST_SECONDS
from ..extend.mcp.tool_listing import McpTool
from ..gate.draft import McpDraft
from ..host.terminal_text import plain
from ..protocol.text.counts import plural
from .fit_text import head_and_tail, lines_of
from .mcp_images import ResultImages
from .tool_result import ToolResult, failure

if TYPE_CHECKING:
    from ..extend.mcp.result_text import CallText
    from ..extend.mcp.running_call import Caller
    from ..gate.ruling import Ruling
    from .tool_context import ToolContext


class McpCall(msgspec.Struct, frozen=True):
    """The checked arguments of a call."""

    tool: McpTool
    arguments: dict[str, Any]


def plan_call(call: McpCall, ctx: ToolContext) -> McpDraft:
    """Plan a call for the gate, with exactly these arguments."""
    tool = call.tool
    return McpDraft(
        tool=tool.offered,
        server=tool.server,
        name=tool.name,
        arguments=json.dumps(call.arguments, ensure_ascii=False, indent=2),
        identity=ctx.mcp.clients[tool.server].server.identity,
        claims=tool.claims,
        called=tool,
    )


async def carry_out_call(
    draft: McpDraft, ruling: Ruling, ctx: ToolContext, caller: Caller, *, blind: str = ""
) -> ToolResult:
    """Call the tool with exactly the arguments that were approved.

    `caller`: answers what the server asks meanwhile. `blind`: the model, if it does not accept images.
    """
    tool, client = ctx.mcp.find(draft.tool), ctx.mcp.clients.get(draft.server)
    if tool is None or client is None or client.server.identity != draft.identity:
        return failure(f"{ctx.mcp.why_not(draft.tool) or 'the server is not the same'}. Nothing was called.")
    arguments: dict[str, object] = json.loads(ruling.after or b"{}")
    seconds = ctx.bounded_seconds(client.server.timeout)
    try:
        done = await ctx.mcp.call(tool, arguments, caller, seconds, ctx.bounded_seconds(MOST_SECONDS))
    except McpFailed as error:
        return failure(
            f"{error}. It is unknown whether the call was carried out, and it is not repeated by itself.",
            "server failed",
        )
    notes = [ruling.note_for_model] if ruling.note_for_model else []
    images = ResultImages(draft.tool, ctx.blobs, blind)
    result = _result(call_text(done, images), ctx)
    if images.kept:
        summary = f"{result.summary}, {plural(len(images.kept), 'image')}"
        result = msgspec.structs.replace(result, images=images.kept, summary=summary)
    return result.with_notes(notes)


def _result(done: CallText, ctx: ToolContext) -> ToolResult:
    """Return the bounded result. The whole text is stored, if it is longer."""
    whole = done.text.encode("utf-8", "replace")
    text = plain(whole)
    lines = len(lines_of(text))
    summary = plural(lines, "line") if done.ok else "error"
    start, end, left_out = head_and_tail(text, ctx.limit)
    if not text.strip():
        return ToolResult(ok=done.ok, text="The tool returned nothing.", summary="nothing" if done.ok else "error")
    if not left_out and len(start) == len(text):
        return ToolResult(ok=done.ok, text=text, summary=summary)
    sha = ctx.blobs.keep(whole)
    path = ctx.register_output(sha)
    middle = f'[{left_out:,} lines left out; the full result is stored: use read_file with path "{path}"]'
    return ToolResult(ok=done.ok, text=f"{start.rstrip()}\n{middle}\n{end}", summary=summary, full=sha)
