"""Find the git folders of a workspace without starting git."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

from ..host.plain_files import read_plain
from ..host.real_paths import is_folder
from .protected_places import is_real_folder

_SMALL = 10_000
"""Maximum bytes of a file that names a git folder."""


class GitFolders(NamedTuple):
    """The folders of a repository, as one working tree uses them."""

    own: Path
    """HEAD, index and operations of this working tree."""
    common: Path
    """Refs, objects and config of all working trees."""

    @property
    def is_linked(self) -> bool:
        """Return whether `git worktree` made the working tree."""
        return self.own != self.common

    @property
    def objects(self) -> Path:
        """Return the folder of the object store."""
        return self.common / "objects"

    @property
    def alternates(self) -> list[Path]:
        """Return all further object stores, also indirect ones (gitrepository-layout(5), objects/info/alternates)."""
        found = list[Path]()
        waiting = [self.objects]
        while waiting and len(found) < 32:
            store = waiting.pop()
            for line in _lines(store / "info/alternates"):
                path = Path(os.path.realpath(store / line))
                if not line.startswith("#") and path != self.objects and path not in found and is_folder(path):
                    found.append(path)
                    waiting.append(path)
        return found


def find_folders(ws: Path) -> GitFolders | None:
    """Return the folders of the repository whose top is this folder; None if it cannot be read or does not exist."""
    git = ws / ".git"
    own = git
    if git.is_symlink() or not git.exists():
        return None
    if git.is_file():
        line = next(iter(_lines(git)), "")
        if not line.startswith("gitdir:"):
            return None
        own = Path(os.path.realpath(ws / line.removeprefix("gitdir:").strip()))
    common = next((Path(os.path.realpath(own / line)) for line in _lines(own / "commondir")), own)
    if not (is_real_folder(common / "objects") and is_real_folder(common / "refs") and (own / "HEAD").is_file()):
        return None
    return GitFolders(own, common)


def repository_places(ws: Path) -> list[Path]:
    """Return the git folders outside of the workspace that git reads in it.

    They belong to a linked working tree, or to a repository whose top is above the workspace.
    """
    tops = (folder for folder in (ws, *ws.parents) if folder != Path("/") and os.path.lexists(folder / ".git"))
    top = next(tops, ws)
    found = find_folders(top)
    above = [top] if top != ws else []
    return [*above, found.common] if found is not None and found.is_linked else above


def _lines(file: Path) -> list[str]:
    try:
        text = read_plain(file, _SMALL).decode()
    except (OSError, UnicodeDecodeError):
        return []
    return [line for line in text.splitlines() if line]
