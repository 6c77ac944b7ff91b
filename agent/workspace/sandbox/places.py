"""Which places the sandbox keeps from a command: what it may read of the workspace and not change, what not even read.

What stands in the first is run or obeyed later, outside of the sandbox.
"""

from __future__ import annotations

from pathlib import Path

from ..names import CONFIG
from .confined.programs import program_places

_OF_WORKSPACE = (CONFIG, ".envrc", ".vscode", ".idea", ".husky", ".githooks", ".pre-commit-config.yaml")
_OF_GIT = ("config", "config.worktree", "info/attributes", "commondir")
_KEPT_IN_GIT = ("info", "objects/info", "modules", "worktrees")
"""Read-only in the private git folder of commands, besides."""
_PLAIN_IN_GIT = frozenset({"objects", "refs", "logs", "hooks", "info", "rr-cache"})
_MOST_FOLDERS = 2_000


def protected(ws: Path) -> list[Path]:
    """Of the workspace, whether there or not: git's hooks and config, rundry's own, what editors and shells run."""
    found = [ws / name for name in _OF_WORKSPACE]
    git = ws / ".git"
    if is_real_folder(git):
        return [*found, git / "hooks", *(git / name for name in _OF_GIT)]
    return [*found, git]


def is_protected(path: Path, ws: Path) -> bool:
    """The path is one of these places, or of the folders of programs in the workspace, or in one."""
    kept = (ws / ".git" / name for name in _KEPT_IN_GIT)
    return any(path.is_relative_to(place) for place in (*protected(ws), *kept, *program_places(ws)))


def obeyed_by_git(git: Path) -> list[Path]:
    """Return what git runs or obeys in a git folder, whether there or not, also of its submodules and worktrees."""
    found = [git / name for name in ("hooks", *_OF_GIT)]
    waiting, seen = [git / "modules", git / "worktrees"], 0
    while waiting and seen < _MOST_FOLDERS:
        folder = waiting.pop()
        seen += 1
        if not is_real_folder(folder):
            continue
        if (folder / "HEAD").exists() or (folder / "config").exists():
            found += [folder / name for name in ("hooks", *_OF_GIT)]
        waiting += [path for path in folder.iterdir() if path.name not in _PLAIN_IN_GIT and is_real_folder(path)]
    return found


def is_real_folder(path: Path) -> bool:
    """A folder, and no link to one."""
    return path.is_dir() and not path.is_symlink()
