"""What a decision on a stage accepts, if no person looks at it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rundry.agent import BY_DIGEST, Decide, EntryChoice

if TYPE_CHECKING:
    from rundry.agent import ProposalOpened


def unprotected(shown: ProposalOpened) -> Decide:
    """Return the decision that accepts all but what a person has to see."""
    entries = [] if shown.effects is None else shown.effects.entries
    unseen = EntryChoice(skip=True, reason="a digest does not accept what a person has to see")
    skipped = {at: unseen for at, entry in enumerate(entries) if entry.danger}
    return Decide(
        proposal_id=shown.proposal_id,
        digest=shown.digest,
        verdict="part" if skipped else "approve",
        entries=skipped,
        channel=BY_DIGEST,
    )


def accepts(shown: ProposalOpened, chosen: Decide) -> bool:
    """Return whether a decision that skips entries accepts others. git goes with its files."""
    entries = [] if shown.effects is None else shown.effects.entries
    left = (entry for at, entry in enumerate(entries) if at not in chosen.entries)
    return any(entry.kind != "git" and not entry.conflict for entry in left)
