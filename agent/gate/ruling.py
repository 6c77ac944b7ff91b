"""Rulings: the gate's decisions on proposals."""

from __future__ import annotations

from typing import Literal

import msgspec

from ..protocol import DecidedBy
from .draft import Draft, FileDraft, McpDraft, PlanDraft

RefusedBy = Literal["policy", "person", "conflict", "interrupt"]


class EntryRuling(msgspec.Struct, frozen=True, kw_only=True):
    """The decision on one entry of what a command would change, if it was not accepted exactly as proposed."""

    skipped: bool = False
    after: bytes | None = None
    """The bytes that are applied instead of the proposed ones."""
    edited: bool = False
    """Whether these are the person's own text."""
    accepted: list[int] | None = None
    """The indexes of the accepted hunks. None means that the hunks decided nothing."""
    of: int = 0
    """Number of hunks, with `accepted`."""
    left: dict[int, str] = {}
    """Why a hunk was skipped, by its index."""
    cuts: dict[int, list[int]] = {}
    """How the person split hunks."""
    reason: str = ""


class Ruling(msgspec.Struct, frozen=True, kw_only=True):
    """The decision that ended one proposal."""

    approved: bool
    draft: Draft
    """The draft that was decided on. It differs from the original one if the file changed meanwhile."""
    after: bytes | None = None
    """The bytes to write: the whole proposal, the accepted hunks, or the person's own text. For a call of an MCP
    server: its arguments as JSON. For a plan: its text."""
    by: DecidedBy
    reason: str | None = None
    note_for_model: str = ""
    """What the model reads: why nothing or only part was done, and the person's comment. Empty means that all was
    done."""
    handoff: bool = False
    """Whether the policy hands the run over, because nobody was here to ask."""
    is_left_open: bool = False
    """Whether nobody decided: the proposal stays open in the journal, and the call has no result yet."""
    edited: bool = False
    """Whether the person changed the text before approving it."""
    refused_by: RefusedBy | None = None
    """Which side refused the draft. None means that it was approved. `person`: by a decision, also one of a client."""
    accepted: int | None = None
    """Number of hunks that the person accepted. None means all, or there were no hunks to choose from."""
    left: dict[int, str] = {}
    """Why the person skipped a hunk, by its index."""
    cuts: dict[int, list[int]] = {}
    """How the person split hunks: `accepted` and `left` then count their parts."""
    rules: list[str] = []
    """The rules that `always` wrote."""
    entries: dict[int, EntryRuling] = {}
    """Of what a command would change: the entries that were not accepted exactly as proposed, by their index."""
    channel: str = ""
    """The program through which the person decided, as in `Decide`."""


def approved(
    draft: Draft,
    *,
    by: DecidedBy,
    reason: str | None = None,
    after: bytes | None = None,
    note: str = "",
    accepted: int | None = None,
    left: dict[int, str] | None = None,
    edited: bool = False,
) -> Ruling:
    """Return an approval, with the draft's own bytes unless others are given."""
    return Ruling(
        approved=True,
        draft=draft,
        after=_own_bytes(draft) if after is None else after,
        by=by,
        reason=reason,
        note_for_model=note,
        accepted=accepted,
        left=left or {},
        edited=edited or (isinstance(draft, FileDraft) and draft.edited),
    )


def _own_bytes(draft: Draft) -> bytes | None:
    if isinstance(draft, McpDraft):
        return draft.arguments.encode()
    if isinstance(draft, PlanDraft):
        return draft.text.encode()
    return draft.after if isinstance(draft, FileDraft) else None


def interrupted(draft: Draft, why: str) -> Ruling:
    """Return the ruling for a proposal that was withdrawn before anyone decided."""
    return Ruling(
        approved=False,
        draft=draft,
        by="person",
        reason=why,
        note_for_model=f"not done: {why}",
        refused_by="interrupt",
    )


def left_open(draft: Draft, why: str) -> Ruling:
    """Return the ruling if nobody is here to decide: the run is handed over and the proposal stays in the journal."""
    return Ruling(approved=False, draft=draft, by="policy", reason=why, handoff=True, is_left_open=True)
