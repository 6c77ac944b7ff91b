"""Proposals that wait at a gate, and those that nobody was there to decide on."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from ...protocol import Decide, ProposalOpened, Record
from ..change.hunks import Split
from ..change.rebase import Conflict
from ..draft import Draft
from ..policy import Verdict
from ..ruling import Ruling


@dataclass(slots=True)
class OpenProposal:
    """A proposal that waits."""

    id: str
    draft: Draft
    digest: str
    parts: Split | None
    verdict: Verdict
    record: Record
    ruling: asyncio.Future[Ruling]
    may_stay: bool = False
    """It can outlive its runner: it stays open in the journal until a person decides."""
    conflict: Conflict | None = None
    """Why it cannot land as it is; `draft` is the newest that did fit."""


@dataclass(frozen=True, slots=True)
class Kept:
    """A proposal that is open in the journal."""

    opened: ProposalOpened
    """The newest that did fit."""
    conflict: str | None = None
    """Digest of the conflict that was shown after it."""

    def waiting(self, draft: Draft, verdict: Verdict, record: Record, ruling: asyncio.Future[Ruling]) -> OpenProposal:
        """The same proposal at the gate of this runner."""
        digest, conflict = self.opened.digest, None
        if self.conflict is not None:
            digest, conflict = self.conflict, Conflict(why="")
        name = self.opened.proposal_id
        return OpenProposal(name, draft, digest, None, verdict, record, ruling, may_stay=True, conflict=conflict)


@dataclass(slots=True)
class Later:
    """What stays open in the journal, and the decisions that take effect when it is opened again."""

    proposals: dict[str, OpenProposal] = field(default_factory=dict[str, OpenProposal])
    """Left open by this runner, by their ids."""
    given: dict[str, Decide] = field(default_factory=dict[str, Decide])
    """By the proposals' ids."""

    def take(self, proposal_id: str) -> Decide | None:
        """Forget the proposal; the decision on it, if there is one."""
        self.proposals.pop(proposal_id, None)
        return self.given.pop(proposal_id, None)
