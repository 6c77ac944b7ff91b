"""Which paths of a workspace are git's own."""

from __future__ import annotations

from collections.abc import Iterable

_SETTINGS = (b"config", b"config.worktree", b"hooks", b"info/attributes", b"info/exclude", b"info/sparse-checkout")
"""What decides how git behaves (gitrepository-layout(5)). These are files like others, which wait at the gate."""


def is_gits(path: bytes, folders: Iterable[bytes]) -> bool:
    """Return whether a path is one of these git folders, or lies in one and is neither a setting nor a hook."""
    inside = [folder for folder in folders if path == folder or path.startswith(folder + b"/")]
    return bool(inside) and not is_setting(path[len(max(inside, key=len)) + 1 :])


def is_setting(path: bytes) -> bool:
    """Return whether a path below a git folder is a setting or a hook, also of a linked working tree."""
    if path.startswith(b"worktrees/"):
        path = path.split(b"/", 2)[-1]
    return any(path == name or path.startswith(name + b"/") for name in _SETTINGS)
