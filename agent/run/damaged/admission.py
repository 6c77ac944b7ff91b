"""Decide whether a journal that may be damaged can be resumed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...facts.checkpoint import checkpoint_seq
from ...journal.integrity.damage import Damage, damage_of, is_large, require_intact_file
from ...journal.integrity.stored_faults import ITEMS_ON_RESUME
from ...protocol import RunEnded, UserError, event_name
from ..client.start_request import ResumeChanges

if TYPE_CHECKING:
    from ...journal.journal import Journal


def admit_damage(journal: Journal, changes: ResumeChanges) -> Damage:
    """Return the damage of the journal if the person accepts it. The damaged events are skipped from now on.

    Raises UserError if the person has to decide first, JournalError if the file cannot be read.
    """
    newest = journal.last_seq()
    require_intact_file(journal)
    after = checkpoint_seq(journal) if is_large(journal) else 0
    damage = damage_of(journal, after=after, most=ITEMS_ON_RESUME)
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
