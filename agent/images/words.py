"""How an image is named where it cannot be shown: to a person, and to a model that does not see it."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from ..protocol import ImageRef, Message


def no_images(model: str) -> str:
    """Why a message with an image is not sent to this model."""
    return (
        f"{model} does not accept images: switch to a model that does (/model NAME, or --model), "
        "or send the message without them"
    )


def without_images(message: Message, hides: Callable[[ImageRef], bool]) -> Message:
    """The message with a line of text in place of each image that `hides` names."""
    hidden = [image for image in message.images if hides(image)]
    if not hidden:
        return message
    lines = [image.label for image in hidden]
    kept = [image for image in message.images if not hides(image)]
    return msgspec.structs.replace(message, text="\n".join([message.text, *lines]).lstrip("\n"), images=kept)
