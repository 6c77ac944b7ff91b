"""Find out which paths were written in a layer, also where all is as it was before in the end.

A test can be replaced, run and restored. The overlay still has it then: a whiteout, a folder that hides what lies
below, or a file of its own. A file that was only opened for writing has one, too. What a command could set itself does
not tell these apart.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Collection
from typing import Literal

from .effects import is_opaque, is_whiteout, status_at

_Folder = Literal["untouched", "merged", "replaced"]


def touched_paths(upper: int, paths: Collection[str]) -> list[str]:
    """Return which of these paths were opened for writing, replaced or deleted. Raises OSError.

    `upper`: the open folder with what was written.
    """
    folders = dict[bytes, _Folder]()
    return sorted(path for path in paths if _is_touched(upper, os.fsencode(path), folders))


def _is_touched(upper: int, path: bytes, folders: dict[bytes, _Folder]) -> bool:
    parts = path.split(b"/")
    for count in range(1, len(parts)):
        folder = b"/".join(parts[:count])
        if folder not in folders:
            folders[folder] = _state_of(upper, folder)
        if folders[folder] != "merged":
            return folders[folder] == "replaced"
    return _state_of(upper, path) == "replaced"


def _state_of(upper: int, path: bytes) -> _Folder:
    status = status_at(upper, path)
    if status is None:
        return "untouched"
    is_merged = not is_whiteout(status) and stat.S_ISDIR(status.st_mode) and not is_opaque(upper, path)
    return "merged" if is_merged else "replaced"
