"""The folders of a fresh checkout after its setup, which a view has instead of those of the workspace."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ...layers.judge_view_files import Past, put_past
from ...layers.layer_effects import OPAQUE
from ...layers.workspace_copies import CopyFolders, copy_file
from .decided import is_below

if TYPE_CHECKING:
    from ...layers.layer import Layer
    from ...layers.workspace_copies import CopyLayer


class Fresh(NamedTuple):
    """What a view has in place of ignored folders."""

    absent: Sequence[str]
    """Folders of the workspace that are not there."""
    made: Mapping[str, Path]
    """Folders that are there instead, each with the folder that has its content."""

    def has(self, path: str) -> bool:
        """Return whether a path lies in one of these folders."""
        return any(is_below(path, one) for one in (*self.absent, *self.made))

    def without(self, past: Mapping[str, Past | None]) -> dict[str, Past | None]:
        """Return what the other paths of a view have."""
        return {path: was for path, was in past.items() if not self.has(path)}

    def over(self, past: Mapping[str, Past | None]) -> dict[str, Past | None]:
        """Return what the other paths of a view have, and these."""
        made = {path: Past(type="folder") for path in self.made}
        return {**self.without(past), **dict.fromkeys(self.absent), **made}

    def put(self, layer: Layer, past: Mapping[str, Past | None]) -> None:
        """Restore the paths of a layer as in `past`, which `over` returned, and fill the folders. Raises OSError."""
        put_past(layer, past)
        for path, source in self.made.items():
            target = layer.upper / path
            os.setxattr(target, OPAQUE, b"y", follow_symlinks=False)
            clone_tree(source, target)

    def put_in_copy(self, copy: CopyLayer) -> None:
        """Put these folders into a copy of the workspace. Raises OSError."""
        with CopyFolders(copy.workspace, copy.tree) as folders:
            for path in (*self.absent, *self.made):
                folders.remove(os.fsencode(path))
            for path in self.made:
                folders.make_folder(os.fsencode(path))
        for path, source in self.made.items():
            clone_tree(source, copy.tree / path)


def clone_tree(source: Path, target: Path) -> None:
    """Copy a folder with its links, times and rights; files share their blocks where the disk can. Raises OSError."""
    shutil.copytree(source, target, symlinks=True, dirs_exist_ok=True, copy_function=copy_file)
