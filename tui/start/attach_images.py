"""Images that a message names. The view reads them and stores their bytes in the journal; a command names them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from rundry.agent import (
    Command,
    ImageRef,
    Journal,
    LoopKind,
    ResumeChanges,
    RundryError,
    RunSpec,
    Say,
    Steer,
    ViewState,
)


def images_of_task(spec: RunSpec, root: Path, typed: str | None = None) -> tuple[RunSpec, list[bytes]]:
    """Return the run with the images that its task, or this part of it, names, and their bytes. Raises UserError."""
    text = spec.task if typed is None else typed
    if "@" not in text or spec.loop is LoopKind.UNTIL_DRY:
        return spec, []
    from rundry.agent import attach

    images = attach(text, root)
    return msgspec.structs.replace(spec, images=[one.ref for one in images]), [one.data for one in images]


def images_of_message(text: str, root: Path, state: ViewState) -> tuple[list[ImageRef], list[bytes]]:
    """Return the images that a message to a run names.

    Raises RundryError if the model of the run does not accept them.
    """
    if "@" not in text:
        return [], []
    from rundry.agent import attach, no_images_message

    images = attach(text, root)
    if images and state.finder is not None:
        raise RundryError("a search does not accept images: describe them in words")
    if images and state.sees_images is False:
        raise RundryError(no_images_message(state.model))
    return [one.ref for one in images], [one.data for one in images]


def store_images(text: str, journal: Journal) -> list[ImageRef]:
    """Store the images that a message names in the journal of the run, and return them. The runner checks the rest."""
    if "@" not in text:
        return []
    from rundry.agent import attach

    images = attach(text, Path(journal.spec.workspace))
    for one in images:
        journal.blobs.keep(one.data)
    return [one.ref for one in images]


def with_images(commands: Sequence[Command], journal: Journal) -> list[Command]:
    """Return the commands with the images that their texts name, stored in the journal. Raises UserError."""
    return [
        msgspec.structs.replace(one, images=store_images(one.text, journal)) if isinstance(one, Say | Steer) else one
        for one in commands
    ]


def with_hint_images(changes: ResumeChanges, journal: Journal) -> ResumeChanges:
    """Return the changes with the images that their hint names, stored in the journal. Raises UserError."""
    if not changes.hint:
        return changes
    return msgspec.structs.replace(changes, images=store_images(changes.hint, journal))
