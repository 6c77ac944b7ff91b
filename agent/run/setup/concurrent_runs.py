"""Who else works in this run's folder at this moment. One that only reads disturbs nobody."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

from ...journal import Holder, Journal, holder
from ...journal.database import LANDMARKS
from ...protocol import JournalError, Recipe, RunSpec

MOST = 50
"""Journals that are looked at, the newest ones: a run does not begin later for a folder full of them."""
_DAY = 86_400.0
_NEWEST = (
    f"SELECT type FROM events WHERE {LANDMARKS} AND type IN ('run_started', 'run_resumed', 'run_ended') "
    "ORDER BY seq DESC LIMIT 1"
)


def neighbours(spec: RunSpec, own: Path, now: float) -> list[str]:
    """A line for the person about each live run that changes files here, above or below. `own`: this run's journal."""
    if _only_reads(spec):
        return []
    here = Path(spec.workspace)
    return [
        f"another run works in {_where(here, Path(other.workspace))}: {other.run_id}, since {_when(held.since, now)}, "
        f"`rundry watch {other.run_id}` shows it"
        for other, held in _live(own)
        if _overlap(here, Path(other.workspace))
    ]


def _live(own: Path) -> Iterator[tuple[RunSpec, Holder]]:
    """Runs beside this one that someone drives and that have not ended. Only their journals are opened."""
    try:
        found = sorted((path for path in own.parent.iterdir() if path.suffix == ".db"), reverse=True)
    except OSError:  # the warning is a courtesy: the run itself goes on without it
        return
    for path in found[:MOST]:
        if path.name == own.name:
            continue
        try:
            held = holder(path)
            spec = None if held is None else _unfinished(path)
        except JournalError:  # `rundry runs` says what is wrong with it
            continue
        if held is not None and spec is not None and not _only_reads(spec):
            yield spec, held


def _unfinished(path: Path) -> RunSpec | None:
    """None: it has ended, and its runner waits for its person."""
    journal = Journal.open(path)
    try:
        newest = journal.rows(_NEWEST)
        return None if newest == [("run_ended",)] else journal.spec
    finally:
        journal.close()


def _only_reads(spec: RunSpec) -> bool:
    """A search that is no migration changes no file."""
    return spec.finder is not None and spec.finder.recipe is not Recipe.MIGRATE


def _overlap(one: Path, other: Path) -> bool:
    return one.is_relative_to(other) or other.is_relative_to(one)


def _where(here: Path, there: Path) -> str:
    return "this folder" if there == here else f"{there}, {'above' if here.is_relative_to(there) else 'below'} this one"


def _when(since: float, now: float) -> str:
    return time.strftime("%H:%M" if abs(now - since) < _DAY else "%Y-%m-%d %H:%M", time.localtime(since))
