"""What the gate decided, and how the model hears of it."""

from __future__ import annotations

from collections.abc import Collection

import msgspec

from .diff import hunk_text
from .draft import CommandDraft, Draft, FileDraft
from .hunks import Split

_LONGEST = 4_000
"""Characters of a diff that goes into a note."""


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
    """Why not, or what of it landed; empty where all of it did."""
    handoff: bool = False
    """Nobody was there to ask, and the policy wants the run handed over."""
    edited: bool = False
    """The person changed the text before approving it."""
    refused_by: str | None = None
    """`policy`, `person`, `conflict` or `interrupt`; None: it was approved."""
    taken: int | None = None
    """Hunks that the person took; None: all, or there was nothing to choose."""
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
        edited=edited,
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


def rejected_note(draft: Draft, reason: str | None) -> str:
    """For the tool result of what a person rejected."""
    what = "The command was not run." if isinstance(draft, CommandDraft) else f"{draft.path} is unchanged."
    if not reason:
        return f"rejected by the person, without a reason. {what} Do not repeat it: try another way, or ask."
    return f"rejected by the person: {reason}\n{what}"


def refused_note(draft: Draft, why: str) -> str:
    """For what the policy does not let happen."""
    what = "the command was not run" if isinstance(draft, CommandDraft) else f"{draft.path} was not changed"
    return f"refused by the policy: {why}; {what}. Do not repeat it: try a way that needs no approval, or say so."


def part_note(draft: FileDraft, parts: Split, taken: Collection[int]) -> str:
    """For a change of which the person took some hunks."""
    left = [hunk.index for hunk in parts.hunks if hunk.index not in taken]
    return f"the person took {len(taken)} of {len(parts.hunks)} hunks of {draft.path}. Not applied:\n" + _bounded(
        hunk_text(parts, left)
    )


def edited_note(draft: FileDraft, parts: Split | None) -> str:
    """For a text that the person changed before it landed."""
    head = f"the person changed your text of {draft.path} before approving it."
    if parts is None or not parts.hunks:
        return head
    return f"{head} From your text to what landed:\n{_bounded(hunk_text(parts))}"


def _bounded(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}\n[cut: read the file to see the rest]\n"
