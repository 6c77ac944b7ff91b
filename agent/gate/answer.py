"""A person's decision on a proposal, turned into a ruling. Pure."""

from __future__ import annotations

import msgspec

from ..protocol import Decide, Rule
from ..workspace import WriteFailed
from .diff import split_bytes
from .draft import Draft, FileDraft
from .hunks import Split, take
from .rules import rule_text
from .ruling import Ruling, approved, edited_note, part_note, rejected_note


def answer(command: Decide, draft: Draft, parts: Split | None, rule: Rule | None) -> Ruling | str:
    """The ruling, or why the decision cannot be taken. `rule` is what `always` would write, if anything can."""
    match command.verdict:
        case "reject":
            note = rejected_note(draft, command.reason)
            return Ruling(
                approved=False,
                draft=draft,
                by="person",
                reason=command.reason,
                note_for_model=note,
                refused_by="person",
            )
        case "part":
            return _part(command, draft, parts)
        case "approve" if command.text is not None:
            return _edited(command.text, draft)
        case "approve" if command.always:
            if rule is None:
                return "there is no rule that would let this pass by itself: approve it once"
            return approved(draft, by="person", reason=command.reason, rule=rule_text(rule))
        case "approve":
            return approved(draft, by="person", reason=command.reason)
        case other:
            return f"a decision is `approve`, `reject` or `part`, not `{other}`"


def _part(command: Decide, draft: Draft, parts: Split | None) -> Ruling | str:
    if not isinstance(draft, FileDraft) or parts is None or draft.after is None or draft.landed:
        return "this proposal has no hunks that can be taken one by one: approve it or reject it"
    chosen = set(command.hunks or [])
    if not chosen:
        return "no hunk was taken: reject the proposal instead"
    try:
        text = take(parts, chosen)
    except IndexError as error:
        return str(error)
    after = text.encode(draft.before.encoding or "utf-8")
    note = part_note(draft, parts, chosen) if len(chosen) < len(parts.hunks) else ""
    return approved(draft, by="person", reason=command.reason, after=after, note=note, taken=len(chosen))


def _edited(text: str, draft: Draft) -> Ruling | str:
    if not isinstance(draft, FileDraft) or draft.landed:
        return "only a change of a file can be edited before it is approved"
    try:
        after = draft.before.encode(text)
    except WriteFailed as error:
        return str(error)
    if after == draft.after:
        return approved(draft, by="person")
    proposed = msgspec.structs.replace(draft.before, data=draft.after or b"", exists=True)
    note = edited_note(draft, split_bytes(proposed, after))
    return approved(draft, by="person", reason="the person changed the text", after=after, note=note, edited=True)
