"""Find other live runs that change files in the folder of this run."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

from ...journal.claim import Holder, holder
from ...journal.database import LANDMARKS
from ...journal.journal import Journal
from ...journal.other_sessions import journals_beside, overlap
from ...protocol import JournalError, RunSpec

_DAY = 86_400.0
_NEWEST = (
    f"SELECT type FROM events WHERE {LANDMARKS} AND type IN ('run_started', 'run_resumed', 'run_ended') "
    "ORDER BY seq DESC LIMIT 1"
)


def concurrent_runs(spec: RunSpec, own: Path, now: float) -> list[str]:
    """Return a line for each other live run that changes files in this folder, above it or below it.

    `own`: the journal of this run. `now`: Unix seconds.
    """
    if _only_reads(spec):
        return []
    here = Path(spec.workspace)
    return [
        f"another run works in {_where(here, Path(other.workspace))}: {other.run_id}, since {_when(held.since, now)}, "
        f"`rundry watch {other.run_id}` shows it"
        for other, held in _live(own)
        if overlap(here, Path(other.workspace)) and not _is_family(spec, other)
    ]


def _live(own: Path) -> Iterator[tuple[RunSpec, Holder]]:
    """Yield other runs that have a runner and have not ended. Only their journals are opened."""
    for path in journals_beside(own):
        try:
            held = holder(path)
            spec = None if held is None else _unfinished(path)
        except (JournalError, OSError):  # `rundry runs` reports the problem, or its runner closes it just now
            continue
        if held is not None and spec is not None and not _only_reads(spec):
            yield spec, held


def _unfinished(path: Path) -> RunSpec | None:
    """Return the spec, or None if the run has ended and its runner only stays for a view."""
    journal = Journal.open(path)
    try:
        newest = journal.rows(_NEWEST)
        return None if newest == [("run_ended",)] else journal.spec
    finally:
        journal.close()


def _only_reads(spec: RunSpec) -> bool:
    """Return whether the run is a search that changes no file."""
    return not spec.changes_files


def _is_family(spec: RunSpec, other: RunSpec) -> bool:
    """Return whether the other run is the parent of this one, or has the same parent."""
    above = None if spec.parent is None else spec.parent.run_id
    return above is not None and above in (other.run_id, None if other.parent is None else other.parent.run_id)


def _where(here: Path, there: Path) -> str:
    return "this folder" if there == here else f"{there}, {'above' if here.is_relative_to(there) else 'below'} this one"


def _when(since: float, now: float) -> str:
    return time.strftime("%H:%M" if abs(now - since) < _DAY else "%Y-%m-%d %H:%M", time.localtime(since))
