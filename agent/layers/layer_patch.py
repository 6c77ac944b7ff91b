"""Write effects as a patch that plain `git apply` takes, forward and with `-R`.

git knows links, and files with an execute bit, nothing else. What a patch cannot hold is named by `not_in_patch`. git
refuses to put a folder in place of a link that cannot be looked up (one that leads to itself).
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Protocol

from ..host.file_errors import StaleFile
from ..host.protected_names import folded_name
from ..repo.patch_format import Version, file_patch
from .layer_effects import Side

Load = Callable[[str, Side], bytes]
"""Returns the bytes of a file, or the target of a link, for a path and a side. Raises OSError."""


class Changed(Protocol):
    """One path as it was and as it is to be: an effect or a row."""

    @property
    def path(self) -> str:
        """Relative, with `/`; bytes that are not UTF-8 as surrogates."""
        ...

    @property
    def before(self) -> Side | None:
        """What was there. None means nothing."""
        ...

    @property
    def after(self) -> Side | None:
        """The file as it becomes, or None if it is deleted."""
        ...


def patch_of(
    changes: Sequence[Changed], before: Load, after: Load, *, prefix: str = "", hash_name: str = "sha1"
) -> Iterator[bytes]:
    """Yield the patch of each change, in order. Raises OSError, and StaleFile for content that is not as listed.

    `before`, `after`: load the contents of each side. `prefix`: the workspace in its repository (`sub/`), because
    `git apply` takes paths from the top. `hash_name`: that of the repository, for binary files.
    """
    for change in changes:
        if _why_not(change) is None:
            old, new = _version(change.path, change.before, before), _version(change.path, change.after, after)
            if old is not None or new is not None:
                yield file_patch(prefix + change.path, old, new, hash_name)


def not_in_patch(changes: Sequence[Changed]) -> list[str]:
    """Return a line for each change that a patch cannot hold."""
    parents = {parent for change in changes for parent in _above(change.path) if not _is_folder(change)}
    lines = [f"{change.path}: {why}" for change in changes if (why := _why_not(change))]
    for change in changes:
        if _is_folder(change) and change.path not in parents:
            lines.append(f"{change.path}: it is an empty folder")
    return sorted(lines)


def _why_not(change: Changed) -> str | None:
    parts = [folded_name(part.partition(":")[0]) for part in re.split(r"[/\\]", change.path)]  # as core.protectNTFS
    if ".git" in parts or "git~1" in parts:
        return "git does not apply changes of its own files"
    if parts[-1] == ".gitmodules" and any(side and side.type == "link" for side in (change.before, change.after)):
        return "git refuses links with this name"
    return None


def _is_folder(change: Changed) -> bool:
    return all(side is None or side.type == "folder" for side in (change.before, change.after))


def _above(path: str) -> Iterator[str]:
    while path := path.rpartition("/")[0]:
        yield path


def _version(path: str, side: Side | None, load: Load) -> Version | None:
    if side is None or side.type == "folder":
        return None
    data = load(path, side)
    if side.digest and hashlib.sha256(data).hexdigest() != side.digest:
        raise StaleFile(f"{path}: it has changed since it was listed")
    return Version("120000" if side.type == "link" else "100755" if side.executable else "100644", data)
