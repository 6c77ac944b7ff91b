"""Before a check, remove Python bytecode that appeared during the run, because it could replace the source.

Python accepts bytecode by the time and size of its source, or without a comparison (PEP 552), and both can be forged.
A cache folder that an environment variable sets would not affect `python -E`, `env -i` or tox.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from ...system.plain_files import walk_folders
from ..files.beneath import folder_of
from .marks import Stamp, stamp_of
from .names import CACHE

_ENDINGS = (".pyc", ".pyo")
_Stamps = tuple[Stamp, Stamp | None]
"""The stamps of the bytecode and of its source."""


class Bytecode:
    """The bytecode of one workspace. `remember` once, then `drop` before each check."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._known: dict[str, _Stamps] = {}

    def remember(self, folders: Iterable[str]) -> None:
        """Record the bytecode in these folders (`x/__pycache__`, relative). `drop` keeps it while it is unchanged."""
        for folder in folders:
            with suppress(OSError), folder_of(self._root, self._root / folder / "x") as fd:
                self._known.update((f"{folder}/{name}", stamps) for name, stamps in _stamps(fd))

    def drop(self, folders: Iterable[str]) -> list[str]:
        """Remove bytecode that is new, changed, or has a changed source. Return the files that could not be removed."""
        left: list[str] = []
        for folder in folders:
            try:
                left += self._drop(folder)
            except OSError:
                if not self._is_gone(folder):
                    left.append(folder)
        return left

    def _drop(self, folder: str) -> Iterator[str]:
        left: list[str] = []
        with folder_of(self._root, self._root / folder / "x") as fd:
            for name, stamps in list(_stamps(fd)):
                if self._known.get(f"{folder}/{name}") == stamps:
                    continue
                try:
                    os.unlink(name, dir_fd=fd)
                except FileNotFoundError:
                    continue
                except OSError:
                    left.append(f"{folder}/{name}")
        return iter(left)

    def _is_gone(self, folder: str) -> bool:
        """Return whether the folder is missing. A link in its place is removed, so that Python cannot follow it."""
        place = self._root / folder
        with suppress(OSError), folder_of(self._root, place) as above:
            if stat.S_ISLNK(os.stat(CACHE, dir_fd=above, follow_symlinks=False).st_mode):
                os.unlink(CACHE, dir_fd=above)
        return not place.is_dir()


def caches_below(folder: Path) -> Iterator[Path]:
    """Yield the bytecode folders of installed packages below a folder."""
    for top, folders, _ in walk_folders(folder):
        if CACHE in folders:
            folders.remove(CACHE)
            yield Path(top, CACHE)


def _stamps(folder: int) -> Iterator[tuple[str, _Stamps]]:
    with os.scandir(folder) as listing:
        names = [entry.name for entry in listing if entry.name.endswith(_ENDINGS)]
    for name in names:
        with suppress(FileNotFoundError):
            own = stamp_of(os.stat(name, dir_fd=folder, follow_symlinks=False))
            yield name, (own, _source(folder, name))


def _source(folder: int, name: str) -> Stamp | None:
    with suppress(OSError):
        return stamp_of(os.stat(f"../{name.partition('.')[0]}.py", dir_fd=folder))
    return None
