"""Copies of folders of output, made before a run first writes there. The views of its judge have them instead.

They form a tree that lies over the workspace: each copied folder hides all of the workspace's folder (overlayfs.rst,
opaque), and those above it are merged with it.
"""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from .layer_effects import OPAQUE
from .removing import remove_tree
from .workspace_copies import copy_file, size_of

_MOST_BYTES, _MOST_FILES = 500 << 20, 20_000
"""Limits of a copy that shares no blocks with its source."""
_MOST_SECONDS = 30 * 86_400.0
_FOLDER = "outputs"


class OutputCopies:
    """The copies of one run."""

    def __init__(self, base: Path, run: str, workspace: Path) -> None:
        """`base`: the layers' folder of the workspace, outside of the workspace and on its file system."""
        self._all, self._folder, self._workspace = base / _FOLDER, base / _FOLDER / run, workspace
        self.tree = self._folder / "tree"
        """What lies over the workspace in a view."""

    def keep(self, path: str) -> bool:
        """Copy a folder of the workspace. Returns false if there is none, or if it is too large.

        Raises OSError; then there is no copy.
        """
        source, target = self._workspace / path, self.tree / path
        if not _is_plain_folder(source):
            return False
        size = size_of(source, self._all.parent)
        if not size.shares and (size.size > _MOST_BYTES or size.files > _MOST_FILES):
            return False
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        making = Path(tempfile.mkdtemp(dir=self._folder))
        try:
            shutil.copytree(source, making / "made", symlinks=True, copy_function=copy_file)
            os.setxattr(making / "made", OPAQUE, b"y")
            for above in [*reversed(Path(path).parents)]:
                if not (self.tree / above).is_dir():
                    (self.tree / above).mkdir(parents=True)
                    shutil.copystat(self._workspace / above, self.tree / above)
            (making / "made").rename(target)
        finally:
            remove_tree(making)
        return True

    def paths(self) -> Iterator[str]:
        """Yield the folders of which there is a copy."""
        for place, names, _ in os.walk(self.tree):
            with suppress(OSError):  # it is one of those above
                os.getxattr(place, OPAQUE)
                names.clear()
                yield Path(place).relative_to(self.tree).as_posix()

    def expire(self) -> None:
        """Delete the copies of runs that made them more than 30 days ago. Never raises OSError."""
        with suppress(OSError):
            for own in self._all.iterdir():
                with suppress(OSError):
                    if time.time() - own.stat().st_mtime > _MOST_SECONDS:
                        remove_tree(own)


def _is_plain_folder(path: Path) -> bool:
    try:
        return stat.S_ISDIR(path.lstat().st_mode)
    except (FileNotFoundError, NotADirectoryError):
        return False
