"""Turn a person's decision on what a command would change into a ruling. Pure functions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from ...layers.effects import IN_MEMORY
from ...protocol import GIT_HELD, PERSON, Decide
from ...protocol.text.counts import first_names, plural
from ...protocol.text.hunks import apply_hunks
from ...workspace.errors import WriteFailed
from ..change.cuts import cut
from ..ruling import EntryRuling, Ruling, approved

if TYPE_CHECKING:
    from ...protocol import EntryChoice
    from .draft import EffectsDraft, EntryDraft

_TOO_LONG = f"the text would be longer than {IN_MEMORY:,} bytes: accept the file or skip it"
NOTHING_ACCEPTED = "nothing is accepted: reject the proposal instead"
_MOST_NAMED = 5


def rule_on_effects(command: Decide, draft: EffectsDraft) -> Ruling | str:
    """Return the ruling, or why the decision is not possible."""
    match command.verdict:
        case "reject":
            return _rejected(command, draft)
        case "again" | "mine":
            return "this proposal is not in conflict: approve it, accept some of its entries, or reject it"
        case _ if command.always or command.session:
            return "no rule could allow this proposal in future: approve it once"
        case _ if command.text is not None or command.hunks is not None or command.cuts or command.hunk_reasons:
            return "name the entry: this proposal has several"
        case "approve" if command.entries:
            return "approve takes the whole proposal: decide on its entries with part"
        case _:
            return _part(command, draft)


def _part(command: Decide, draft: EffectsDraft) -> Ruling | str:
    rulings = dict[int, EntryRuling]()
    for index, choice in sorted(command.entries.items()):
        if not 0 <= index < len(draft.entries):
            return f"there is no entry {index}: there are {len(draft.entries)}"
        entry = draft.entries[index]
        found = _chosen(entry, choice)
        if isinstance(found, str):
            return f"{entry.shown.path or 'git'}: {found}"
        if found is not None:
            rulings[index] = found
    rulings |= held_back(draft, rulings)
    if all(rulings.get(at, _WHOLE).skipped or entry.shown.conflict for at, entry in enumerate(draft.entries)):
        return NOTHING_ACCEPTED
    ruling = approved(draft, by=command.by, reason=command.reason, note=_differences(draft, rulings))
    return replace(ruling, entries=rulings)


_WHOLE = EntryRuling()


def _chosen(entry: EntryDraft, choice: EntryChoice) -> EntryRuling | str | None:
    """Return the ruling on an entry; None: it is accepted as proposed; a text: why the choice is not possible."""
    if choice.skip:
        return EntryRuling(skipped=True, reason=choice.reason, left=dict(choice.hunk_reasons), cuts=choice.cuts)
    if entry.shown.conflict:
        return f"it cannot be accepted: {entry.shown.conflict}"
    if choice.text is not None:
        return _edited(entry, choice.text, choice.reason)
    return None if choice.hunks is None else _in_part(entry, choice, choice.hunks)


def _in_part(entry: EntryDraft, choice: EntryChoice, hunks: Sequence[int]) -> EntryRuling | str | None:
    parts = entry.parts
    if parts is None or entry.before is None:
        return "it has no hunks to choose from: accept it or skip it"
    try:
        parts = cut(parts, choice.cuts)
        text = apply_hunks(parts, set(hunks))
    except IndexError as error:
        return str(error)
    taken = sorted(set(hunks))
    if len(taken) == len(parts.hunks):
        return None
    unknown = [index for index in choice.hunk_reasons if not 0 <= index < len(parts.hunks)]
    if unknown:
        return f"a reason names hunk {unknown[0]}, which does not exist: there are {len(parts.hunks)}"
    left = {at: why for at, why in choice.hunk_reasons.items() if at not in taken and why}
    if not taken:
        return EntryRuling(skipped=True, reason=choice.reason, left=left, cuts=choice.cuts)
    after = text.encode(entry.before.encoding or "utf-8")
    if len(after) > IN_MEMORY:
        return _TOO_LONG
    return EntryRuling(after=after, taken=taken, of=len(parts.hunks), left=left, cuts=choice.cuts, reason=choice.reason)


def _edited(entry: EntryDraft, text: str, reason: str) -> EntryRuling | str | None:
    if entry.before is None or entry.after is None:
        return "it has no text to edit: accept it or skip it"
    try:
        after = entry.before.encode(text)
    except WriteFailed as error:
        return str(error)
    if len(after) > IN_MEMORY:
        return _TOO_LONG
    return None if after == entry.after else EntryRuling(after=after, edited=True, reason=reason)


def held_back(draft: EffectsDraft, rulings: Mapping[int, EntryRuling]) -> dict[int, EntryRuling]:
    """Return the rulings on repositories that gain nothing, because a file is not applied as the command left it."""
    changed = any(
        entry.shown.kind != "git" and (at in rulings or entry.shown.conflict) for at, entry in enumerate(draft.entries)
    )
    if not changed:
        return {}
    return {
        at: EntryRuling(skipped=True, reason=GIT_HELD)
        for at, entry in enumerate(draft.entries)
        if entry.shown.kind == "git" and not (at in rulings and rulings[at].skipped) and not entry.shown.conflict
    }


def _rejected(command: Decide, draft: EffectsDraft) -> Ruling:
    who = "the person" if command.by == PERSON else command.by
    reasons = [f"`{_name(draft.entries[at])}`: {choice.reason}" for at, choice in _reasoned(command, draft)]
    why = "; ".join([*([command.reason] if command.reason else []), *reasons])
    told = f"rejected by {who}: {why}" if why else f"rejected by {who}, without a reason"
    return Ruling(
        approved=False,
        draft=draft,
        by=command.by,
        reason=command.reason,
        note_for_model=told,
        refused_by="person",
        entries={
            at: EntryRuling(skipped=True, reason=choice.reason, left=dict(choice.hunk_reasons))
            for at, choice in _reasoned(command, draft)
        },
    )


def _reasoned(command: Decide, draft: EffectsDraft) -> list[tuple[int, EntryChoice]]:
    there = range(len(draft.entries))
    return [
        (at, one) for at, one in sorted(command.entries.items()) if at in there and (one.reason or one.hunk_reasons)
    ]


def _differences(draft: EffectsDraft, rulings: Mapping[int, EntryRuling]) -> str:
    """Return what differs from the proposal, in sentences for the model. What happens to git is known to the caller."""
    skipped, sentences = list[str](), list[str]()
    for at, ruling in sorted(rulings.items()):
        entry = draft.entries[at].shown
        if entry.kind == "git":
            continue
        hunks = [f"hunk {hunk + 1} was skipped: {why}" for hunk, why in sorted(ruling.left.items())]
        why = "; ".join([*([ruling.reason] if ruling.reason else []), *hunks])
        given = f" ({why})" if why else ""
        if ruling.skipped:
            skipped.append(f"`{entry.path}`{given}")
        elif ruling.edited:
            sentences.append(f"The person changed your text of `{entry.path}` before approving it{given}.")
        else:
            count = f"{len(ruling.taken or ())} of {plural(ruling.of, 'hunk')}"
            sentences.append(f"Of `{entry.path}` the person accepted {count}{given}.")
    if skipped:
        sentences.insert(0, f"Skipped: {first_names(skipped, _MOST_NAMED)}.")
    return " ".join(sentences)


def _name(entry: EntryDraft) -> str:
    return entry.shown.path or ("git" if entry.shown.kind == "git" else ".")
