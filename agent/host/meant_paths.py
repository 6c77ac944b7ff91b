"""Find the file that a model means by a path that does not exist as written."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from .file_errors import PathRefused

if TYPE_CHECKING:
    from .workspace_paths import Workspace

_DIFF_PREFIXES = ("a", "b")
_LONGEST = 4096
"""Characters of the longest path that is looked at."""


def meant_path(workspace: Workspace, given: str, *, is_new: bool = False) -> str:
    r"""Return the path of the file that is meant, relative to the workspace, or `given` if it is not certain.

    Weak models put the workspace's own name in front (`gcd/gcd.py`, `/gcd/gcd.py`), write `a/` or `b/` as in a diff, or
    backslashes. Such a path is shortened only if nothing exists at the path as written and something does at the
    shorter one. `is_new`: the call may create the file; then it is enough that the folder of the shorter path exists
    and the folder as written does not.

    The result is only another spelling: `Workspace.resolve` and all rules apply to it as to any path. Nothing outside
    of the workspace is looked at.
    """
    if not given or len(given) > _LONGEST or _exists(workspace, given, refused=not _is_foreign(workspace, given)):
        return given
    inside = PurePosixPath(given)
    below = str(inside.relative_to(workspace.seen)) if inside.is_relative_to(workspace.seen) else given
    shorter = list(dict.fromkeys(_shorter(below, workspace.seen.name)))
    for path in shorter:
        if _exists(workspace, path) and not (is_new and path == "."):
            return path
    if not is_new or ("/" in given and _exists(workspace, str(PurePosixPath(given).parent))):
        return given
    is_diff = _parts(below)[0] in _DIFF_PREFIXES
    for path in shorter:
        # `b/new.py` may be meant as written, `b/src/new.py` next to a folder `src` is not.
        if path != "." and ("/" in path or not is_diff) and _has_folder(workspace, path):
            return path
    return given


def _shorter(given: str, name: str) -> Iterator[str]:
    """Yield the other readings of a path, the most similar one first."""
    parts = _parts(given)
    if "\\" in given and not given.startswith(("/", "\\")):
        yield "/".join(parts)
    for skipped in range(1, min(len(parts), 3) + 1):
        before = parts[:skipped]
        if all(part in _DIFF_PREFIXES or part == name for part in before) and before.count(name) <= 1:
            rest = "/".join(parts[skipped:])
            yield rest or "."


def _parts(given: str) -> list[str]:
    return [part for part in given.replace("\\", "/").split("/") if part not in ("", ".")] or ["."]


def _is_foreign(workspace: Workspace, given: str) -> bool:
    """Return whether an absolute path begins with the workspace's name instead of its real place (`/gcd/gcd.py`)."""
    parts = _parts(given)
    is_absolute = given.startswith(("/", "\\")) and not PurePosixPath(given).is_relative_to(workspace.seen)
    return is_absolute and parts[0] == workspace.seen.name


def _exists(workspace: Workspace, path: str, *, refused: bool = False) -> bool:
    """Return whether something is at this path; `refused` if no tool may access it."""
    try:
        return os.path.lexists(workspace.resolve(path))
    except (PathRefused, OSError):
        return refused


def _has_folder(workspace: Workspace, path: str) -> bool:
    """Return whether a file could be made at this path in a folder that exists."""
    try:
        return workspace.resolve(path).parent.is_dir()
    except (PathRefused, OSError):
        return False
