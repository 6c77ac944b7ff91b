"""Find the folders of a workspace that package managers fill and that programs write their output to.

`dependency_folders.toml` and `output_folders.toml` list them. A file in a dependency folder can point back to the
workspace.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path

import msgspec

from ...host.ignored_files import Ignore

_DEPENDENCIES, _OUTPUT = (Path(__file__).with_name(f"{name}_folders.toml") for name in ("dependency", "output"))
_MOST_ENTERED = 20_000
"""Maximum number of workspace folders that are searched."""

_LINKING = re.compile(r".*\.(pth|egg-link)|__editable__.*|direct_url\.json")
"""Names of files of editable installs."""
_MOST_BYTES = 200_000


class FolderKind(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One row of a table."""

    ecosystem: str
    names: list[str] = []
    """Globs for the name of the folder."""
    files: list[str] = []
    """Globs for the names of single files of this kind."""
    siblings: list[str] = []
    """If given, one of these globs must match a file or folder next to it."""
    inside: list[str] = []
    """If given, the folder must contain one of these files or folders."""
    caches: list[str] = []
    """Entries directly in the folder that tools change, so that a manifest leaves them out."""
    source: str
    """Where this is documented."""

    def has_name(self, name: str, *, is_file: bool = False) -> bool:
        """Return whether a folder (or file) of this kind can have this name."""
        return any(fnmatchcase(name, glob) for glob in (self.files if is_file else self.names))

    def is_beside(self, siblings: Iterable[str]) -> bool:
        """Return whether a folder of this kind can lie next to these names."""
        return not self.siblings or any(fnmatchcase(other, glob) for other in siblings for glob in self.siblings)

    def fits(self, name: str, siblings: Iterable[str], place: str) -> bool:
        """Return whether the folder `place` with this name, next to these names, is of this kind."""
        if not (self.has_name(name) and self.is_beside(siblings)):
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


@cache
def dependency_kinds() -> list[FolderKind]:
    """Return the rows of `dependency_folders.toml`."""
    return msgspec.toml.decode(_DEPENDENCIES.read_bytes(), type=_Table).folder


@cache
def output_kinds() -> list[FolderKind]:
    """Return the rows of `output_folders.toml`."""
    return msgspec.toml.decode(_OUTPUT.read_bytes(), type=_Table).folder


def _kind(root: Path, path: str, name: str, siblings: Sequence[str]) -> FolderKind | None:
    place = f"{root}/{path}"
    if not os.path.isdir(place):  # noqa: PTH112 - one for each ignored name
        return None
    return next((kind for kind in dependency_kinds() if kind.fits(name, siblings, place)), None)


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
            elif _LINKING.fullmatch(name) and root.encode() in _head(path):
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
