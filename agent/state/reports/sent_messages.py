"""What the model reads now: the messages of a run's conversation that are sent with the next call."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..facts.conversation import main_conversation
from .context_costs import estimated_tokens

if TYPE_CHECKING:
    from ...journal.journal import Journal
    from ...protocol import Message


@dataclass(frozen=True, slots=True)
class SentMessage:
    """One message of the prompt."""

    sender: str
    """`system`, `summary`, `you`, `rundry` (the program), `model`, or the tool of a result."""
    text: str
    """Its text; of an answer without text its calls."""
    tokens: int
    """About this many."""


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
        match message.role:
            case "user":
                sender = "summary" if seq in summaries else "you" if seq in said else "rundry"
            case "tool":
                sender = tools.get(message.call_id or "", "tool")
            case "assistant":
                sender = "model"
            case _:
                sender = "system"
        found.append(SentMessage(sender, _text(message), _tokens(message)))
    return found


def _text(message: Message) -> str:
    return message.text or ", ".join(call.tool for call in message.calls)


def _tokens(message: Message) -> int:
    return estimated_tokens(message.text) + sum(estimated_tokens(call.arguments) for call in message.calls)
