"""Images that a message names: read by the view, stored as bytes in the journal, named by reference in a command."""

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
    """The run with the images that its task names, or this part of it, and their bytes. Raises UserError."""
    text = spec.task if typed is None else typed
    if "@" not in text or spec.loop is LoopKind.UNTIL_DRY:
        return spec, []
    from rundry.agent import attach

    images = attach(text, root)
    return msgspec.structs.replace(spec, images=[one.ref for one in images]), [one.data for one in images]


def images_of_message(text: str, root: Path, state: ViewState) -> tuple[list[ImageRef], list[bytes]]:
    """The images that a message to a run names. Raises RundryError where the run's model does not accept them."""
    if "@" not in text:
        return [], []
    from rundry.agent import attach, no_images

    images = attach(text, root)
    if images and state.finder is not None:
        raise RundryError("a search does not accept images: describe them in words")
    if images and state.sees_images is False:
        raise RundryError(no_images(state.model))
    return [one.ref for one in images], [one.data for one in images]


def store_images(text: str, journal: Journal) -> list[ImageRef]:
    """The images that a message to the run of this journal names, stored in it. The runner judges the rest."""
    if "@" not in text:
        return []
    from rundry.agent import attach

    images = attach(text, Path(journal.spec.workspace))
    for one in images:
        journal.keep(one.data)
    return [one.ref for one in images]


def with_images(commands: Sequence[Command], journal: Journal) -> list[Command]:
    """The commands, the images that their texts name stored in the journal. Raises UserError."""
    return [
        msgspec.structs.replace(one, images=store_images(one.text, journal)) if isinstance(one, Say | Steer) else one
        for one in commands
    ]


def with_hint_images(changes: ResumeChanges, journal: Journal) -> ResumeChanges:
    """The changes, the images that their hint names stored in the journal. Raises UserError."""
    if not changes.hint:
        return changes
    return msgspec.structs.replace(changes, images=store_images(changes.hint, journal))
