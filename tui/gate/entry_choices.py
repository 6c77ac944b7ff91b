"""The choices in a proposal with the changes of a command, and the decision that results.

Does not import textual.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import msgspec

from rundry.agent import GIT_HELD, Decide, EffectEntry, EntryChoice, ProposalOpened, entry_notes

from .edited_text import has_conflict_marks

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rundry.agent import CommandEffects

    from .pending_decision import PendingDecision

ENTRY = "effect"
"""The tool of a proposal that stands for one entry, on the screen only."""
STAGE = "stage"
"""The tool of the proposal about all that a run staged, on the screen only."""
EntryState = Literal["accepted", "part", "skipped", "conflict"]
NO_ENTRY_ACCEPTED = "nothing is accepted: {reject} rejects, {pick} accepts a file, {take_all} accepts all"
NOTHING_TO_APPLY = "nothing is accepted: {reject} leaves it staged, {pick} accepts a file"
MARKS_IN = "your version of {path} still has conflict marks: open it and press {edit} to remove them"


def is_single(effects: CommandEffects) -> bool:
    """Return whether there is one text and nothing else, so that its diff is shown immediately."""
    first = effects.entries[0]
    is_alone = len(effects.entries) == 1 and not effects.along and not effects.never
    return is_alone and has_text(first) and not first.conflict


def has_text(entry: EffectEntry) -> bool:
    """Return whether an entry can be opened."""
    return entry.is_text


def opened_entry(whole: ProposalOpened, pending: PendingDecision) -> int | None:
    """Return the index of the entry whose text is shown, or None if the list is shown."""
    if whole.effects is None:
        return None
    return 0 if is_single(whole.effects) else pending.entries.opened


def as_file(whole: ProposalOpened, index: int, diff: str) -> ProposalOpened:
    """Return an entry in the form of a proposal for one file. `diff`: its unified diff."""
    assert whole.effects is not None  # the caller looked
    entry, heading = whole.effects.entries[index], whole.effects.heading
    is_alone = len(whole.effects.entries) == 1 and whole.tool != STAGE
    return msgspec.structs.replace(
        whole,
        tool=ENTRY,
        command=whole.effects.command if is_alone and not heading else None,
        path=entry.path,
        diff=diff,
        before=entry.before,
        after=entry.after,
        asks=[*([heading] if heading and is_alone else []), *entry_notes(entry)],
        needs=[],
        danger=entry.danger,
        hunks=0 if entry.conflict else entry.hunks,
        added=entry.added,
        removed=entry.removed,
        effects=None,
    )


def state_of(effects: CommandEffects, pending: PendingDecision, index: int) -> EntryState:
    """Return what is accepted of an entry now."""
    entry = effects.entries[index]
    if entry.conflict:
        return "conflict"
    if not pending.picks.is_accepted(index) or _skips_all_hunks(pending, index) or is_held(effects, pending, index):
        return "skipped"
    own = pending.entries.pending.get(index)
    return "part" if own is not None and (own.edited is not None or own.picks.skipped_count) else "accepted"


def is_held(effects: CommandEffects, pending: PendingDecision, index: int) -> bool:
    """Return whether a repository gains nothing, because a file is not applied as the command left it."""
    if effects.entries[index].kind != "git":
        return False
    return any(
        state_of(effects, pending, at) != "accepted" for at, one in enumerate(effects.entries) if one.kind != "git"
    )


def why_skipped(effects: CommandEffects, pending: PendingDecision, index: int) -> str:
    """Return why an entry is skipped, or an empty text if no reason was given or it is not skipped."""
    if pending.picks.is_accepted(index):
        return GIT_HELD if is_held(effects, pending, index) else ""
    return pending.picks.reason(index)


def counts_of(effects: CommandEffects, pending: PendingDecision) -> tuple[int, int]:
    """Return how many entries are accepted, also in part, and how many are skipped."""
    states = [state_of(effects, pending, at) for at in range(len(effects.entries))]
    return sum(state in ("accepted", "part") for state in states), states.count("skipped")


def unread_entry(effects: CommandEffects, pending: PendingDecision) -> int | None:
    """Return the first accepted entry that asks in every mode and whose text was not read to its end."""
    for at, entry in enumerate(effects.entries):
        is_accepted = state_of(effects, pending, at) in ("accepted", "part")
        if entry.danger and has_text(entry) and not entry.conflict and is_accepted and at not in pending.entries.read:
            return at
    return None


def effects_approval(whole: ProposalOpened, pending: PendingDecision, digest: str) -> Decide | str:
    """Return what approval sends, or why it is not possible; the text names actions as `{reject}`."""
    effects = whole.effects
    assert effects is not None  # the caller looked
    if not counts_of(effects, pending)[0]:
        return NOTHING_TO_APPLY if whole.tool == STAGE else NO_ENTRY_ACCEPTED
    for at, own in pending.entries.pending.items():
        if pending.picks.is_accepted(at) and own.edited is not None and has_conflict_marks(own.edited):
            return MARKS_IN.replace("{path}", effects.entries[at].path)
    choices = entry_choices(effects, pending)
    return Decide(
        proposal_id=whole.proposal_id,
        digest=digest,
        verdict="part" if choices else "approve",
        entries=choices,
        reason=_reason(effects, pending),
    )


def effects_rejection(whole: ProposalOpened, pending: PendingDecision, digest: str) -> Decide:
    """Return the decision that drops all of it, with the reasons that were given."""
    effects = whole.effects
    assert effects is not None  # the caller looked
    reasons = {at: text for at in range(len(effects.entries)) if (text := pending.picks.reason(at))}
    return Decide(
        proposal_id=whole.proposal_id,
        digest=digest,
        verdict="reject",
        entries={at: EntryChoice(skip=True, reason=text) for at, text in reasons.items()},
        reason=_reason(effects, pending),
    )


def _reason(effects: CommandEffects, pending: PendingDecision) -> str | None:
    own = pending.entries.pending.get(0) if is_single(effects) else None
    return pending.reason or (own.reason if own is not None else "") or None


def entry_choices(effects: CommandEffects, pending: PendingDecision) -> dict[int, EntryChoice]:
    """Return the choices for the entries that are not accepted as proposed, by index."""
    return dict(_choices(effects, pending))


def _choices(effects: CommandEffects, pending: PendingDecision) -> Iterator[tuple[int, EntryChoice]]:
    for at, entry in enumerate(effects.entries):
        own = pending.entries.pending.get(at)
        if entry.conflict:
            continue
        if not pending.picks.is_accepted(at) or _skips_all_hunks(pending, at):
            hunks = own.picks.reasons() if own is not None and own.edited is None else {}
            yield at, EntryChoice(skip=True, reason=pending.picks.reason(at), hunk_reasons=hunks)
        elif own is not None and own.edited is not None:
            yield at, EntryChoice(text=_text(pending, at, own), reason=own.reason)
        elif own is not None and own.picks.skipped_count:
            yield (
                at,
                EntryChoice(
                    hunks=own.picks.accepted, hunk_reasons=own.picks.reasons(), cuts=own.cuts, reason=own.reason
                ),
            )


def _skips_all_hunks(pending: PendingDecision, index: int) -> bool:
    own = pending.entries.pending.get(index)
    return own is not None and own.picks.count > 0 and not own.picks.accepted_count


def _text(pending: PendingDecision, index: int, own: PendingDecision) -> str:
    """Return the person's own text, with only the accepted ones of its hunks."""
    text, shown = own.edited or "", pending.entries.shown.get(index)
    if not own.picks.skipped_count or shown is None:
        return text
    from rundry.agent import apply_cut_hunks  # the gate costs ~15 ms to import

    return apply_cut_hunks(shown.before, text, own.cuts, own.picks.accepted)
