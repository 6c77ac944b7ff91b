"""Compare a journal with its checksums and with the record of its newest event, before a run is resumed."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ...protocol import JournalError, RunResumed, event_name
from ..encoding import decode
from .chain import BrokenLink, broken_links, has_chain, is_linked
from .journal_tail import TAIL_META, Tail, read_tail, tail_path
from .stored_faults import faults_of_inbox, faults_of_items, faults_of_spec

if TYPE_CHECKING:
    from ..journal import Journal

QUICK_CHECK_BYTES = 256 << 20
"""A larger file is not read completely on resume; its events are checked from the newest checkpoint on."""
EVENTS_ON_RESUME = 300_000
"""The same for a journal with more events; `rundry check` reads all of it."""
_RESUMED = "SELECT type, body FROM events WHERE type = ? ORDER BY seq"
_OF_A_ROW = re.compile(r"(NULL|non-\w+|\w+) value in events\.|row \d+ missing from index|wrong # of entries in index")
"""Messages of SQLite's check about one row, whose damage the checksums find, too."""
_SHOWN = 3
UNKNOWN_END = "{name}, the record of the newest event, is missing, so it is unknown whether later events are"


@dataclass(frozen=True, slots=True)
class Damage:
    """Damage in the events of a journal, without the damage that a person accepted on an earlier resume."""

    broken: Sequence[BrokenLink] = ()
    missing: int = 0
    """Number of events that the write-ahead log lost from its end."""
    unknown: str = ""
    """Why it is unknown whether events are missing from the end. Empty means that it is known."""
    tail: Tail | None = None
    """The record of the newest event and of the usage."""
    accepted: frozenset[int] = field(default=frozenset())
    """Numbers of damaged events that a person accepted."""
    inbox: Sequence[str] = ()
    """Faults of commands that were sent to the run."""
    fixed: Sequence[str] = ()
    """Faults of the spec or a search's items: the run cannot continue without these."""

    def __bool__(self) -> bool:
        return bool(self.broken or self.missing or self.unknown or self.inbox or self.fixed)

    @property
    def end(self) -> list[str]:
        """Faults of the end, one line each."""
        plural = "s are" if self.missing > 1 else " is"
        missing = [f"{self.missing} event{plural} missing from the end"] if self.missing else []
        return [*missing, self.unknown] if self.unknown else missing

    @property
    def summary(self) -> str:
        """Return all faults in one line."""
        lines = [*self.fixed, *(link.text for link in self.broken), *self.end, *self.inbox]
        more = f", and {len(lines) - _SHOWN} more faults" if len(lines) > _SHOWN else ""
        return "; ".join(lines[:_SHOWN]) + more


def damage_of(journal: Journal, *, after: int = 0, limit: int | None = None) -> Damage:
    """Return the damage in the events after that one, and in the data next to them.

    `limit`: items of a larger search are not read. Raises JournalError if the file itself is damaged.
    """
    accepted = _accepted(journal)
    broken = list(broken_links(journal.rows, after, journal.on_read))
    missing, unknown, tail = _check_end(journal)
    return Damage(
        [link for link in broken if link.seq not in accepted],
        missing,
        unknown,
        tail,
        frozenset(link.seq for link in broken if link.seq in accepted),
        list(faults_of_inbox(journal)),
        [*faults_of_spec(journal), *faults_of_items(journal, limit)],
    )


def is_large(journal: Journal) -> bool:
    """Return whether reading the whole journal takes too long for a resume."""
    return _bytes(journal) > QUICK_CHECK_BYTES or journal.last_seq() > EVENTS_ON_RESUME


def require_intact_file(journal: Journal) -> None:
    """Raise JournalError if SQLite finds damage in the structure of the file."""
    if _bytes(journal) > QUICK_CHECK_BYTES:
        return
    if lines := structural_faults(journal, "quick_check"):
        raise JournalError(f"{journal.path} is damaged ({lines[0]}); restore it from a copy, nothing was changed in it")


def _bytes(journal: Journal) -> int:
    pages, size = (int(journal.rows(f"PRAGMA {name}")[0][0]) for name in ("page_count", "page_size"))
    return pages * size


def structural_faults(journal: Journal, pragma: str) -> list[str]:
    """Return what SQLite's `quick_check` or `integrity_check` finds, without messages about single events."""
    lines = [line for (text,) in journal.rows(f"PRAGMA {pragma}(20)") for line in str(text).splitlines()]
    return [line for line in lines if line != "ok" and not line.startswith("*** in") and not _OF_A_ROW.match(line)]


def _accepted(journal: Journal) -> frozenset[int]:
    rows = journal.rows(_RESUMED, (event_name(RunResumed),))
    resumed = (decode(kind, body) for kind, body in rows)
    return frozenset(seq for event in resumed if isinstance(event, RunResumed) for seq in event.damaged)


def _check_end(journal: Journal) -> tuple[int, str, Tail | None]:
    """Return how many events are missing from the end, why this is unknown, and the record of the end."""
    path, stored = tail_path(journal.path), journal.meta(TAIL_META)
    name = path.name
    try:
        tail = read_tail(journal.path, stored)
    except (OSError, ValueError) as error:
        return 0, f"{name}, the record of the newest event, is damaged ({error})", None
    newest = journal.last_seq()
    if tail is None:
        is_expected = newest > 0 and has_chain(journal.rows) and not path.exists()
        return 0, UNKNOWN_END.format(name=name) if is_expected else "", None
    if tail.seq > newest:
        return tail.seq - newest, "", tail
    if not is_linked(journal.rows, tail.seq, tail.digest):
        return 0, f"event {tail.seq} differs from the one that {name} records", tail
    return 0, "", tail
