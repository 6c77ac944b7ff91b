"""Keep what a killed runner left in a layer as a patch."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from ...layers.effects import TooMuch
from ...layers.namespaces import NamespacesRefused
from ...layers.occupied import Occupied
from ...layers.remedies import LayerRefused
from ...layers.unit import Unit, UnitLost
from ...workspace.errors import StaleFile

if TYPE_CHECKING:
    from ...layers.run_layers import RunLayers

UNREADABLE = (LayerRefused, UnitLost, Occupied, NamespacesRefused, TooMuch, StaleFile, OSError)
"""What `take_patch` raises."""
_BY_THE_WAY = frozenset[str]({"bytecode", "built", "ignored_new", "git"})


def take_patch(layers: RunLayers, folder: Path) -> tuple[bytes, list[str]]:
    """Return what was changed in a left layer as a patch, and the paths. Removes the layer. Raises `UNREADABLE`."""
    unit = Unit.left(layers, folder)
    try:
        listed = layers.listed(unit.layer, os.environ)
        patch = b"".join(unit.patch(listed))
    except BaseException:
        unit.leave()
        raise
    unit.drop()
    groups = (group for group in listed.groups if group.kind not in _BY_THE_WAY)
    return patch, sorted(one.effect.path for group in groups for one in group.entries)
