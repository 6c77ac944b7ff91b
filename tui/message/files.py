"""The workspace's files, for `@`: what is ignored is left out. No textual in here."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

MOST = 20_000


def list_files(
    root: Path, ignored: Callable[[str, bool], bool] = lambda path, folder: False, most: int = MOST
) -> list[str]:
    """Paths relative to `root`, at most `most`; `ignored(relative path, is a folder)` leaves one out."""
    found: list[str] = []
    for folder, folders, names in os.walk(root):
        base = Path(folder).relative_to(root)
        folders[:] = sorted(
            name for name in folders if not name.startswith(".") and not ignored((base / name).as_posix(), True)
        )
        for name in sorted(names):
            path = (base / name).as_posix()
            if not ignored(path, False):
                found.append(path)
                if len(found) >= most:
                    return found
    return found
