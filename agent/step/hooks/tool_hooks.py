"""The hooks before a tool call and after an edit."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import msgspec

from ...host.file_errors import PathRefused
from ...protocol.tools.traits import TOOL_TRAITS
from ...tools.mcp_drafts import McpCall
from ...tools.tool_result import ToolResult, failure
from .hook_input import HookEvent
from .run_hooks import run_hooks, says
from .send_context import contexts_of

if TYPE_CHECKING:
    from ...protocol import FileChanged, ToolCall
    from ...state.recorder import Events
    from ...tools.parse import Parsed
    from ...tools.tool_context import ToolContext
    from ..resources.run_context import RunContext


class BeforeTool(msgspec.Struct, frozen=True):
    """What the hooks before a tool call said."""

    refused: ToolResult | None = None
    """The result of a call that a hook refuses, or that fails; None if no hook is against it."""
    notes: list[str] = []
    """What the model should read behind the result of the call."""


async def hooks_before_tool(ctx: RunContext, call: ToolCall, parsed: Parsed, events: Events) -> BeforeTool:
    """Run the hooks before a tool call."""
    if not any(hook.on == "before-tool" for hook in ctx.facts.spec.hooks):
        return BeforeTool()
    given = parsed.arguments
    arguments = given.arguments if isinstance(given, McpCall) else msgspec.to_builtins(given)
    arguments = cast("dict[str, object]", arguments)
    event = HookEvent(
        on="before-tool",
        tool=call.tool,
        call_id=call.call_id,
        path=_path(ctx.tools, call.tool, arguments),
        fields={"arguments": arguments},
    )
    ran = await run_hooks(ctx, event, events)
    if not ran or ran[-1].result == "passed":
        return BeforeTool(None, contexts_of(ctx, ran))
    text = f"not done: {says(ran[-1])}\nDo not repeat it unchanged."
    return BeforeTool(failure(text, f"hook {ran[-1].result}"))


async def notes_after_edit(ctx: RunContext, change: FileChanged, events: Events, *, tool: str) -> list[str]:
    """Run the hooks after an edit of the model, and return what the model should know."""
    if not any(hook.on == "after-edit" for hook in ctx.facts.spec.hooks):
        return []
    fields = {"added": change.added, "removed": change.removed, "by": change.by}
    event = HookEvent(on="after-edit", tool=tool, path=change.path, fields=fields)
    known = ctx.facts.changes.files.get(change.path)
    ran = await run_hooks(ctx, event, events)
    notes = [f"The change was made, but {says(one)}" for one in ran if one.result != "passed"]
    notes += contexts_of(ctx, ran)
    if ctx.facts.changes.files.get(change.path) != known:
        notes.append(f"A hook changed {change.path} after that: read it again before you edit it.")
    return notes


def _path(tools: ToolContext, tool: str, arguments: dict[str, object]) -> str:
    """Return the file that a call is about, relative to the workspace. Empty means none, or not in the workspace."""
    traits = TOOL_TRAITS.get(tool)
    given = None if traits is None or traits.path is None else arguments.get(traits.path)
    if not isinstance(given, str) or not given:
        return ""
    try:
        return tools.workspace.relative(tools.workspace.resolve(given))
    except PathRefused:
        return ""
