"""What the model reads now: the messages of a run's conversation that are sent with the next call."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import msgspec

from ..facts.conversation import main_conversation
from ..view.show.titles import call_title
from .context_costs import estimated_tokens

if TYPE_CHECKING:
    from ...journal.journal import Journal
    from ...protocol import Message, ToolCall


Writer = Literal["system", "summary", "you", "rundry", "model", "tool"]
"""The author of a message of the prompt; `rundry`: this program."""


@dataclass(frozen=True, slots=True)
class SentMessage:
    """One message of the prompt."""

    writer: Writer
    text: str
    """Its text; of an answer without text its calls."""
    tokens: int
    """About this many."""
    tool: str = ""
    """Of a result: the tool."""


def sent_messages(journal: Journal) -> list[SentMessage]:
    """Return the messages in their order. Raises JournalError."""
    conversation = main_conversation(journal, journal.last_seq())
    kept, said = conversation.kept(), set(conversation.said)
    summaries = {cut.seq for cut in conversation.cuts if cut.is_summary}
    tools = {call.call_id: call.tool for message in conversation.messages for call in message.calls}
    found = list[SentMessage]()
    for index, (message, seq) in enumerate(zip(conversation.messages, conversation.seqs, strict=True)):
        if index < conversation.upto and index not in kept:
            continue
        writer: Writer = "system"
        match message.role:
            case "user":
                writer = "summary" if seq in summaries else "you" if seq in said else "rundry"
            case "tool":
                writer = "tool"
            case "assistant":
                writer = "model"
            case _:
                pass
        tool = tools.get(message.call_id or "", "") if writer == "tool" else ""
        found.append(SentMessage(writer, message_text(message), _tokens(message), tool))
    return found


def message_text(message: Message) -> str:
    """Return the text of a message; of an answer without text its calls."""
    return message.text or ", ".join(_title(call) for call in message.calls)


def _title(call: ToolCall) -> str:
    """Return `run pytest -q`: the call as the transcript names it."""
    try:
        return call_title(call.tool, msgspec.json.decode(call.arguments))
    except msgspec.DecodeError:
        return call.tool


def _tokens(message: Message) -> int:
    return estimated_tokens(message.text) + sum(estimated_tokens(call.arguments) for call in message.calls)
