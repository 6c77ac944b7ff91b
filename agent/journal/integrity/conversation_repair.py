"""Repair a conversation with missing events: a provider accepts only calls with results."""

from __future__ import annotations

from collections.abc import Sequence

from ...protocol import Message

LOST = "unknown: the journal lost the result of this call, which may have been executed. Check before you repeat it."


def pair_results(messages: Sequence[Message], seqs: Sequence[int]) -> tuple[list[Message], list[int]]:
    """Return the messages with a result for each call, without results whose call is missing, and their positions."""
    found: list[tuple[Message, int]] = []
    waiting: list[str] = []
    seq = 0
    for message, seq in zip(messages, seqs, strict=True):
        if message.role == "tool":
            if message.call_id in waiting:
                waiting.remove(message.call_id or "")
                found.append((message, seq))
            continue
        found += [(_lost(call_id), seq) for call_id in waiting]
        waiting = [call.call_id for call in message.calls]
        found.append((message, seq))
    found += [(_lost(call_id), seq) for call_id in waiting]
    return [message for message, _ in found], [seq for _, seq in found]


def _lost(call_id: str) -> Message:
    return Message(role="tool", text=LOST, call_id=call_id)
