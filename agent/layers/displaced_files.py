"""Files that applied changes displaced, kept for an undo: 2 GB for a workspace, for 30 days.

Each order has a folder of its own, in which a file is named by the digest of its content. A program may still have the
file open, so its content is compared when it is used. No file is deleted earlier to make room for another.
"""

from __future__ import annotations

import time
from contextlib import suppress
from pathlib import Path

from .removing import remove_tree

MOST_BYTES = 2 << 30
MOST_SECONDS = 30 * 86_400.0
_KEPT = "kept"


class Kept:
    """The displaced files of one workspace."""

    def __init__(self, base: Path) -> None:
        """`base`: the layers' folder of the workspace."""
        self.folder = base / _KEPT

    def place(self, order: str) -> Path:
        """Return the folder for the files that an order displaces. It may not exist."""
        return self.folder / order

    def room(self) -> int:
        """Return how many bytes of displaced files can still be kept."""
        used = 0
        for file in self.folder.glob("*/*"):
            with suppress(FileNotFoundError):
                used += file.lstat().st_size
        return max(0, MOST_BYTES - used)

    def find(self, digest: str) -> Path | None:
        """Return a file that had this content when it was displaced, or None if there is none."""
        found = (own / digest for own in self._orders())
        return next((file for file in found if digest and file.exists()), None)

    def drop(self, order: str) -> None:
        """Delete what an order displaced. Never raises OSError."""
        with suppress(OSError):
            remove_tree(self.place(order))

    def expire(self) -> None:
        """Delete what was displaced more than 30 days ago. Never raises OSError."""
        for own in self._orders():
            with suppress(OSError):
                if time.time() - own.stat().st_mtime > MOST_SECONDS:
                    remove_tree(own)

    def _orders(self) -> list[Path]:
        try:
            return list(self.folder.iterdir())
        except FileNotFoundError:
            return []
