"""A proposal that waits at a gate until it is decided."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from ..protocol import Record
from .change.diff import split_bytes
from .change.hunks import Split
from .change.rebase import Conflict
from .draft import Draft, FileDraft
from .policy import Verdict
from .ruling import Ruling


@dataclass(slots=True)
class OpenProposal:
    """A proposal that waits at a gate."""

    id: str
    draft: Draft
    digest: str
    parts: Split | None
    """Its hunks; None for a command."""
    verdict: Verdict
    record: Record
    ruling: asyncio.Future[Ruling]
    may_stay: bool = False
    """It can outlive its runner by staying open in the journal until a person decides."""
    conflict: Conflict | None = None
    """Why it cannot be applied as it is; `draft` is the newest version that fitted."""

    def is_decided(self) -> bool:
        """Return whether it has a ruling, which never changes."""
        return self.ruling.done()

    def decide(self, ruling: Ruling) -> None:
        """End the wait with this ruling. Call it once."""
        self.ruling.set_result(ruling)

    def reopen(self) -> None:
        """Wait for a new ruling: the old one left the proposal open."""
        self.ruling = asyncio.get_running_loop().create_future()

    def split_hunks(self) -> None:
        """Compute the hunks of the present draft."""
        self.parts = split_bytes(self.draft.before, self.draft.after) if isinstance(self.draft, FileDraft) else None

    def replace_draft(self, draft: FileDraft, verdict: Verdict, digest: str) -> None:
        """Take over the draft that was planned for the new content of the file; a conflict ends."""
        self.draft, self.verdict, self.digest, self.conflict = draft, verdict, digest, None
        self.split_hunks()

    def enter_conflict(self, conflict: Conflict, digest: str) -> bool:
        """Note why it cannot be applied. Returns whether this is a new conflict."""
        is_new = self.conflict is None or digest != self.digest
        self.conflict, self.digest = conflict, digest
        return is_new
