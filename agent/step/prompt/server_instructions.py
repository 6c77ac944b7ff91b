"""Send what MCP servers say about their tools to the model, once in a conversation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...protocol import Prompted
from ...tools.web.foreign_text import of_server

if TYPE_CHECKING:
    from ...state.recorder import Events
    from ..resources.run_context import RunContext


def send_server_instructions(ctx: RunContext, events: Events) -> None:
    """Record the accepted instructions that the conversation does not have. After a compaction they are sent again."""
    told = ctx.tools.mcp.instructions()
    if not told:
        return
    sent = {message.text for message in ctx.facts.conversation(None).messages if message.role == "user"}
    for server, text in told.items():
        message = of_server(text, server)
        if message not in sent:
            events.record(Prompted(kind="mcp", text=message))
