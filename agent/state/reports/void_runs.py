"""Find runs whose end is void because somebody changed files that were judged."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from ...journal.journal import Journal
from ...protocol import JournalError, RunEnded
from ..common.void_end import after_changes

if TYPE_CHECKING:
    from .run_line import RunLine


def as_of_now(ended: RunEnded, journal: Journal) -> RunEnded:
    """Compare the judged files of a run with the files now, and return its end, void if they differ."""
    blob = None if ended.evidence is None else ended.evidence.decided_files
    if blob is None or not ended.complete:
        return ended
    return after_changes(ended, _changed(journal, blob))


def newest_as_of_now(lines: Sequence[RunLine]) -> list[RunLine]:
    """Return the lines of runs. The newest judged run is void if its files differ from those in the workspace now.

    Older runs are not compared: later runs change the same files.
    """
    found = [*lines]
    for at, line in enumerate(found):
        if line.complete and line.decided_files is not None:
            found[at] = _line_as_of_now(line, line.decided_files)
            break
    return found


def _line_as_of_now(line: RunLine, blob: str) -> RunLine:
    with contextlib.suppress(JournalError):  # the list says of each journal whether it can be read
        journal = Journal.open_for_reading(Path(line.path))
        try:
            if paths := _changed(journal, blob):
                void = msgspec.structs.replace(line, complete=False, evidence="", evidence_kind="", grade="")
                return msgspec.structs.replace(void, changed_since=paths)
        finally:
            journal.close()
    return line


def _changed(journal: Journal, blob: str) -> list[str]:
    """Return the judged files that are different now, or no files if they cannot be compared."""
    from ..facts.decided_files import changed_since  # reads files as layers do: the screen needs that only after an end

    try:
        return changed_since(journal.blobs.load(blob), Path(journal.spec.workspace))
    except (OSError, ValueError, KeyError):
        return []
