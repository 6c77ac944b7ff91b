"""Decide which paths of a workspace are git's own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

_SETTINGS = (b"config", b"config.worktree", b"hooks", b"info/attributes", b"info/exclude", b"info/sparse-checkout")
"""What decides how git behaves (gitrepository-layout(5)). These are files like others, which wait at the gate."""


class GitPaths(NamedTuple):
    """The git folders of a workspace that a layer concerns."""

    folders: Sequence[bytes] = ()
    """Those of the workspace: what is in them is git's, but for settings and hooks."""
    new: Sequence[bytes] = ()
    """Those that only the layer has, also in other git folders: files like others, which wait at the gate."""

    def own(self, path: bytes) -> bool:
        """Return whether git itself has to take a path over."""
        known, new = _longest(path, self.folders), _longest(path, self.new)
        return known is not None and (new is None or len(new) < len(known)) and not is_setting(path[len(known) + 1 :])


NO_GIT = GitPaths()


def _longest(path: bytes, folders: Sequence[bytes]) -> bytes | None:
    return max((one for one in folders if path == one or path.startswith(one + b"/")), key=len, default=None)


def is_setting(path: bytes) -> bool:
    """Return whether a path below a git folder is a setting or a hook, also of a linked working tree."""
    if path.startswith(b"worktrees/"):
        path = path.split(b"/", 2)[-1]
    return any(path == name or path.startswith(name + b"/") for name in _SETTINGS)
