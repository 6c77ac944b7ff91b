"""Read a whole journal and report all damage (`rundry check`)."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import msgspec

from ...journal.claim import holder
from ...journal.integrity.damage import Damage, damage_of, structural_faults
from ...journal.journal import Journal
from ...protocol import JournalError
from ..facts.run_facts import RunFacts

DamagedPart = Literal["file", "event", "end", "content", "spend", "spec", "search", "inbox"]

_BATCH = 5_000
_CONTENTS = "SELECT rowid, CAST(sha AS BLOB), data FROM blobs WHERE rowid > ? ORDER BY rowid LIMIT 50"


class DamageFound(msgspec.Struct, frozen=True, kw_only=True):
    """One damaged part of a journal."""

    part: DamagedPart
    text: str
    event: int | None = None
    """Sequence number of the damaged event, if the part is `event`."""
    accepted: bool = False
    """Whether a person resumed the run without this event."""


class Checked(msgspec.Struct, frozen=True, kw_only=True):
    """The result of `rundry check` for a journal."""

    journal: str
    run_id: str = ""
    events: int = 0
    contents: int = 0
    """Number of stored blobs."""
    findings: list[DamageFound] = []

    @property
    def is_sound(self) -> bool:
        """Whether there is no damage except what a person accepted."""
        return all(finding.accepted for finding in self.findings)


_EMPTY = "there are no events: the run did not begin, or this is a copy without {name}-wal, which holds them"


def check_journal(path: Path) -> Checked:
    """Read a whole journal and return its damage. Never raises JournalError."""
    findings: list[DamageFound] = []
    try:
        journal = Journal.open(path)
    except JournalError as error:
        return Checked(journal=str(path), findings=[DamageFound(part="file", text=str(error))])
    events = contents = 0
    try:
        findings += [DamageFound(part="file", text=line) for line in structural_faults(journal, "integrity_check")]
        damage = damage_of(journal)
        findings += _of_events(damage)
        events = journal.rows("SELECT count(*) FROM events")[0][0]
        contents = journal.rows("SELECT count(*) FROM blobs")[0][0]
        if not events and not findings:
            findings.append(DamageFound(part="end", text=_EMPTY.format(name=path.name)))
        findings += [DamageFound(part="content", text=text) for text in _wrong_contents(journal)]
        findings += [DamageFound(part="spend", text=text) for text in _lost_spend(journal, damage)]
    except JournalError as error:
        findings.append(DamageFound(part="file", text=str(error)))
    finally:
        journal.close()
    return Checked(journal=str(path), run_id=journal.spec.run_id, events=events, contents=contents, findings=findings)


def _of_events(damage: Damage) -> Iterator[DamageFound]:
    for link in damage.broken:
        yield DamageFound(part="event", text=link.text, event=link.seq)
    for seq in sorted(damage.accepted):
        text = f"event {seq} is damaged; the run was resumed without it"
        yield DamageFound(part="event", text=text, event=seq, accepted=True)
    for text in damage.end:
        yield DamageFound(part="end", text=text)
    for text in damage.fixed:
        yield DamageFound(part="search" if "search" in text else "spec", text=text)
    for text in damage.inbox:
        yield DamageFound(part="inbox", text=text)


def _wrong_contents(journal: Journal) -> Iterator[str]:
    after = 0
    while rows := journal.rows(_CONTENTS, (after,)):
        after = rows[-1][0]
        for _, name, data in rows:
            sha = name.decode("ascii", "backslashreplace")
            if not isinstance(data, bytes) or hashlib.sha256(data).hexdigest() != sha:
                yield f"the stored content {sha[:12]} does not match its name"


def _lost_spend(journal: Journal, damage: Damage) -> Iterator[str]:
    """Yield a line for each recorded total that exceeds the sum of the events, unless the run is live."""
    if damage.tail is None or holder(journal.path) is not None:
        return
    journal.mark_damaged(damage.accepted | {link.seq for link in damage.broken})
    facts = RunFacts(journal.spec)
    while events := journal.read(facts.last_seq, _BATCH):
        for stamped in events:
            facts.apply(stamped)
    known, recorded = facts.ledger.counted(), damage.tail.spent
    if recorded.steps > known.steps:
        yield f"{recorded.steps} steps were recorded, but the events add up to {known.steps}"
    if recorded.counted_tokens > known.counted_tokens:
        yield f"{recorded.counted_tokens} tokens were recorded, but the events add up to {known.counted_tokens}"
    if recorded.counted_usd > known.counted_usd + 1e-6:
        yield f"{recorded.counted_usd:.4f} USD were recorded, but the events add up to {known.counted_usd:.4f}"
