"""Texts for a model that does not accept images: the error for the user, and a line in place of each image."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from ...protocol import ImageRef, Message


def no_images_message(model: str) -> str:
    """Return why a message with an image is not sent to this model, and how to fix it."""
    return (
        f"{model} does not accept images: switch to a model that does (/model NAME, or --model), "
        "or send the message without them"
    )


def without_images(message: Message, hides: Callable[[ImageRef], bool]) -> Message:
    """Return the message with a line of text in place of each image for which `hides` returns True."""
    hidden = [image for image in message.images if hides(image)]
    if not hidden:
        return message
    lines = [image.label for image in hidden]
    kept = [image for image in message.images if not hides(image)]
    return msgspec.structs.replace(message, text="\n".join([message.text, *lines]).lstrip("\n"), images=kept)
