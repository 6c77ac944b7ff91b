"""Show the change of the chosen try of a goal run at the gate, file by file, and write what was approved."""

from __future__ import annotations

import stat
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from msgspec.structs import replace

from ...gate.change.resolve_conflict import NOBODY_HERE
from ...gate.draft import FileDraft, read_file_state
from ...gate.ruling import Ruling, approved as approval
from ...gate.stored.postponed import StoredProposal
from ...protocol import FileChanged, ProposalDecided, ProposalOpened, Reason, TryChosen, WorkResult
from ...step.resources.recorder import with_waiting
from ...step.tool_calls.file_events import file_changed
from ...tools.execution import carry_out
from ...workspace.errors import PathRefused, UnreadableFile
from ..passes.measure import Measured

if TYPE_CHECKING:
    from ...step.resources.context import RunContext
    from ...workspace.snapshots.snapshots import Change

_MOVED = "the file changed on disk since the tries ended"


@dataclass(slots=True)
class Approved:
    """What the gate allowed of a change."""

    whole: list[str] = field(default_factory=list[str])
    """Paths of the files that become those of the try."""
    parts: list[Ruling] = field(default_factory=list[Ruling])
    """Rulings on files of which other bytes were approved."""


async def review(ctx: RunContext, chosen: TryChosen) -> Approved | Measured | WorkResult:
    """Ask the gate about each file that is not written yet. Nothing is written before all are decided.

    Returns what was approved; or, if a file was refused, why nothing is applied; or the hand-off to someone who can
    decide. Raises PersonInterrupted, SnapshotDamaged.
    """
    changes, approved = await changes_of(ctx, chosen), Approved()
    for number, change in enumerate(changes, 1):
        try:
            draft = _draft(ctx, change)
        except (PathRefused, UnreadableFile) as error:
            return Measured(False, f"{_name(chosen)} was not applied: {error}")
        if draft.before.exists == (change.after is not None) and draft.before.data == (change.after or b""):
            approved.whole.append(change.path)  # an earlier runner wrote it
            continue
        call_id = f"review:{chosen.number}:{chosen.candidate}:{number}"  # without a dot, which numbers the proposals
        if (ruling := _given_before(ctx, call_id, draft)) is None:
            if draft.misfit is not None and (opened := ctx.facts.requests.waiting_for(call_id)) is not None:
                ctx.events.record(_closed(opened))
                return Measured(False, f"{_name(chosen)} was not applied: {change.path}: {draft.misfit}")
            ruling = await _ruling(ctx, chosen, change, draft, call_id, (number, len(changes)))
        if not ruling.approved:
            return _refused(ruling, chosen, change.path)
        if not isinstance(ruling.draft, FileDraft) or ruling.draft.before.sha256 != draft.before.sha256:
            return Measured(False, f"{_name(chosen)} was not applied: {change.path} changed while its change waited")
        if ruling.after == change.after:
            approved.whole.append(change.path)
        else:
            approved.parts.append(ruling)
    return approved


async def apply_approved(ctx: RunContext, chosen: TryChosen, approved: Approved) -> str | None:
    """Write the approved files into the run's tree. Returns None, or why not all of them are written."""
    left = await ctx.snapshots.restore(chosen.world, approved.whole, expected=chosen.base)
    ctx.files.mark_changed()
    if left:
        await ctx.snapshots.restore(chosen.base, approved.whole, expected=chosen.world)
        return f"{_name(chosen)} was not applied: {left[0]}"
    known = ctx.facts.changes.files
    with ctx.events.together():
        for change in await changes_of(ctx, chosen):
            event = file_changed(ctx.journal, change, "model")
            if change.path in approved.whole and (change.path not in known or known[change.path][1] != event.after):
                ctx.events.record(event)
    for ruling in approved.parts:
        result = await carry_out(ruling.draft, ruling, ctx.tools)
        if not result.ok:
            return f"{_name(chosen)} was not applied: {result.text}"
        by = "person" if ruling.edited else "model"
        for one in result.files:
            changed = FileChanged(path=one.path, by=by, before=one.before, after=one.after)
            ctx.events.record(replace(changed, added=one.added, removed=one.removed))
    return None


