"""Turn a person's decision on a proposal into a ruling. Pure functions."""

from __future__ import annotations

from typing import assert_never

import msgspec

from ..protocol import Decide, Rule, is_client
from ..protocol.text.hunks import Split, apply_hunks
from ..workspace.errors import WriteFailed
from .change.cuts import cut
from .change.diff import split_bytes
from .draft import Draft, EffectsDraft, FileDraft, McpDraft
from .effects.decision import rule_on_effects
from .mcp.edited import edited_call
from .notes import comment_line, edited_note, part_note, rejected_note
from .rules import rule_text
from .ruling import Ruling, approved


def refused_to_client(command: Decide, *, needs_person: bool) -> str | None:
    """Return why this client cannot decide so, or None. A person can decide everything.

    `needs_person`: the proposal concerns something guarded or protected, or asks for more than the sandbox allows.
    """
    if not is_client(command.by) or command.verdict == "reject":
        return None
    is_plain = command.verdict == "approve" and command.text is None and not (command.always or command.session)
    if not is_plain or command.hunks is not None or command.cuts or command.entries:
        return f"{command.by} can only approve or reject a whole proposal: a person can do more"
    return f"only a person can approve this, not {command.by}" if needs_person else None


def rule_on_decision(command: Decide, draft: Draft, parts: Split | None, rule: Rule | None) -> Ruling | str:
    """Return the ruling, or why the decision is not possible. `rule` is the rule that `always` would write, if any."""
    if isinstance(draft, EffectsDraft):
        return rule_on_effects(command, draft)
    if command.entries:
        return "this proposal has no entries to choose from: approve it or reject it"
    try:
        parts = cut(parts, command.cuts) if command.cuts and parts is not None else parts
    except IndexError as error:
        return str(error)
    return _rule(command, draft, parts, rule)


def _rule(command: Decide, draft: Draft, parts: Split | None, rule: Rule | None) -> Ruling | str:
    match command.verdict:
        case "reject":
            return rejected(command, draft, parts)
        case "part":
            return _part(command, draft, parts)
        case "approve" if command.text is not None and not command.session:
            return _edited(command, command.text, draft)
        case "approve" if rule is None and (command.always or command.session):
            return "no rule could allow this proposal in future: approve it once"
        case "approve" if command.always and rule is not None:
            return msgspec.structs.replace(_whole(command, draft), rule=rule_text(rule))
        case "approve":
            return _whole(command, draft)
        case "again" | "mine":
            return "this proposal is not in conflict: approve it, accept some of its hunks, or reject it"
        case _:
            assert_never(command.verdict)


def rejected(command: Decide, draft: Draft, parts: Split | None) -> Ruling | str:
    """Return the ruling for a rejected proposal: nothing is written or run."""
    if wrong := _unknown(command, parts):
        return wrong
    return Ruling(
        approved=False,
        draft=draft,
        by=command.by,
        reason=command.reason,
        note_for_model=rejected_note(draft, command.reason, parts, command.hunk_reasons, by=command.by),
        refused_by="person",
        left=dict(command.hunk_reasons),
    )


def _whole(command: Decide, draft: Draft) -> Ruling:
    return approved(draft, by=command.by, reason=command.reason, note=comment_line(command.reason, command.by))


def _part(command: Decide, draft: Draft, parts: Split | None) -> Ruling | str:
    if not isinstance(draft, FileDraft) or parts is None or draft.after is None or draft.landed:
        return "this proposal has no hunks to choose from: approve it or reject it"
    chosen = set(command.hunks or [])
    if not chosen:
        return "no hunk was accepted: reject the proposal instead"
    if wrong := _unknown(command, parts):
        return wrong
    try:
        text = apply_hunks(parts, chosen)
    except IndexError as error:
        return str(error)
    after = text.encode(draft.before.encoding or "utf-8")
    if len(chosen) == len(parts.hunks):
        return msgspec.structs.replace(_whole(command, draft), after=after, taken=len(chosen))
    left = {i: why for i, why in command.hunk_reasons.items() if i not in chosen and why}
    note = part_note(draft, parts, chosen, left, command.reason, is_cut=bool(command.cuts))
    ruling = approved(draft, by="person", reason=command.reason, after=after, note=note, taken=len(chosen), left=left)
    return msgspec.structs.replace(ruling, cuts=command.cuts)


def _edited(command: Decide, text: str, draft: Draft) -> Ruling | str:
    if isinstance(draft, McpDraft):
        return edited_call(command, text, draft)
    if not isinstance(draft, FileDraft) or draft.landed:
        return "only a file change can be edited before approval"
    try:
        after = draft.before.encode(text)
    except WriteFailed as error:
        return str(error)
    if after == draft.after:
        return _whole(command, draft)
    return edited(command, draft, after)


def edited(command: Decide, draft: FileDraft, after: bytes) -> Ruling:
    """Return the ruling that writes the person's own bytes instead of the proposed ones."""
    proposed = msgspec.structs.replace(draft.before, data=draft.after or b"", exists=True)
    note = edited_note(draft, split_bytes(proposed, after), command.reason)
    reason = command.reason or "the person changed the text"
    return approved(draft, by="person", reason=reason, after=after, note=note, edited=True)


def _unknown(command: Decide, parts: Split | None) -> str | None:
    there = len(parts.hunks) if parts else 0
    unknown = [index for index in command.hunk_reasons if not 0 <= index < there]
    return f"a reason names hunk {unknown[0]}, which does not exist: there are {there}" if unknown else None
