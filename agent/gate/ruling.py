"""What the gate decided."""

from __future__ import annotations

import msgspec

from .draft import Draft, FileDraft


class Ruling(msgspec.Struct, frozen=True, kw_only=True):
    """The end of one proposal."""

    approved: bool
    draft: Draft
    """What was decided on: not the one that came in, where the file changed meanwhile."""
    after: bytes | None = None
    """The bytes to write: all of the proposal, the hunks that were taken, or the person's own text."""
    by: str
    """`policy` or `person`."""
    reason: str | None = None
    note_for_model: str = ""
    """Why not, or what of it landed, with the person's words; empty where all of it did and nothing was said."""
    handoff: bool = False
    """Nobody was there to ask, and the policy wants the run handed over."""
    is_left_open: bool = False
    """Nobody decided: the proposal stays open in the journal, and the call has no result yet."""
    edited: bool = False
    """The person changed the text before approving it."""
    refused_by: str | None = None
    """`policy`, `person`, `conflict` or `interrupt`; None: it was approved."""
    taken: int | None = None
    """Hunks that the person took; None: all, or there was nothing to choose."""
    left: dict[int, str] = {}
    """Why the person left a hunk, by its index."""
    rule: str | None = None
    """The rule that `always` wrote."""


def approved(
    draft: Draft,
    *,
    by: str,
    reason: str | None = None,
    after: bytes | None = None,
    note: str = "",
    taken: int | None = None,
    left: dict[int, str] | None = None,
    edited: bool = False,
    rule: str | None = None,
) -> Ruling:
    """It may happen: with the draft's own bytes where no others are given."""
    return Ruling(
        approved=True,
        draft=draft,
        after=draft.after if after is None and isinstance(draft, FileDraft) else after,
        by=by,
        reason=reason,
        note_for_model=note,
        taken=taken,
        left=left or {},
        edited=edited or (isinstance(draft, FileDraft) and draft.edited),
        rule=rule,
    )


def interrupted(draft: Draft, why: str) -> Ruling:
    """It was taken back before anyone decided."""
    return Ruling(
        approved=False,
        draft=draft,
        by="person",
        reason=why,
        note_for_model=f"not done: {why}",
        refused_by="interrupt",
    )


def left_open(draft: Draft, why: str) -> Ruling:
    """Nobody is here to decide: the run is handed over, and the proposal waits in the journal."""
    return Ruling(approved=False, draft=draft, by="policy", reason=why, handoff=True, is_left_open=True)
