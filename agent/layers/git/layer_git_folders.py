"""Find the git folders that a layer concerns. What is a git folder is decided by the workspace, never by the layer."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import NamedTuple

from ...repo.git_folders import GitFolders, find_folders
from ..layer_effects import entries_of, is_opaque, is_whiteout, made_readable, refuse_long, status_at
from ..open_below import FOLDER

_MOST_INDEXES = 64


class Touched(NamedTuple):
    """The git folders in which something was written, as paths below the place."""

    folders: list[bytes]
    deleted: list[bytes]
    """Deleted, or replaced by something new."""
    new: list[bytes]
    """What is a git folder, or a linked working tree's, in the layer alone."""


def git_folders_of(workspace: Path) -> GitFolders | None:
    """Return the git folders of the repository at or above a folder, or None if it has none that rundry can read."""
    top = next((above for above in (workspace, *workspace.parents) if os.path.lexists(above / ".git")), None)
    found = None if top is None else find_folders(top)
    if found is None or workspace.is_relative_to(found.common) or not found.own.is_relative_to(found.common):
        return None
    return found


def covered(workspace: Path, git: GitFolders | None) -> list[Path]:
    """Return the folders that a layer covers: the workspace, and a git folder that lies elsewhere."""
    return [workspace, *([git.common] if git is not None and not git.common.is_relative_to(workspace) else [])]


def index_files(common: Path) -> list[Path]:
    """Return the indexes of a repository, of its linked working trees and of its submodules, at most 64."""
    found, waiting = list[Path](), [common]
    while waiting and len(found) < _MOST_INDEXES:
        folder = waiting.pop()
        if (folder / "HEAD").exists():
            found.append(folder / "index")
            waiting += [folder / "modules", *_inside(folder / "worktrees")]
        else:
            waiting += _inside(folder)
    return found


def _inside(folder: Path) -> list[Path]:
    try:
        return sorted((path for path in folder.iterdir() if path.is_dir() and not path.is_symlink()), reverse=True)
    except OSError:
        return []


def touched(upper: int, live: int) -> Touched:
    """Return the git folders that a layer wrote to.

    `upper`, `live`: the open folders of a place. Raises OSError and TooMuch.
    """
    found = Touched([], [], [])
    waiting = [b""]
    while waiting:
        folder = waiting.pop()
        is_git, entries = is_git_folder(live, folder), entries_of(upper, folder)
        names = {name for name, _ in entries}
        if is_git and is_opaque(upper, folder):
            found.deleted.append(folder)
            continue
        if is_git:
            found.folders.append(folder)
        elif {b"HEAD", b"objects", b"refs"} <= names or _is_new_tree(live, folder):
            found.new.append(folder)
            continue
        for name, status in entries:
            path = folder + b"/" + name if folder else name
            refuse_long(path)
            if stat.S_ISDIR(status.st_mode):
                made_readable(upper, path, status)
                if not is_git or name in (b"modules", b"worktrees"):
                    waiting.append(path)
            elif is_whiteout(status) and is_git_folder(live, path):
                found.deleted.append(path)
    return found


def _is_new_tree(live: int, folder: bytes) -> bool:
    """Return whether a path is that of a linked working tree which only the layer has (git-worktree(1))."""
    repository, _, name = f"/{os.fsdecode(folder)}".rpartition("/worktrees/")
    is_place = bool(name) and "/" not in name and (bool(repository) or os.fsdecode(folder).startswith("worktrees/"))
    if not is_place or status_at(live, folder) is not None:
        return False
    return is_git_folder(live, os.fsencode(repository[1:]))


def is_git_folder(folder: int, path: bytes) -> bool:
    """Return whether git takes what is at a path for a git folder (gitrepository-layout(5))."""
    inner = path + b"/" if path else b""
    try:
        parts = [status_at(folder, inner + name) for name in (b"HEAD", b"objects", b"refs")]
    except PermissionError:  # git cannot read it either
        return False
    return None not in parts and all(part is not None and stat.S_ISDIR(part.st_mode) for part in parts[1:])


def open_folder(path: Path) -> int:
    """Open a folder; the caller closes it. Raises OSError."""
    return os.open(path, FOLDER | os.O_CLOEXEC)
