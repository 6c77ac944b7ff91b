"""Trims the conversation to the model's window (REQUIREMENTS 8.4)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import msgspec

from ..journal.conversation import Conversation
from ..protocol import Message

TARGET = 0.6
"""Of the window: trimming goes in big steps, so that the prompt cache can hit in between."""
_SHORTEST = 200
"""Characters below which no text is cut further."""


@dataclass(frozen=True, slots=True)
class Fitted:
    """What goes to the model."""

    messages: list[Message]
    tokens: int
    upto: int
    dropped: int
    """Messages that no longer go to the model and did before."""
    dropped_tokens: int
    """By our own count, cut texts included."""
    shortened: int
    """Texts that were cut in the middle."""


def output_room(window: int, max_output: int | None) -> int:
    """Tokens of the window that are kept free for the answer."""
    room = min(max(window // 4, 256), 4096)
    return min(room, max_output) if max_output else room


def fit(
    conversation: Conversation,
    *,
    count: Callable[[Sequence[Message]], int],
    window: int,
    room: int,
    harder: bool = False,
) -> Fitted:
    """The system prompt, the task, the newest message and the newest rounds; the oldest middle goes first.

    A call and its results go or stay together. `room` is the tokens that the prompt may take; `harder` trims although
    the count fits (the provider said that it does not). Where even the newest round does not fit, the longest texts
    are cut in the middle.
    """
    messages = conversation.current()
    tokens = count(messages)
    if tokens <= room and not harder:
        return Fitted(messages, tokens, conversation.upto, 0, 0, 0)
    target = min(int(window * TARGET), room)
    if harder:
        target = min(target, tokens // 2)
    upto = _new_upto(conversation, count, target)
    trimmed = _from(conversation, upto)
    dropped = len(messages) - len(trimmed)
    before, tokens = tokens, count(trimmed)
    shortened = 0
    if tokens > (target if harder else room):
        trimmed, shortened = _shorten(trimmed, count, target if harder else room)
        tokens = count(trimmed)
    return Fitted(trimmed, tokens, upto, dropped, max(0, before - tokens), shortened)


def _new_upto(conversation: Conversation, count: Callable[[Sequence[Message]], int], target: int) -> int:
    """The smallest start of a round from which on everything fits; the newest round's start where nothing does."""
    starts = [i for i, m in enumerate(conversation.messages) if m.role in ("user", "assistant")]
    starts = [i for i in starts if i >= conversation.upto] or [conversation.upto]
    answers = [i for i in starts if conversation.messages[i].role == "assistant"]
    low, high = 0, starts.index(answers[-1]) if answers else len(starts) - 1
    while low < high:
        middle = (low + high) // 2
        if count(_from(conversation, starts[middle])) <= target:
            high = middle
        else:
            low = middle + 1
    return starts[low]


def _from(conversation: Conversation, upto: int) -> list[Message]:
    kept = conversation.kept()
    return [m for i, m in enumerate(conversation.messages) if i >= upto or i in kept]


def _shorten(
    messages: list[Message], count: Callable[[Sequence[Message]], int], room: int
) -> tuple[list[Message], int]:
    """Halves the longest text until all fits; the system prompt only when nothing else is left."""
    out, touched = list(messages), set[int]()
    while count(out) > room:
        long = [i for i, m in enumerate(out) if len(m.text) > _SHORTEST and m.role != "system"]
        long = long or [i for i, m in enumerate(out) if len(m.text) > _SHORTEST]
        if not long:
            break
        i = max(long, key=lambda i: len(out[i].text))
        out[i] = msgspec.structs.replace(out[i], text=cut_middle(out[i].text, len(out[i].text) // 2))
        touched.add(i)
    return out, len(touched)


def cut_middle(text: str, length: int) -> str:
    """Head and tail of the text in about so many characters, with what is missing said between them."""
    if len(text) <= length:
        return text
    note = f"\n[... {len(text) - length} characters are left out here to fit the window ...]\n"
    keep = max(length - len(note), 40)
    return text[: keep * 2 // 3] + note + text[len(text) - keep // 3 :]
