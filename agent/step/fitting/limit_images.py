"""Replace images of a prompt by lines of text, before texts are shortened."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from ...facts.conversation import Conversation
    from ...protocol import Message
    from .fixed import Count
    from .shorten import CountMessages


def limit_images(conversation: Conversation, count: Count, most: int) -> tuple[Conversation, int]:
    """Keep the newest images, up to `most` tokens. Also returns how many were replaced."""
    kept = conversation.kept()
    places = [i for i, m in enumerate(conversation.messages) if m.images and (i >= conversation.upto or i in kept)]
    if not places:
        return conversation, 0
    messages, dropped = list(conversation.messages), 0
    left = sum(_weight(messages[i], count) for i in places)
    for i in places:
        while messages[i].images and left > most:
            left -= _weight(messages[i], count)
            messages[i] = _without_first(messages[i])
            left += _weight(messages[i], count)
            dropped += 1
    return (replace(conversation, messages=messages) if dropped else conversation), dropped


def drop_old_images(messages: Sequence[Message], count: CountMessages, room: int) -> tuple[list[Message], int]:
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
