"""Texts that replace an image: for a person, and for a model that does not accept images."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from ..protocol import ImageRef, Message


def no_images_message(model: str) -> str:
    """Say why a message with an image is not sent to this model."""
    return (
        f"{model} does not accept images: switch to a model that does (/model NAME, or --model), "
        "or send the message without them"
    )


def without_images(message: Message, hides: Callable[[ImageRef], bool]) -> Message:
    """Return the message with a line of text instead of each image for which `hides` is true."""
    hidden = [image for image in message.images if hides(image)]
    if not hidden:
        return message
    lines = [image.label for image in hidden]
    kept = [image for image in message.images if not hides(image)]
    return msgspec.structs.replace(message, text="\n".join([message.text, *lines]).lstrip("\n"), images=kept)
