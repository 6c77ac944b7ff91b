"""Send what the hooks at the start of a run add to the model, once in each conversation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...protocol import HookPoint, HookRan, Prompted
from .hook_output import LONGEST_CONTEXT, context_message

if TYPE_CHECKING:
    from ..resources.run_context import RunContext


def _message_of(ctx: RunContext, on: HookPoint, command: str, context: str) -> str:
    """Return the message about this context as the journal stores it: without keys.

    It takes no more of the window than the result of a tool.
    """
    return ctx.journal.redactor(context_message(on, command, context, min(LONGEST_CONTEXT, ctx.tools.limit)))


def contexts_of(ctx: RunContext, ran: list[HookRan]) -> list[str]:
    """Return the messages of the hooks that passed and add something."""
    return [_message_of(ctx, one.on, one.command, one.context) for one in ran if one.result == "passed" and one.context]


def send_start_context(ctx: RunContext, work: str | None) -> None:
    """Record what the hooks at the start add, unless the conversation has it. After a compaction it is sent again."""
    if not ctx.start_context:
        return
    sent = {message.text for message in ctx.facts.conversation(work).messages if message.role == "user"}
    for text in ctx.start_context:
        if text not in sent:
            ctx.events.record(Prompted(kind="hook", text=text), work=work)
