"""Proposals that wait at a gate until they are decided, or stay open in the journal because nobody is there."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ..protocol import Decide, ProposalOpened
from .draft import Draft, FileDraft
from .rebase import Conflict
from .text_diff import split_bytes

if TYPE_CHECKING:
    from ..protocol.text.hunks import Split
    from ..state.recorder import Events
    from .policy import Verdict
    from .ruling import Ruling


@dataclass(slots=True)
class OpenProposal:
    """A proposal that waits at a gate."""

    id: str
    draft: Draft
    digest: str
    parts: Split | None
    """The hunks of a file change; None for a command, and for content that is not text."""
    verdict: Verdict
    events: Events
    ruling: asyncio.Future[Ruling]
    can_stay_open: bool = False
    """Whether it can stay open in the journal when its runner ends, until a person decides."""
    conflict: Conflict | None = None
    """Why it cannot be applied as it is; `draft` is its newest version that could be applied."""

    def is_decided(self) -> bool:
        """Return whether it has a ruling."""
        return self.ruling.done()

    def decide(self, ruling: Ruling) -> None:
        """End the wait with this ruling. Must be called only once."""
        self.ruling.set_result(ruling)

    def reopen(self) -> None:
        """Wait for another ruling, after one that left the proposal open."""
        self.ruling = asyncio.get_running_loop().create_future()

    def split_hunks(self) -> None:
        """Compute the hunks of the current draft."""
        self.parts = split_bytes(self.draft.before, self.draft.after) if isinstance(self.draft, FileDraft) else None

    def replace_draft(self, draft: FileDraft, verdict: Verdict, digest: str) -> None:
        """Use a draft that was planned for the new content of the file, and end a conflict."""
        self.draft, self.verdict, self.digest, self.conflict = draft, verdict, digest, None
        self.split_hunks()

    def enter_conflict(self, conflict: Conflict, digest: str) -> bool:
        """Store why it cannot be applied. Returns whether this is a new conflict."""
        is_new = self.conflict is None or digest != self.digest
        self.conflict, self.digest = conflict, digest
        return is_new


@dataclass(frozen=True, slots=True)
class StoredProposal:
    """A proposal that is open in the journal."""

    opened: ProposalOpened
    """Its newest version that could be applied."""
    conflict: str | None = None
    """Digest of the conflict that was shown after that version, or None if there was none."""

    def waiting(self, draft: Draft, verdict: Verdict, events: Events, ruling: asyncio.Future[Ruling]) -> OpenProposal:
        """Return the proposal in the form in which it waits at the gate of this runner."""
        digest, conflict = self.opened.digest, None
        if self.conflict is not None:
            digest, conflict = self.conflict, Conflict(why="")
        name = self.opened.proposal_id
        return OpenProposal(name, draft, digest, None, verdict, events, ruling, can_stay_open=True, conflict=conflict)


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
