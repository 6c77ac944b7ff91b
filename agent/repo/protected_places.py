"""The protected places of a workspace, which a command can read but not change.

Programs outside of the sandbox later execute them or read them as settings.
"""

from __future__ import annotations

from pathlib import Path

from ..host.protected_names import CONFIG, why_cautioned
from ..host.real_paths import followed

_OF_WORKSPACE = (CONFIG, ".envrc", ".vscode", ".idea", ".husky", ".githooks", ".pre-commit-config.yaml")
_OF_GIT = ("config", "config.worktree", "info/attributes", "commondir")
_KEPT_IN_GIT = ("info", "objects/info", "modules", "worktrees")
"""Further names in a git folder that bubblewrap keeps read-only."""
_PLAIN_IN_GIT = frozenset({"objects", "refs", "logs", "hooks", "info", "rr-cache"})
_MOST_FOLDERS = 2_000


def protected(ws: Path) -> list[Path]:
    """Return the protected places, existing or not.

    They are git hooks and config, rundry's own settings, and files that editors and shells execute.
    """
    found = [*(ws / name for name in _OF_WORKSPACE), *_of_home(ws)]
    git = ws / ".git"
    if is_real_folder(git):
        return [*found, git / "hooks", *(git / name for name in _OF_GIT)]
    return [*found, git]


def read_only_places(ws: Path) -> list[Path]:
    """Return what bubblewrap mounts read-only for a command that writes to the workspace itself, existing or not."""
    git = ws / ".git"
    return [*protected(ws), *(git / name for name in _KEPT_IN_GIT if is_real_folder(git))]


def _of_home(ws: Path) -> list[Path]:
    """Return the files in the home folder that shells and tools load by themselves, if `ws` is that folder."""
    if ws != followed(Path.home()):
        return []
    inside = [(name,) for name in _names(ws)] + [(".config", name) for name in _names(ws / ".config")]
    return [ws.joinpath(*parts) for parts in inside if parts[-1] != ".git" and why_cautioned(parts)]


def _names(folder: Path) -> list[str]:
    try:
        return sorted(path.name for path in folder.iterdir())
    except OSError:
        return []


def read_by_git(git: Path) -> list[Path]:
    """Return the files in a git folder that git executes or reads as settings, existing or not.

    Those of submodules and worktrees are included.
    """
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
    """Return whether the path is a folder and not a link to one."""
    return path.is_dir() and not path.is_symlink()
