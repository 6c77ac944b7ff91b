"""Choose the images of a conversation that are sent to a model."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from ...models.images.image_words import without_images

if TYPE_CHECKING:
    from ...protocol import FaultKind, ImageRef, Message, Model, ModelFault
    from ...state.facts.conversation import Conversation
    from ...state.facts.run_facts import RunFacts

_OF_IMAGES = re.compile(r"\bimages?\b|image_?(url|input)|multi-?modal|mmproj|support(s|ed)? vision|vision input", re.I)
_KINDS: frozenset[FaultKind] = frozenset({"bad-request", "unknown-model", "server"})
"""The faults with which providers refuse images: mostly 400, OpenRouter 404, llama.cpp 500."""


def accepts_images(model: Model, facts: RunFacts) -> bool:
    """Return whether the model can use a message with an image."""
    return model.sees_images is not False and facts.refused_images.get(model.name) != []


def with_accepted_images(model: Model, facts: RunFacts, conversation: Conversation) -> Conversation:
    """Return the conversation as it is sent to that model: a line of text replaces each image that it does not get."""
    refused = facts.refused_images.get(model.name, ())
    sees = accepts_images(model, facts)

    def hides(image: ImageRef) -> bool:
        return not sees or image.sha in refused

    if not any(hides(image) for message in conversation.messages for image in message.images):
        return conversation
    return replace(conversation, messages=[without_images(message, hides) for message in conversation.messages])


def is_about_images(fault: ModelFault, model: str, messages: list[Message]) -> bool:
    """Return whether the provider refused the call because of its images."""
    if fault.kind not in _KINDS or not any(message.images for message in messages):
        return False
    return _OF_IMAGES.search(fault.text.replace(model, "")) is not None
