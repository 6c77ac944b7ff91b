"""The folders that a view has as a fresh checkout has them after its setup, instead of those of the workspace."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ..layers.copies import copy_file
from ..layers.effects import OPAQUE
from ..layers.judge import Past, put_past
from .decided import is_below

if TYPE_CHECKING:
    from ..layers.layer import Layer


class Fresh(NamedTuple):
    """What a view has in place of ignored folders."""

    absent: Sequence[str]
    """Folders of the workspace that are not there."""
    made: Mapping[str, Path]
    """Folders that are there instead, each with the folder that has its content."""

    def over(self, past: Mapping[str, Past | None]) -> dict[str, Past | None]:
        """Return what the other paths of a view have, and these."""
        mine = (*self.absent, *self.made)
        left = {path: was for path, was in past.items() if not any(is_below(path, one) for one in mine)}
        return {**left, **dict.fromkeys(self.absent), **{path: Past(type="folder") for path in self.made}}

    def put(self, layer: Layer, past: Mapping[str, Past | None]) -> None:
        """Let the paths of a layer be as in `past`, which `over` returned, and fill the folders. Raises OSError."""
        put_past(layer, past)
        for path, source in self.made.items():
            target = layer.upper / path
            os.setxattr(target, OPAQUE, b"y", follow_symlinks=False)
            clone_tree(source, target)


def clone_tree(source: Path, target: Path) -> None:
    """Copy a folder with its links, times and rights; files share their blocks where the disk can. Raises OSError."""
    shutil.copytree(source, target, symlinks=True, dirs_exist_ok=True, copy_function=copy_file)