async def changes_of(ctx: RunContext, chosen: TryChosen) -> list[Change]:
    """Return the changes of the chosen try to the run's tree. Raises SnapshotDamaged."""
    files = frozenset(chosen.files)
    return [one for one in await ctx.snapshots.changes(chosen.base, chosen.world) if one.path in files]


def _draft(ctx: RunContext, change: Change) -> FileDraft:
    """Return the draft of a change. Raises PathRefused, UnreadableFile."""
    before = read_file_state(ctx.workspace, change.path)
    path, moved = change.path, change.before != (before.data if before.exists else None)
    return FileDraft(
        tool="write_file",
        path=path,
        before=before,
        after=change.after,
        replan=lambda _: _MOVED,
        misfit=_MOVED if moved and before.data != change.after else None,
    )


def _given_before(ctx: RunContext, call_id: str, draft: FileDraft) -> Ruling | None:
    """Return the approval that someone gave before the run was resumed, if the file is still as it was then."""
    requests, load = ctx.facts.requests, ctx.journal.blob
    decided, opened = requests.decisions.get(call_id), requests.approved.get(call_id)
    if decided is None or opened is None or decided.by == "policy":
        return None
    before = None if opened.before is None else load(opened.before)
    if before != (draft.before.data if draft.before.exists else None):
        return None
    edited = decided.decision == "approve" and decided.after is not None
    after = None if opened.after is None else load(opened.after)
    return replace(approval(replace(draft, after=after, misfit=None), by=decided.by), edited=edited)


def _closed(opened: ProposalOpened) -> ProposalDecided:
    return ProposalDecided(proposal_id=opened.proposal_id, decision="reject", by="policy", reason=_MOVED)


async def _ruling(
    ctx: RunContext, chosen: TryChosen, change: Change, draft: FileDraft, call_id: str, place: tuple[int, int]
) -> Ruling:
    """Show the change of one file at the gate, and return the ruling. Raises PersonInterrupted.

    If nobody is here to decide, the proposal stays open in the journal, and is shown again unchanged.
    """
    ran, runs = (mode is not None and bool(mode & stat.S_IXUSR) for mode in (change.before_mode, change.after_mode))
    mode = "" if ran == runs or change.after is None else f", {'' if runs else 'not '}executable"
    gate = ctx.gate.for_worktree(ctx.workspace, ctx.guard.matches, f"{_name(chosen)}{mode}")
    opened = ctx.facts.requests.waiting_for(call_id)
    stored = None if opened is None else StoredProposal(opened, ctx.facts.requests.conflict_of(opened.proposal_id))
    record = with_waiting(ctx.events.bound(None, None))
    try:
        asking = gate.propose(draft, call_id=call_id, record=record, can_stay_open=True, stored=stored, place=place)
        return await ctx.activity.interruptible(asking)
    finally:
        ctx.gate.forget(gate)


def _refused(ruling: Ruling, chosen: TryChosen, path: str) -> Measured | WorkResult:
    """Return why the try is not applied, or the hand-off if nobody was here to decide."""
    reason = ruling.reason or "no reason given"
    if ruling.handoff or reason.startswith(NOBODY_HERE):
        lines = "" if chosen.lines is None else f" ({chosen.lines} changed lines)"
        return WorkResult(handoff=f"someone has to approve the change of {_name(chosen)}{lines}: it reached the goal")
    ends = Reason.USER if ruling.by != "policy" else None
    return Measured(False, f"{_name(chosen)} was not applied: the change of {path} was rejected: {reason}", ends=ends)


def _name(chosen: TryChosen) -> str:
    return f"try {chosen.candidate} of {chosen.tries}"
