"""Read litellm's own stream, for providers whose format is not read here."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ....protocol import ModelFault
from ...usage import Usage
from ..chat_chunks import FINISHES, chat_usage

if TYPE_CHECKING:
    from ...answer import Answer, Shown
    from ...litellm_use.untyped import Untyped


def read_chunk(chunk: Untyped, answer: Answer) -> Iterator[Shown]:
    """Read one chunk into the answer."""
    answer.usage |= _usage_of(chunk)
    for choice in chunk.choices[:1]:
        answer.pieces += 1
        delta = choice.delta
        if choice.finish_reason:
            answer.finish = FINISHES.get(choice.finish_reason, "stop")
        if delta is None:
            continue
        if reasoning := getattr(delta, "reasoning_content", None):
            yield from answer.reasoning(reasoning)
        if delta.content:
            yield from answer.text(delta.content)
        for fragment in getattr(delta, "tool_calls", None) or ():
            function = fragment.function
            answer.call_piece(fragment.index, fragment.id, function.name or "", function.arguments)


def finish_stream(wrapper: Untyped, answer: Answer) -> None:
    """Finish the answer without the finish reason and usage that litellm makes up. Raises ModelFault if it was cut."""
    if hasattr(wrapper, "received_finish_reason"):  # a few providers stream without the wrapper
        raw = wrapper.received_finish_reason or wrapper.intermittent_finish_reason
        answer.finish = None if raw is None else FINISHES.get(raw, "stop")
        if not any(_usage_of(chunk) for chunk in wrapper.chunks):
            answer.usage = Usage()
    if answer.finish is None:
        raise ModelFault("cut", "the answer broke off: the stream ended without a finish reason", retryable=True)


def _usage_of(chunk: Untyped) -> Usage:
    usage: Untyped = getattr(chunk, "usage", None)
    return chat_usage(usage.model_dump() if hasattr(usage, "model_dump") else usage)
