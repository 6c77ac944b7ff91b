"""Proposals that stay open in the journal because nobody was there to decide."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ...protocol import Decide, ProposalOpened, Record
from ..change.rebase import Conflict
from ..open_proposal import OpenProposal

if TYPE_CHECKING:
    from ..draft import Draft
    from ..policy import Verdict
    from ..ruling import Ruling


@dataclass(frozen=True, slots=True)
class StoredProposal:
    """A proposal that is open in the journal."""

    opened: ProposalOpened
    """Its newest version that could be applied."""
    conflict: str | None = None
    """Digest of the conflict that was shown after that version; None: there was none."""

    def waiting(self, draft: Draft, verdict: Verdict, record: Record, ruling: asyncio.Future[Ruling]) -> OpenProposal:
        """Return the proposal in the form in which it waits at the gate of this runner."""
        digest, conflict = self.opened.digest, None
        if self.conflict is not None:
            digest, conflict = self.conflict, Conflict(why="")
        name = self.opened.proposal_id
        return OpenProposal(name, draft, digest, None, verdict, record, ruling, can_stay_open=True, conflict=conflict)


@dataclass(slots=True)
class Postponed:
    """Proposals that stay open in the journal, and decisions that apply when they are opened again."""

    proposals: dict[str, OpenProposal] = field(default_factory=dict[str, OpenProposal])
    """Proposals that this runner left open, by id."""
    decisions: dict[str, Decide] = field(default_factory=dict[str, Decide])
    """Decisions, by proposal id."""

    def pop(self, proposal_id: str) -> Decide | None:
        """Remove the proposal; return the decision on it, if any."""
        self.proposals.pop(proposal_id, None)
        return self.decisions.pop(proposal_id, None)
