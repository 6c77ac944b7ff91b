"""Remember the contents of files that the model knows, so that it cannot replace lines that it never saw.

A file that nobody changed since the run began may be replaced unread, unless git tracks it and has other lines of it.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

from ..layers.git_contents import GitContents
from ..layers.layer_effects import IN_MEMORY, Effect, Side

if TYPE_CHECKING:
    from ..host.files.file_states import FileState
    from ..state.facts.standing_changes import Changes


class ReadContents:
    """Contents of files that the model of a run has read or written."""

    def __init__(self, changes: Changes | None = None) -> None:
        """`changes`: the changes of the run. The model knows what its tools and commands wrote."""
        self._changes, self._began_ns = changes, time.time_ns()
        self._read, self._unread = set[tuple[str, str | None]](), set[tuple[str, str | None]]()

    def note(self, path: str, digest: str | None) -> None:
        """Note that the model read a file. `path`: relative; `digest`: SHA-256 of its bytes."""
        self._read.add((path, digest))

    def note_written(self, path: str, before: FileState, digest: str, workspace: Path) -> None:
        """Note that the model changed a file. It knows the whole new content only if it knew the old one."""
        known = self._unread if self.why_unread(path, before, workspace) else self._read
        known.add((path, digest))

    def why_unread(self, path: str, before: FileState, workspace: Path) -> str:
        """Return why a file has lines that the model never saw, or empty if it may replace the file.

        `workspace`: the folder of the user's repository.
        """
        content = (path, before.sha256)
        if not before.exists or content in self._read:
            return ""
        if content not in self._unread and self._is_own(path, before):
            return ""
        if any(path == read for read, _ in self._read):
            return f"{path} was changed since you read it"
        if before.mtime_ns >= self._began_ns or content in self._unread:
            return f"{path} was changed since the run began, and you have not read it"
        if _differs_in_git(path, before, workspace):
            return f"{path} has uncommitted lines, and you have not read it"
        return ""

    def _is_own(self, path: str, before: FileState) -> bool:
        known = None if self._changes is None else self._changes.files.get(path)
        return known is not None and known[1] == before.sha256


def _differs_in_git(path: str, before: FileState, workspace: Path) -> bool:
    """Return whether git tracks a file, and the index has another content of it."""
    side = Side(type="file", digest=before.sha256 or "", size=before.size)
    index = GitContents(workspace)
    effect = Effect(path=path, kind="changed", before=side, after=None)
    return index.has(path) and not index.find([effect], IN_MEMORY)
