"""What a user compares after a command: the files of a workspace, and its repositories."""

from __future__ import annotations

import hashlib
import os
import re
import stat
from pathlib import Path

from ..gitting import sh, state

_SETTINGS = re.compile(
    r"(?:.*/)?(?:config|config\.worktree|gitdir|commondir|shallow|hooks/.*|objects/info/alternates"
    r"|info/(?:exclude|attributes|sparse-checkout|grafts))"
)
"""Files of a git folder that are compared as files; git is asked about the rest."""
_BARE = "git for-each-ref --format='%(refname) %(objectname)'; git symbolic-ref -q HEAD || git rev-parse HEAD"


def seen(folder: Path) -> dict[str, str]:
    """Return what is compared, by a name: of files the path, of a repository `git TOP PART`."""
    return {**_files(folder), **_repositories(folder)}


def differences(one: dict[str, str], other: dict[str, str]) -> dict[str, str]:
    """Return what differs, by name, as text."""
    names = sorted(one.keys() | other.keys())
    return {
        name: f"{name}\n    directly: {one.get(name)!r}\n    in a layer: {other.get(name)!r}"
        for name in names
        if one.get(name) != other.get(name)
    }


def _files(folder: Path) -> dict[str, str]:
    found, waiting = dict[str, str](), [(folder, "")]
    while waiting:
        here, git = waiting.pop()
        git = git or (str(here.relative_to(folder)) if _is_git_folder(here) else "")
        for path in here.iterdir():
            name = str(path.relative_to(folder))
            inner = name.removeprefix(f"{git}/")
            if path.is_dir() and not path.is_symlink():
                waiting.append((path, git))
            if not git or (_SETTINGS.fullmatch(inner) and not path.is_dir()):
                found[name] = _described(path)
    return found


def _described(path: Path) -> str:
    at = path.lstat()
    if stat.S_ISLNK(at.st_mode):
        return f"link to {os.fsencode(os.readlink(path))!r}"
    if stat.S_ISREG(at.st_mode):
        data = path.read_bytes()
        runs = ", executable" if at.st_mode & stat.S_IXUSR else ""
        start = repr(data[:60]) if len(data) < 2_000 else ""
        return f"file{runs}, {len(data)} bytes {hashlib.sha256(data).hexdigest()[:16]} {start}"
    return "folder" if stat.S_ISDIR(at.st_mode) else "special"


def _is_git_folder(folder: Path) -> bool:
    return (folder / "HEAD").exists() and all((folder / name).is_dir() for name in ("objects", "refs"))


def _repositories(folder: Path) -> dict[str, str]:
    found, waiting = dict[str, str](), [folder]
    while waiting:
        here = waiting.pop()
        top = str(here.relative_to(folder))
        if (here / ".git").exists():
            found |= {f"git {top} {name}": str(part) for name, part in state(folder, top).items()}
        elif _is_git_folder(here):
            found |= {
                f"git {top} refs": sh(here, _BARE),
                f"git {top} fsck": sh(here, "git fsck --strict --no-dangling"),
            }
            continue
        waiting += [path for path in here.iterdir() if path.is_dir() and not path.is_symlink() and path.name != ".git"]
    return found
