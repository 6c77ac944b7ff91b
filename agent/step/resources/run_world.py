"""The id of the files that a run changed, with what they contain now: equal ids are equal files.

It costs one look at each file that the run ever changed, however large the workspace is. What others change is not part
of it: for that, `--verify on-change` compares the times of all files.
"""

from __future__ import annotations

import asyncio
import hashlib
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from ...host.ignored_files import Ignore
from ...journal.encoding import recorded_text
from ...layers.effect_rows import decode_rows
from ...layers.present import Present

if TYPE_CHECKING:
    from ...host.workspace_paths import Workspace
    from ...journal.journal import Journal
    from ...layers.layer_effects import Side
    from ...state.facts.run_facts import RunFacts


class RunWorld:
    """Computes the id. Files that are as before the run, and ignored files, do not count.

    An ignored file counts if it was shown as a change of its own.
    """

    def __init__(self, journal: Journal, facts: RunFacts, workspace: Workspace) -> None:
        self._journal, self._facts, self._root = journal, facts, workspace.root
        self._lock = threading.Lock()
        self._present = Present(workspace.root)
        self._read = 0
        """Number of orders whose rows were read."""
        self._rows: dict[str, Side | None] = {}
        """Paths of rows, with what was there before the first one."""

    async def take(self) -> str:
        """Return the id of the files as they are now; empty if the workspace cannot be opened."""
        changes = self._facts.changes
        firsts = {path: first for path, (first, _) in changes.files.items()}
        new = changes.orders[self._read :]
        self._read += len(new)
        rows = list[bytes]()
        for blob in new:
            with suppress(KeyError):  # a damaged journal
                rows.append(self._journal.blobs.load(blob))
        return await asyncio.to_thread(self._take, firsts, rows)

    def _take(self, firsts: Mapping[str, str | None], rows: Sequence[bytes]) -> str:
        with self._lock:
            self._add_rows(firsts, rows)
            found = hashlib.sha256()
            try:
                for path, now in self._present.sides(sorted({*firsts, *self._rows})):
                    if not self._is_as_before(path, now, firsts):
                        state = None if now is None else (now.type, now.digest, now.executable)
                        found.update(repr((path, state)).encode("utf-8", "surrogateescape"))
            except OSError:
                return ""
            return found.hexdigest()

    def _add_rows(self, firsts: Mapping[str, str | None], rows: Sequence[bytes]) -> None:
        ignore = Ignore(self._root)
        for data in rows:
            for row in decode_rows(data):
                sides = (row.before, row.after)
                if row.path in self._rows or all(side is None or side.type == "folder" for side in sides):
                    continue
                if recorded_text(row.path) in firsts or not ignore.ignored(row.path):
                    self._rows[row.path] = row.before

    def _is_as_before(self, path: str, now: Side | None, firsts: Mapping[str, str | None]) -> bool:
        """Return whether a path is as it was before the run first changed it."""
        row = self._rows.get(path)
        first = firsts.get(path, None if row is None else row.digest)
        if now is None or first is None:
            return now is None and first is None
        if row is not None and (row.type, row.executable) != (now.type, now.executable):
            return False
        return now.digest == first and (row is not None or now.type == "file")
