"""Resolve a conflict by the person's decision (plan again, keep the file, edit by hand) or by the policy.

Pure functions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from ..host.file_errors import WriteFailed
from ..protocol.events.person import CONFLICT, KEPT_AS_IT_IS
from .decision import edited, rejected
from .draft import Draft, FileDraft
from .notes_for_model import keep_file_note, refused_note, replan_note
from .rebase import Conflict, holds_already
from .ruling import Ruling, approved
from .text_diff import split_bytes
from .three_way_merge import marked_line

if TYPE_CHECKING:
    from ..protocol import Decide, DecidedBy, OnAsk
    from ..protocol.text.hunks import Split
    from .policy import Verdict

CHOICES = "edit the merged text by hand, let the model make the change again, keep the file as it is, or reject it"

NOBODY_HERE = "nobody is here to approve it"
PROPOSAL_CHANGED = "the proposal changed since it was shown: look at the new one and decide again"
ALREADY_DONE = "the file already has exactly this change: nothing is written"


def resolve_conflict(command: Decide, draft: FileDraft, conflict: Conflict) -> Ruling | str:
    """Return the ruling, or why the decision is not possible. Text of the model is never written without review."""
    match command.verdict:
        case "reject":
            return rejected(msgspec.structs.replace(command, hunk_reasons={}), draft, None)
        case "again":
            return send_back(draft, conflict.why, by="person", reason=command.reason)
        case "mine":
            return _kept(command, draft, conflict)
        case "approve" if command.text is not None and not command.always:
            return _by_hand(command, command.text, draft, conflict)
        case _:
            return f"this proposal is in conflict ({conflict.why}): {CHOICES}"


def send_back(draft: FileDraft, why: str, *, by: DecidedBy, reason: str | None = None) -> Ruling:
    """Return the ruling that makes the model read the file and make the change again."""
    message = f"{CONFLICT}{why}"
    return Ruling(
        approved=False,
        draft=draft,
        by=by,
        reason=f"{message}; {reason}" if reason else message,
        note_for_model=replan_note(draft, why, reason),
        refused_by="conflict",
    )


def _kept(command: Decide, draft: FileDraft, conflict: Conflict) -> Ruling:
    message = f"{CONFLICT}{conflict.why}; {KEPT_AS_IT_IS}"
    return Ruling(
        approved=False,
        draft=draft,
        by="person",
        reason=f"{message}; {command.reason}" if command.reason else message,
        note_for_model=keep_file_note(draft, conflict.why, _theirs(draft, conflict), command.reason),
        refused_by="conflict",
    )


def _theirs(draft: FileDraft, conflict: Conflict) -> Split | None:
    """Return what someone else changed in the file since the change was planned; None if it is not text now."""
    now = conflict.now
    if now is None or not now.exists or now.is_binary:
        return None
    return split_bytes(draft.before, now.data)


def _by_hand(command: Decide, text: str, draft: FileDraft, conflict: Conflict) -> Ruling | str:
    now = conflict.now
    if now is None or conflict.merged is None:
        return f"the file on disk has no text to edit ({conflict.why}): {CHOICES.partition(', ')[2]}"
    if line := marked_line(text):
        return f"line {line} still has a conflict marker: resolve that place and remove the markers"
    try:
        after = now.encode(text)
    except WriteFailed as error:
        return str(error)
    if after == now.data:
        return _kept(command, draft, conflict)
    return edited(command, msgspec.structs.replace(draft, before=now), after)


def by_policy(draft: Draft, verdict: Verdict, on_ask: OnAsk | None) -> Ruling:
    """Return the ruling of the policy alone. `on_ask`: `handoff` hands the run over where a person would be asked."""
    why = "; ".join(verdict.why)
    if isinstance(draft, FileDraft) and verdict.action != "deny":
        if draft.conflict is not None:
            return send_back(draft, draft.conflict, by="policy")
        if holds_already(draft):
            return approved(draft, by="policy", reason=ALREADY_DONE)
    if verdict.action == "allow":
        return approved(draft, by="policy", reason=why)
    if verdict.action == "ask":
        why = f"{NOBODY_HERE}, and this needs approval ({why})"
    return Ruling(
        approved=False,
        draft=draft,
        by="policy",
        reason=why,
        note_for_model=refused_note(draft, why),
        handoff=verdict.action == "ask" and on_ask == "handoff",
        refused_by="policy",
    )
