"""Trim the conversation to the model's window (docs/requirements.md 8.4)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import msgspec

from ...protocol import Message, ToolSpec
from ...state.facts.conversation import Conversation
from .fit_fixed_part import NO_LIMITS, Count, Fixed, FixedLimits, shorten_fixed
from .shorten import cut_to, shorten
from .smallest_window import needed_room

if TYPE_CHECKING:
    from .shorten import CountMessages

TARGET = 0.6
"""Share of the window to trim to. Trimming much at a time keeps the prompt cache valid for several calls."""


@dataclass(frozen=True, slots=True)
class Fitted:
    """The prompt that is sent to the model, and what was left out of it."""

    messages: list[Message]
    tokens: int
    upto: int
    """Index in the journal before which messages are dropped, except those that are kept."""
    dropped: int
    """Messages that were sent before and no longer are."""
    dropped_tokens: int
    """Tokens that were dropped, including cut texts, by our own count."""
    shortened: int
    """Texts that were cut in the middle."""
    images: int
    """Images that were replaced by a line of text."""
    fixed: Fixed
    """The system prompt and the tools as sent."""
    fits: bool
    """False means that even the shortest prompt is too long."""


@dataclass(frozen=True, slots=True)
class _Shaped:
    """The conversation with its fixed part shortened, before rounds are dropped."""

    conversation: Conversation
    fixed: Fixed
    images: int
    """Number of images that a line of text replaces."""
    is_task_cut: bool
    count_all: Count

    def count(self, messages: Sequence[Message]) -> int:
        return self.count_all(messages, self.fixed.tools)


def fit(
    conversation: Conversation,
    *,
    count: Count,
    window: int,
    room: int,
    tools: Sequence[ToolSpec] = (),
    limits: FixedLimits = NO_LIMITS,
    limit: int | None = None,
) -> Fitted:
    """Return the system prompt, the task, the newest rounds and the newest message. The middle is dropped first.

    A call and its results are kept or dropped together. `room`: the tokens that the prompt may use; `limit` trims it
    further, after the provider refused it as too long. The fixed part is shortened first (`shorten_fixed`, which
    takes `limits`). Images get at most half of the room; a line of text replaces older ones. If even the
    newest round does not fit, old images are dropped, then texts are cut.
    """
    gone = conversation.forgotten
    shaped = _shape(conversation, tools, count, room, limits)
    messages = shaped.conversation.current()
    tokens = shaped.count(messages)
    cut = int(shaped.is_task_cut)
    if tokens <= room and limit is None:
        return Fitted(messages, tokens, gone + conversation.upto, 0, 0, cut, shaped.images, shaped.fixed, fits=True)
    target = min(int(window * TARGET), room)
    if limit is not None:
        room = target = min(target, limit)
        shaped = _shape(conversation, tools, count, target, limits)
    upto = _new_upto(shaped.conversation, shaped.count, target)
    trimmed = _from(shaped.conversation, upto)
    dropped, images = len(messages) - len(trimmed), shaped.images
    before, tokens = tokens, shaped.count(trimmed)
    if tokens > room:
        trimmed, old = _drop_old_images(trimmed, shaped.count, room)
        trimmed, shortened = shorten(trimmed, shaped.count, room)
        images += old
        tokens, cut = shaped.count(trimmed), cut + shortened
    saved = max(0, before - tokens)
    return Fitted(trimmed, tokens, gone + upto, dropped, saved, cut, images, shaped.fixed, fits=tokens <= room)


def _shape(
    conversation: Conversation,
    tools: Sequence[ToolSpec],
    count: Count,
    room: int,
    limits: FixedLimits,
) -> _Shaped:
    """Replace images that need more than half of the room. Shorten the system prompt and the tools, and a first message
    that leaves no room for them and a round.
    """
    conversation, images = _limit_images(conversation, count, room // 2)
    messages = list(conversation.messages)
    place = next((i for i, m in enumerate(messages) if m.role == "system"), None)
    system = "" if place is None else messages[place].text
    first = next((i for i, m in enumerate(messages) if m.role == "user"), None)
    task = 0 if first is None else count([messages[first]], ())
    is_cut = False
    if first is not None and task > room // 3:
        is_cut = needed_room(system, tools, messages[first].text, count, needed=limits.needed) > room
    if first is not None and is_cut:
        task = room // 3
        text = cut_to(messages[first].text, task, lambda text: count([Message(role="user", text=text)], ()))
        messages[first] = msgspec.structs.replace(messages[first], text=text)
    fixed = shorten_fixed(system, tools, count=count, space=max(0, room - task), limits=limits)
    if place is not None:
        messages[place] = msgspec.structs.replace(messages[place], text=fixed.system)
    return _Shaped(Conversation(messages, upto=conversation.upto), fixed, images, is_cut, count)


def _limit_images(conversation: Conversation, count: Count, limit: int) -> tuple[Conversation, int]:
    """Replace images by lines of text, except the newest, up to `limit` tokens. Also returns how many."""
    kept = conversation.kept()
    places = [i for i, m in enumerate(conversation.messages) if m.images and (i >= conversation.upto or i in kept)]
    if not places:
        return conversation, 0
    messages, dropped = list(conversation.messages), 0
    left = sum(_weight(messages[i], count) for i in places)
    for i in places:
        while messages[i].images and left > limit:
            left -= _weight(messages[i], count)
            messages[i] = _without_first(messages[i])
            left += _weight(messages[i], count)
            dropped += 1
    return (replace(conversation, messages=messages) if dropped else conversation), dropped


def _drop_old_images(messages: Sequence[Message], count: CountMessages, room: int) -> tuple[list[Message], int]:
    """Replace images, oldest first, until all fits, but not those of the user's newest message.
    Also returns how many.
    """
    out, dropped = list(messages), 0
    newest = next((i for i in reversed(range(len(out))) if out[i].role == "user"), -1)
    for i in (i for i, message in enumerate(messages) if message.images and i != newest):
        while out[i].images and count(out) > room:
            out[i] = _without_first(out[i])
            dropped += 1
    return out, dropped


def _without_first(message: Message) -> Message:
    first, *rest = message.images
    return msgspec.structs.replace(message, text=f"{message.text}\n{first.label}", images=rest)


def _weight(message: Message, count: Count) -> int:
    """Return the tokens of the message's images."""
    return count([message], ()) - count([msgspec.structs.replace(message, images=[])], ())


def _new_upto(conversation: Conversation, count: Callable[[Sequence[Message]], int], target: int) -> int:
    """Return the earliest start of a round from which everything fits, else the start of the newest round.

    While there is no answer, all messages belong to the newest round.
    """
    starts = [i for i, m in enumerate(conversation.messages) if m.role in ("user", "assistant")]
    starts = [i for i in starts if i >= conversation.upto] or [conversation.upto]
    answers = [i for i in starts if conversation.messages[i].role == "assistant"]
    low, high = 0, starts.index(answers[-1]) if answers else 0
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
