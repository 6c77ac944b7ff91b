"""Plan a waiting proposal again whenever its file on the disk changes."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from .change.rebase import Conflict, conflict_digest, holds_already, rebase_draft
from .change.resolve_conflict import ALREADY_DONE, by_policy, send_back
from .draft import FileDraft, digest_of
from .entries import Keep, in_conflict, rebased
from .file_watch import FileWatch
from .ruling import approved

if TYPE_CHECKING:
    from ..protocol import Clock
    from .open_proposal import OpenProposal
    from .session_policy import GatedTree, SessionPolicy


class Reviser:
    """Keeps waiting proposals up to date with their files on the disk."""

    def __init__(
        self, tree: GatedTree, policy: SessionPolicy, *, keep: Keep, attended: Callable[[], bool], clock: Clock
    ) -> None:
        self._tree, self._policy = tree, policy
        self._keep, self._attended, self._clock = keep, attended, clock
        self._endings: set[asyncio.Task[None]] = set()
        """Tasks of closed file watches, which end by themselves."""

    async def until_decided(self, waiting: OpenProposal) -> None:
        """Return as soon as the proposal has a ruling, and revise it meanwhile whenever its file changes."""
        draft = waiting.draft
        if not isinstance(draft, FileDraft) or draft.landed is not None:
            await asyncio.wait({waiting.ruling})
            return
        watch = FileWatch(self._tree.workspace, draft, self._clock)
        try:
            if draft.misfit is not None or holds_already(draft):
                self.revise(waiting)
            while not waiting.is_decided():
                if await watch.wait(waiting.ruling):
                    self.revise(waiting)
        finally:
            ending = watch.close()
            self._endings.add(ending)
            ending.add_done_callback(self._endings.discard)

    def revise(self, waiting: OpenProposal) -> None:
        """Plan the change again if its file differs from what the proposal was made from (docs/requirements.md 6.5)."""
        draft = waiting.draft
        if not isinstance(draft, FileDraft) or draft.landed is not None:
            return
        found = rebase_draft(self._tree.workspace, draft)
        if isinstance(found, Conflict):
            self._enter_conflict(waiting, draft, found)
        elif holds_already(found):
            waiting.decide(approved(found, by="policy", reason=ALREADY_DONE))
        elif waiting.conflict is not None or found.before.sha256 != draft.before.sha256:
            self._rebase(waiting, found)
        else:
            waiting.draft = found

    def _rebase(self, waiting: OpenProposal, draft: FileDraft) -> None:
        verdict, digest = self._policy.judge(draft, self._tree), digest_of(draft, self._tree.sandbox)
        waiting.replace_draft(draft, verdict, digest)
        why = self._whose(draft)
        waiting.record(rebased(draft, waiting.parts, self._keep, proposal_id=waiting.id, digest=digest, why=why))
        if verdict.action == "deny":
            waiting.decide(by_policy(draft, verdict, self._policy.on_ask))

    def _enter_conflict(self, waiting: OpenProposal, draft: FileDraft, conflict: Conflict) -> None:
        """Let the proposal wait in conflict. If nobody is here and it cannot stay open, the model gets the conflict."""
        digest = conflict_digest(draft, conflict)
        if not waiting.enter_conflict(conflict, digest):
            return
        why = f"{self._whose(draft)}: {conflict.why}"
        waiting.record(in_conflict(draft, conflict, self._keep, proposal_id=waiting.id, digest=digest, why=why))
        if not self._attended() and not waiting.can_stay_open:
            waiting.decide(send_back(draft, conflict.why, by="policy"))

    def _whose(self, draft: FileDraft) -> str:
        """Return who changed the file, for the person."""
        if self._tree.workspace.own_writes.is_ours(draft.before.real):
            return "another change of this run"
        return f"your edit of {time.strftime('%H:%M:%S', time.localtime(self._clock.now()))}"
