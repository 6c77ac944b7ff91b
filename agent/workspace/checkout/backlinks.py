"""Find files in a dependency folder that point back to the workspace: links, and editable installs."""

from __future__ import annotations

import os
import re
from pathlib import Path

_NAMES = re.compile(r".*\.(pth|egg-link)|__editable__.*|direct_url\.json")
_MOST_BYTES = 200_000


def first_backlink(folder: Path, workspace: Path) -> str | None:
    """Return the first file below the folder that points to other files of the workspace, or None.

    In a checkout at another path, such a file points to the original workspace and not to the checkout.
    """
    real, root = os.path.realpath(folder), os.path.realpath(workspace)
    for top, folders, files in os.walk(real):
        for name in (*folders, *files):
            path = f"{top}/{name}"
            if Path(path).is_symlink():
                if _is_below(os.path.realpath(path), root) and not _is_below(os.path.realpath(path), real):
                    return os.path.relpath(path, real)
            elif _NAMES.fullmatch(name) and root.encode() in _head(path):
                return os.path.relpath(path, real)
    return None


def _is_below(path: str, folder: str) -> bool:
    return path == folder or path.startswith(f"{folder}/")


def _head(path: str) -> bytes:
    try:
        with Path(path).open("rb") as file:
            return file.read(_MOST_BYTES)
    except OSError:
        return b""
