"""Notes for the model on a decision: exactly what was written, what was not, and the person's words."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING

from ..protocol import PERSON
from ..protocol.text.hunks import hunk_text
from ..protocol.text.shorten_text import end_cut
from .draft import CommandDraft, Draft, EffectsDraft, FileDraft, McpDraft, PlanDraft, WebDraft

if TYPE_CHECKING:
    from ..protocol.text.hunks import Hunk, Split

_LONGEST = 4_000
"""Characters of a diff in a note."""
_ANOTHER_PLAN = "Ask with `ask_person` what should be different, then propose another one."
_MOST = 40
"""Hunks that a note names one by one."""


def comment_line(reason: str | None, by: str = PERSON) -> str:
    """Return the comment on the whole proposal as a line, or an empty string. `by`: who decided."""
    who = "The person" if by == PERSON else by
    return f"{who} says: {reason}" if reason else ""


def rejected_note(
    draft: Draft,
    reason: str | None,
    parts: Split | None = None,
    reasons: Mapping[int, str] | None = None,
    *,
    by: str = PERSON,
) -> str:
    """Return the tool result of a call that was rejected. `by`: who decided."""
    if isinstance(draft, PlanDraft):
        return f"the plan was not accepted. {comment_line(reason, by) or _ANOTHER_PLAN}"
    what = f"{draft.path} is unchanged." if isinstance(draft, FileDraft) else f"{_not_done(draft).capitalize()}."
    each = [_skip_reason(parts, i, why) for i, why in sorted((reasons or {}).items())] if parts else []
    if not reason and not each:
        return f"rejected by {_who(by)}, without a reason. {what} Do not repeat it: try another way, or ask."
    head = f"rejected by {_who(by)}: {reason}" if reason else f"rejected by {_who(by)}."
    return _bounded("\n".join([head, *each])) + f"\n{what}"


def refused_note(draft: Draft, why: str) -> str:
    """Return the tool result of a call that the policy refused."""
    what = f"{draft.path} was not changed" if isinstance(draft, FileDraft) else _not_done(draft)
    return f"refused by the policy: {why}; {what}. Do not repeat it: try a way that needs no approval, or say so."


def _not_done(draft: CommandDraft | McpDraft | EffectsDraft | PlanDraft | WebDraft) -> str:
    if isinstance(draft, PlanDraft):
        return "the plan was not accepted"
    if isinstance(draft, EffectsDraft):
        return "what the command changed was not applied"
    if isinstance(draft, WebDraft):
        return f"nothing was requested of {draft.host}"
    return "the tool was not called" if isinstance(draft, McpDraft) else "the command was not run"


def part_note(
    draft: FileDraft,
    parts: Split,
    accepted: Collection[int],
    reasons: Mapping[int, str],
    reason: str | None,
    *,
    is_cut: bool = False,
) -> str:
    """Return the note on a partly accepted change: the accepted hunks by their lines, the skipped ones with reasons.

    `is_cut`: the person split hunks, so `parts` are smaller than the hunks of the proposal.
    """
    left = [hunk.index for hunk in parts.hunks if hunk.index not in accepted]
    places = _places(parts, accepted)
    head = "split your change into smaller hunks and accepted" if is_cut else "accepted"
    lines = [
        f"the person {head} {len(accepted)} of {len(parts.hunks)} hunks of {draft.path}.",
        f"Written: {_named(sorted(accepted), places)}.",
        f"Skipped, and unchanged: {_named(left, places)}.",
        _bounded("\n".join(_skip_reason(parts, i, why) for i, why in sorted(reasons.items()))),
        comment_line(reason),
        "Not applied:",
        _bounded(hunk_text(parts, left)),
    ]
    return "\n".join(line for line in lines if line)


def edited_note(draft: FileDraft, parts: Split | None, reason: str | None) -> str:
    """Return the note on a change whose text the person edited before approving it."""
    lines = [f"the person changed your text of {draft.path} before approving it.", comment_line(reason)]
    if parts is not None and parts.hunks:
        lines += ["From your text to what was written:", _bounded(hunk_text(parts))]
    return "\n".join(line for line in lines if line)


def replan_note(draft: FileDraft, why: str, reason: str | None) -> str:
    """Return the note on a change in conflict that the model should make again."""
    head = (
        f"conflict: {draft.path} changed on disk while your change waited, and it no longer fits ({why}). "
        "Nothing was written. Read the file again, then make the change again."
    )
    return "\n".join(line for line in (head, comment_line(reason)) if line)


def keep_file_note(draft: FileDraft, why: str, theirs: Split | None, reason: str | None) -> str:
    """Return the note on a change in conflict that is dropped. `theirs`: how the file changed meanwhile."""
    lines = [
        f"conflict: {draft.path} changed on disk while your change waited ({why}), and the person keeps the file "
        "as it is now. Nothing of yours was written. Do not make the change again.",
        comment_line(reason),
    ]
    if theirs is not None and theirs.hunks:
        lines += ["Changes to the file since you read it:", _bounded(hunk_text(theirs))]
    return "\n".join(line for line in lines if line)


def _who(by: str) -> str:
    return "the person" if by == PERSON else by


def _skip_reason(parts: Split | None, index: int, why: str) -> str:
    hunk = next((hunk for hunk in parts.hunks if hunk.index == index), None) if parts else None
    return f"Hunk {index + 1}{_changed_line(parts, hunk) if parts and hunk else ''} was skipped because: {why}"


def _changed_line(parts: Split, hunk: Hunk) -> str:
    """Return the hunk's first changed line, which identifies it for the model."""
    change = hunk.changes[0]
    mark, lines = ("+", parts.new[change.b1 : change.b2]) if change.b2 > change.b1 else ("-", parts.old[change.a1 :])
    return f" ({mark}{end_cut(lines[0].strip(), 60)})"


def _named(hunks: Sequence[int], places: Sequence[str]) -> str:
    named = [f"hunk {i + 1} ({places[i]})" for i in hunks[:_MOST]]
    if len(hunks) > _MOST:
        named.append(f"and {len(hunks) - _MOST} more")
    return ", ".join(named)


def _places(parts: Split, accepted: Collection[int]) -> list[str]:
    """Return each hunk's lines in the written text, 1-based."""
    shift = 0
    places: list[str] = []
    for hunk in parts.hunks:
        first, last = hunk.changes[0].a1, hunk.changes[-1].a2
        grown = hunk.added - hunk.removed if hunk.index in accepted else 0
        start, end = first + shift + 1, last + shift + grown
        places.append(f"lines {start} to {end}" if end > start else f"line {start}")
        shift += grown
    return places


def _bounded(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}\n[cut: read the file to see the rest]\n"
