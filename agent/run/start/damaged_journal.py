"""Resume a run whose journal may be damaged: ask the person, count lost spend, report files that differ from it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING

from ...host.file_errors import PathRefused
from ...host.ignored_files import Ignore
from ...journal.integrity.damage import Damage, damage_of, is_large, require_intact_file
from ...journal.integrity.stored_faults import ITEMS_ON_RESUME
from ...protocol import Charged, Prompted, RunEnded, RunResumed, UserError, event_name
from ...protocol.text.counts import plural
from ...state.facts.checkpoint import checkpoint_seq
from ..client.start_request import ResumeChanges

if TYPE_CHECKING:
    from ...host.workspace_paths import Workspace
    from ...journal.journal import Journal
    from ...state.facts.run_facts import RunFacts
    from ...state.recorder import Recorder

_MOST_FILES = 20
_NOTE_FOR_MODEL = (
    "The record of this run was damaged and {lost}. Edits and commands after that point may have been carried out "
    "already. Read each file before you change it, and do not repeat a change that is already there."
)


def admit_damage(journal: Journal, changes: ResumeChanges) -> Damage:
    """Return the damage of the journal if the person accepts it. The damaged events are skipped from now on.

    Raises UserError if the person has to decide first, JournalError if the file cannot be read.
    """
    newest = journal.last_seq()
    require_intact_file(journal)
    after = checkpoint_seq(journal) if is_large(journal) else 0
    damage = damage_of(journal, after=after, limit=ITEMS_ON_RESUME)
    run_id = journal.spec.run_id
    if damage and not newest:
        raise UserError(f"{run_id} is damaged: all of its events are missing. Restore a backup")
    if damage.fixed:
        raise UserError(f"{run_id} is damaged: {damage.fixed[0]}. Restore a backup, or start a new run")
    needs_limit = bool(damage.broken or damage.end) and damage.tail is None and not _ends_with_outcome(journal, damage)
    needs_limit = needs_limit and not _has_new_limit(changes)
    if damage and not changes.damaged:
        line = f"`rundry resume {run_id} --damaged{' --tokens N' if needs_limit else ''}`"
        if damage.summary == damage.unknown:
            raise UserError(f"{run_id} may be incomplete: {damage.unknown}. Restore that file, or continue with {line}")
        raise UserError(
            f"{run_id} is damaged: {damage.summary}. `rundry check {run_id}` lists all findings; restore a backup, "
            f"or continue without these events with {line}"
        )
    if needs_limit:
        raise UserError(
            f"{run_id}: its spend cannot be read, because {damage.unknown or 'there is no record of it'}. "
            "Give a new limit for the whole run with --usd or --tokens"
        )
    journal.mark_damaged(damage.accepted | {link.seq for link in damage.broken})
    return damage


def require_undamaged(journal: Journal) -> None:
    """Raise UserError or JournalError if the journal is damaged. For callers that need all of its events."""
    admit_damage(journal, ResumeChanges())


def _ends_with_outcome(journal: Journal, damage: Damage) -> bool:
    """Return whether the newest event is the undamaged end of the run, which holds the whole spend."""
    newest = journal.rows("SELECT type FROM events ORDER BY seq DESC LIMIT 1")
    return not damage.broken and newest == [(event_name(RunEnded),)]


def _has_new_limit(changes: ResumeChanges) -> bool:
    return any(changes.limits.get(name) is not None for name in ("tokens", "usd"))


def note_damage(
    facts: RunFacts, workspace: Workspace, resumed: RunResumed, damage: Damage, newest: float
) -> RunResumed:
    """Return the resume event, with the damage and with a note for each file that differs from the journal.

    `newest`: the time of the newest event that is not lost, in seconds since 1970.
    """
    steps, seconds = _unrecorded(facts, damage)
    return RunResumed(
        run_id=resumed.run_id,
        from_seq=resumed.from_seq,
        notes=[
            *resumed.notes,
            f"resumed without damaged events: {damage.summary}",
            *_file_notes(facts, workspace, newest),
        ],
        damaged=[link.seq for link in damage.broken],
        missing=damage.missing,
        lost_steps=steps,
        lost_seconds=seconds,
    )


def settle_spend(facts: RunFacts, events: Recorder, damage: Damage, notes: list[str]) -> None:
    """Record the spend that the events do not contain as held, and inform the model about missing events.

    `notes`: lines about files that differ from the journal.
    """
    spent = facts.ledger.counted()
    if not damage:
        return
    if damage.tail is not None:
        tokens = max(0, damage.tail.spent.counted_tokens - spent.counted_tokens)
        usd = max(0.0, damage.tail.spent.counted_usd - spent.counted_usd)
        if tokens or usd > 1e-9:
            events.record(
                Charged(tokens_in=0, tokens_out=0, estimated=True, is_cut=True, held_tokens=tokens, held_usd=usd)
            )
    if facts.finder is not None:  # each item has its own conversation
        return
    newest = f"lost its newest {plural(damage.missing, 'event')}"
    lost = newest if damage.missing else "some of its events cannot be read"
    events.record(Prompted(kind="note", text="\n".join([_NOTE_FOR_MODEL.format(lost=lost), *notes])))


def _unrecorded(facts: RunFacts, damage: Damage) -> tuple[int, float]:
    """Return the steps and the seconds that only the file next to the journal contains (`.tail`)."""
    if damage.tail is None:
        return 0, 0.0
    spent, known = damage.tail.spent, facts.ledger.counted()
    return max(0, spent.steps - known.steps), max(0.0, spent.seconds - known.seconds)


def _file_notes(facts: RunFacts, workspace: Workspace, newest: float) -> list[str]:
    """Return a line for each file that may have been changed by what is missing.

    These are files that were written since the newest event, and those whose content is neither the last recorded one
    nor that of the start. `newest`: its time, in seconds since 1970.
    """
    since_ns = int(newest * 1e9)
    known = {path for path, (first, last) in facts.changes.files.items() if _differs(workspace, path, first, last)}
    names = sorted(known | {*_written_since(workspace, since_ns)})
    lines = [f"changed since the last recorded event: {name}" for name in names[:_MOST_FILES]]
    return [*lines, f"and {len(names) - _MOST_FILES} more files"] if len(names) > _MOST_FILES else lines


def _written_since(workspace: Workspace, since_ns: int) -> Iterator[str]:
    for path, entry in Ignore(workspace.root, workspace.skipped).walk():
        with suppress(OSError):  # it was removed meanwhile
            if entry.stat(follow_symlinks=False).st_ctime_ns > since_ns:
                yield path


def _differs(workspace: Workspace, path: str, first: str | None, last: str | None) -> bool:
    try:
        target = workspace.resolve(path)
        now = hashlib.sha256(target.read_bytes()).hexdigest() if target.exists() else None
    except (OSError, PathRefused):
        return True
    return now not in (first, last)
