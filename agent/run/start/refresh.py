"""Rebase the open proposals of a run without a runner on the present content of their files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ...gate.draft import digest_of_draft
from ...gate.proposal_events import in_conflict, rebased
from ...gate.rebase import Conflict, conflict_digest, holds_already, rebase_draft
from ...gate.stored_drafts import is_file_change, stored_draft
from ...gate.text_diff import split_bytes
from ...host.workspace_paths import Workspace
from ...journal.claim import claim
from ...journal.journal import Journal
from ...state.facts.checkpoint import facts_of
from ...state.reports.run_state import run_state
from .damaged_journal import require_undamaged
from .sandbox_of_run import hide_rules_of

if TYPE_CHECKING:
    from ...protocol import ProposalOpened, ProposalRebased

WHO = "someone changed the file since"


def refresh_proposals(path: Path) -> None:
    """Rebase each open proposal whose file changed, or mark it as in conflict. Raises RunHeld, JournalError."""
    with claim(path):
        journal = Journal.open(path)
        try:
            require_undamaged(journal)
            shown, store = run_state(journal).decidable_without_runner(), journal.path.with_suffix(".snapshots")
            rules = hide_rules_of(journal.spec.gate, path.parent, held_out=journal.spec.predicates.holdout_files)
            ws = Workspace(Path(journal.spec.workspace), private=[journal.path, store], hide_rules=rules)
            for opened in facts_of(journal).requests.proposals.values():
                if opened.proposal_id in shown and is_file_change(opened):
                    event = _moved(ws, journal, opened, shown[opened.proposal_id].digest)
                    if event is not None:
                        journal.append(event, durable=True)
        finally:
            journal.close()


def _moved(ws: Workspace, journal: Journal, opened: ProposalOpened, shown: str) -> ProposalRebased | None:
    """Return the event for a proposal whose file changed.

    Returns None if it is unchanged, or has the proposed content.
    """
    draft = stored_draft(opened, ws, journal.blobs)
    if draft is None:
        return None
    found, name = rebase_draft(ws, draft), opened.proposal_id
    if isinstance(found, Conflict):
        digest, why = conflict_digest(draft, found), f"{WHO}: {found.why}"
        event = in_conflict(draft, found, journal.blobs, proposal_id=name, digest=digest, why=why)
    elif holds_already(found):
        return None
    else:
        parts, digest = split_bytes(found.before, found.after), digest_of_draft(found, None)
        event = rebased(found, parts, journal.blobs, proposal_id=name, digest=digest, why=WHO)
    return None if digest == shown else event
