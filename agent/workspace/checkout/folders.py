"""Find the folders of a workspace that package managers fill, as `dependency_folders.toml` lists them."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path

import msgspec

from ..ignore import Ignore

_FILE = Path(__file__).with_name("dependency_folders.toml")
_MOST_ENTERED = 20_000
"""Maximum number of workspace folders that are searched."""


class FolderKind(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One row of the table."""

    ecosystem: str
    names: list[str]
    """Names of the folder; `*` stands for any name."""
    siblings: list[str] = []
    """If given, one of these globs must match a file or folder next to it."""
    inside: list[str] = []
    """If given, the folder must contain one of these files or folders."""
    caches: list[str] = []
    """Entries directly in the folder that tools change, so that a manifest leaves them out."""
    source: str
    """Where this is documented."""

    def fits(self, name: str, siblings: Sequence[str], place: str) -> bool:
        """Return whether the folder `place` with this name, next to these names, is of this kind."""
        if "*" not in self.names and name not in self.names:
            return False
        if self.siblings and not any(fnmatchcase(other, glob) for glob in self.siblings for other in siblings):
            return False
        return not self.inside or any(os.path.lexists(f"{place}/{inner}") for inner in self.inside)


class _Table(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    folder: list[FolderKind]


def dependency_folders(root: Path) -> dict[str, FolderKind]:
    """Return the kind of each dependency folder that a checkout lacks, by its path relative to the workspace.

    A folder that git does not ignore (a committed `vendor`) is part of a checkout and not returned.
    """
    return {path: kind for path, name, siblings in ignored_names(root) if (kind := _kind(root, path, name, siblings))}


def ignored_names(root: Path) -> Iterator[tuple[str, str, list[str]]]:
    """Yield path, name and sibling names of each file or folder that is itself ignored."""
    ignore = Ignore(root)
    waiting, entered = [""], 0
    while waiting and entered < _MOST_ENTERED:
        folder = waiting.pop()
        entered += 1
        ignore.refresh(folder)
        entries = ignore.entries(folder)
        siblings = [entry.name for entry in entries]
        for entry in entries:
            inside = entry.is_dir(follow_symlinks=False)
            if entry.name == ".git":
                continue
            if ignore.ignores_entry(folder, entry.name, inside):
                yield folder + entry.name, entry.name, siblings
            elif inside:
                waiting.append(f"{folder}{entry.name}/")


def _kind(root: Path, path: str, name: str, siblings: Sequence[str]) -> FolderKind | None:
    place = f"{root}/{path}"
    if not os.path.isdir(place):  # noqa: PTH112 - one for each ignored name
        return None
    return next((kind for kind in _table() if kind.fits(name, siblings, place)), None)


@cache
def _table() -> list[FolderKind]:
    return msgspec.toml.decode(_FILE.read_bytes(), type=_Table).folder
