"""`rundry apply --keep`: let a person accept changes in the workspace that nobody decided on. No model is used."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from ...gate.draft import digest_of_draft
from ...gate.proposal_events import opened
from ...protocol import BY_DIGEST, LoopKind, ProposalOpened, UndecidedAccepted, UserError
from ...verdict.judge.decided_now import decided_now
from ...verdict.judge.workspace_ledger import Ledger
from ..end.undecided import layers_folder, note_at_end
from ..end.undecided_proposal import KEEP, UndecidedDraft, draft_of
from .judge_in_place import InPlace, end_as_done, result_in_place
from .reviewing import Applied, claimed_run, reviewed_run

if TYPE_CHECKING:
    from ...protocol import Decide
    from ...step.resources.run_context import RunContext


@dataclass(frozen=True, slots=True, kw_only=True)
class KeepReview:
    """Changes in the workspace that nobody decided on. It is made by `open_kept`, and can be decided on once."""

    run_id: str
    shown: ProposalOpened
    """The changes as one proposal, which is not in the journal."""
    notes: Sequence[str] = ()
    _draft: UndecidedDraft
    _ctx: RunContext

    def content(self, sha: str | None) -> bytes | None:
        """Return the bytes of a blob that an entry names."""
        return None if sha is None else self._ctx.journal.blobs.load(sha)

    async def apply(self, decision: Decide) -> Applied:
        """Accept what the decision accepts, then check and judge the result again. Raises UserError."""
        ctx, choices = self._ctx, decision.entries
        if any(not choice.skip for choice in choices.values()):
            raise UserError("a change is accepted or skipped as a whole: name the entries")
        is_seen = decision.channel != BY_DIGEST
        taken = [
            path if is_seen else msgspec.structs.replace(path, seen=False)
            for at, path in enumerate(self._draft.paths)
            if at not in choices
        ]
        ctx.events.record(UndecidedAccepted(paths=taken), durable=True)
        await note_at_end(ctx)
        has_checks = ctx.facts.spec.predicates.exist and ctx.facts.spec.loop in (LoopKind.GOAL, LoopKind.CHAT)
        found = await result_in_place(ctx) if has_checks else InPlace(met=None)
        end_as_done(ctx, found)
        names = ", ".join(f"`{path.path}`" for path in taken)
        return Applied(
            lines=[f"Accepted: {names}."],
            skipped=bool(choices),
            met=found.met,
            why=found.why,
            evidence=found.evidence,
            has_checks=has_checks,
        )


@asynccontextmanager
async def open_kept(
    path: Path, env: Mapping[str, str], tell: Callable[[str], None] = lambda _: None
) -> AsyncGenerator[KeepReview]:
    """Provide a review of the undecided changes of a run, and of runs before it in its workspace, during the block.

    Raises RunHeld, JournalError, and UserError if there are none.
    """
    with claimed_run(path) as claimed:
        run = claimed.journal.spec.run_id
        if claimed.facts.changes.staged:
            raise UserError(f"something is staged in run {run}: decide on that first, with `rundry apply {run}`")
        async with reviewed_run(claimed, env, tell) as found:
            draft = await asyncio.to_thread(_draft, found.ctx)
            if draft is None:
                raise UserError(f"there is no change of run {run} in the workspace that nobody decided on")
            yield KeepReview(run_id=run, shown=_shown(found.ctx, draft), _draft=draft, _ctx=found.ctx)


def _shown(ctx: RunContext, draft: UndecidedDraft) -> ProposalOpened:
    effects, kind = draft.effects, ctx.sandbox.kind
    return opened(
        effects,
        ctx.gate.verdict(effects),
        None,
        ctx.journal.blobs,
        proposal_id="keep",
        call_id="",
        digest=digest_of_draft(effects, kind),
        sandbox=kind,
    )


def _draft(ctx: RunContext) -> UndecidedDraft | None:
    """Return what nobody decided on, as a proposal, or None if there is nothing. Raises UserError."""
    scope, root = ctx.scope, ctx.workspace.root
    if scope is None:
        return None
    try:
        now = decided_now(ctx.facts, ctx.journal, layers_folder(ctx), root, scope)
    except (OSError, ValueError) as error:
        raise UserError(f"what nobody decided on cannot be read: {error}") from None
    paths = [one.path for one in now.decided.undecided]
    return draft_of(now, paths, root, ctx.journal, title=KEEP)


def newest_undecided(workspace: Path, runs: Path) -> str | None:
    """Return the run that noted undecided changes of a workspace last. `runs`: the folder of the journals."""
    try:
        noted = Ledger(workspace, runs).read()
    except (OSError, ValueError) as error:
        raise UserError(f"what nobody decided on cannot be read: {error}") from None
    return max((entry.run for entry in noted.entries), default=None)
