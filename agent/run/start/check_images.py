"""Check the images of a message before it is recorded."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ...models.images.attach import check_attached
from ...models.images.image_words import no_images_message
from ...protocol import ImageRef, Model, Refusal, RunSpec
from ...step.model_call.images_shown import accepts_images

if TYPE_CHECKING:
    from ...journal.journal import Journal
    from ...state.facts.run_facts import RunFacts
    from ...step.resources.models_in_use import ModelsInUse
    from ..client.start_request import Order

NO_IMAGES_IN_SEARCH = "a search does not accept images: describe in words what they show"


def refuse_images(journal: Journal, facts: RunFacts, models: ModelsInUse, images: Sequence[ImageRef]) -> str | None:
    """Return why a message with these images is refused, or None."""
    return _refused(images, models.current, facts, journal)


def check_first_images(journal: Journal, facts: RunFacts, order: Order, model: Model) -> None:
    """Raise Refusal if the task, or the hint of a resumed run, has images that cannot be used."""
    images = order.changes.images if facts.started else facts.spec.images
    if refused := _refused(images, model, facts, journal):
        raise Refusal(refused)


def refuse_unsupported_images(spec: RunSpec, model: Model) -> None:
    """Raise Refusal if the task has images and the model does not accept images."""
    if spec.images and model.sees_images is False:
        raise Refusal(no_images_message(model.name))


def refuse_images_of_search(spec: RunSpec) -> None:
    """Raise Refusal if the task of a search has images."""
    if spec.images and spec.finder is not None:
        raise Refusal(NO_IMAGES_IN_SEARCH)


def _refused(images: Sequence[ImageRef], model: Model, facts: RunFacts, journal: Journal) -> str | None:
    if not images:
        return None
    if facts.finder is not None:
        return NO_IMAGES_IN_SEARCH
    if not accepts_images(model, facts):
        return no_images_message(model.name)
    return check_attached(images, journal.blobs)
