"""Keep what a killed runner left in a layer as a patch."""

from __future__ import annotations

import asyncio
import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ...host.file_errors import StaleFile
from ...layers.layer_effects import TooMuch
from ...layers.namespaces import NamespacesRefused
from ...layers.occupied import Occupied
from ...layers.remedies import LayerRefused
from ...layers.removing import remove_tree
from ...layers.unit import Unit, UnitLost

if TYPE_CHECKING:
    from ...layers.run_layers import RunLayers
    from ...step.resources.run_context import RunContext

UNREADABLE = (LayerRefused, UnitLost, Occupied, NamespacesRefused, TooMuch, StaleFile, OSError)
_KILLED = "the program was killed"
_NOT_IN_PATCH = frozenset[str]({"bytecode", "built", "ignored_new", "git"})


class Left(NamedTuple):
    """The result of keeping a layer that a killed runner left."""

    patch: str | None
    """What was changed in it, in the journal. None means nothing, or it is not known."""
    files: list[str]
    why: str
    """How the work ended, for people. It names the layer if that stays, because its changes could not be read."""


async def keep_left(ctx: RunContext, folder: Path) -> Left:
    """Keep what was changed in a left layer as a patch, and remove the layer, unless it cannot be read."""
    try:
        assert ctx.units is not None  # the run has tries or items
        patch, files = await asyncio.to_thread(_take_patch, ctx.units, folder)
    except UNREADABLE as error:
        return _unread(folder, str(error))
    return Left(ctx.journal.blobs.keep(patch) if patch else None, files, _KILLED)


def remove_left(folder: Path) -> None:
    """Delete a layer. What cannot be deleted stays, and `rundry doctor` lists it."""
    with suppress(OSError):
        remove_tree(folder)


def _unread(folder: Path, why: str) -> Left:
    stays = stays_in(folder)
    return Left(None, [], f"{_KILLED}{stays}: {why}" if stays else _KILLED)


def stays_in(folder: Path) -> str:
    """Return the words that name a layer whose changes could not be read, or empty if it does not exist."""
    return f", and its changes stay in {folder}" if folder.is_dir() else ""


def _take_patch(layers: RunLayers, folder: Path) -> tuple[bytes, list[str]]:
    """Return what was changed in a left layer as a patch, and the paths. Removes the layer. Raises `UNREADABLE`."""
    unit = Unit.left(layers, folder)
    try:
        listed = layers.listed(unit.layer, os.environ)
        patch = b"".join(unit.patch(listed))
    except BaseException:
        unit.leave()
        raise
    unit.drop()
    groups = (group for group in listed.groups if group.kind not in _NOT_IN_PATCH)
    return patch, sorted(one.effect.path for group in groups for one in group.entries)
