"""Turn a person's decision on a proposal, or on what a command would change, into a ruling. Pure functions."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from difflib import unified_diff
from typing import TYPE_CHECKING, Any, assert_never, cast

import msgspec

from ..host.file_errors import WriteFailed
from ..layers.layer_effects import IN_MEMORY
from ..protocol import GIT_HELD, PERSON, Decide, is_client, is_device
from ..protocol.text.counts import first_names, plural
from ..protocol.text.hunks import Split, apply_hunks
from ..protocol.text.plan_text import plan_text, read_plan
from .cuts import cut
from .draft import Draft, EffectsDraft, FileDraft, McpDraft, PlanDraft
from .notes_for_model import comment_line, edited_note, part_note, rejected_note
from .rules import rule_text
from .ruling import EntryRuling, Ruling, approved
from .text_diff import split_bytes

if TYPE_CHECKING:
    from ..protocol import EntryChoice, Rule
    from .effects_draft import EntryDraft
    from .rules import RuleOffer

ON_THIS_MACHINE = "this asks in every mode, so it is approved at the machine of the run"
"""Why a paired device cannot approve a proposal."""
_LONGEST_NOTE = 4_000
_TOO_LONG = f"the text would be longer than {IN_MEMORY:,} bytes: accept the file or skip it"
_NOTHING_ACCEPTED = "nothing is accepted: reject the proposal instead"
_MOST_NAMED = 5
_WHOLE = EntryRuling()
_NO_RULE = "no rule could allow this proposal in future"


def refused_elsewhere(command: Decide, draft: Draft, *, danger: bool) -> str | None:
    """Return why a client, or a person on a paired device, cannot make this decision, or None.

    A person at this machine can make every decision. `danger`: the proposal concerns something guarded or protected,
    or asks for more than the sandbox allows.
    """
    is_of_client = is_client(command.by)
    if not (is_of_client or is_device(command.channel)) or command.verdict == "reject":
        return None
    adds_rules = command.always or command.session or command.prefix
    is_plain = command.verdict == "approve" and command.text is None and not adds_rules
    is_whole = is_plain and command.hunks is None and not command.cuts and not command.entries
    if not is_of_client:
        if not is_whole:
            return f"{command.channel} can only approve or reject a whole proposal: the screen can do more"
        return f"{ON_THIS_MACHINE}, not on {command.channel}" if danger else None
    if not is_whole:
        return f"{command.by} can only approve or reject a whole proposal: a person can do more"
    # a client is not shown the contents of effects, and the check of a plan comes from a person
    needs_person = danger or isinstance(draft, (EffectsDraft, PlanDraft))
    return f"only a person can approve this, not {command.by}" if needs_person else None


def rule_on_decision(command: Decide, draft: Draft, parts: Split | None, offer: RuleOffer) -> Ruling | str:
    """Return the ruling, or why the decision is not possible. `offer`: the rules that can be added with it."""
    if isinstance(draft, EffectsDraft):
        return _rule_on_effects(command, draft)
    if command.entries:
        return "this proposal has no entries to choose from: approve it or reject it"
    try:
        parts = cut(parts, command.cuts) if command.cuts and parts is not None else parts
    except IndexError as error:
        return str(error)
    return _rule(command, draft, parts, offer)


def added_rules(command: Decide, offer: RuleOffer) -> list[Rule]:
    """Return the rules that a decision adds."""
    is_whole = command.session or (command.always and command.text is None)
    if command.verdict != "approve" or not is_whole:
        return []
    return offer.prefixes if command.prefix else offer.rules


def _rule(command: Decide, draft: Draft, parts: Split | None, offer: RuleOffer) -> Ruling | str:
    match command.verdict:
        case "reject":
            return rejected(command, draft, parts)
        case "part":
            return _part(command, draft, parts)
        case "approve" if command.text is not None and not command.session:
            return _edited(command, command.text, draft)
        case "approve" if command.prefix and not (command.always or command.session):
            return "a prefix is allowed always or for the session: say which"
        case "approve" if (command.always or command.session) and not added_rules(command, offer):
            missing = "this command has no prefix" if command.prefix and offer.rules else _NO_RULE
            return f"{missing}: approve it once"
        case "approve" if command.always:
            rules = [rule_text(rule) for rule in added_rules(command, offer)]
            return msgspec.structs.replace(_whole(command, draft), rules=rules)
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
    if not isinstance(draft, FileDraft) or parts is None or draft.after is None or draft.written_by:
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
        return msgspec.structs.replace(_whole(command, draft), after=after, accepted=len(chosen))
    left = {i: why for i, why in command.hunk_reasons.items() if i not in chosen and why}
    note = part_note(draft, parts, chosen, left, command.reason, is_cut=bool(command.cuts))
    ruling = approved(
        draft, by="person", reason=command.reason, after=after, note=note, accepted=len(chosen), left=left
    )
    return msgspec.structs.replace(ruling, cuts=command.cuts)


def _edited(command: Decide, text: str, draft: Draft) -> Ruling | str:
    if isinstance(draft, McpDraft):
        return _edited_call(command, text, draft)
    if isinstance(draft, PlanDraft):
        return _edited_plan(command, text, draft)
    if not isinstance(draft, FileDraft) or draft.written_by:
        return "only a file change can be edited before approval"
    try:
        after = draft.before.encode(text)
    except WriteFailed as error:
        return str(error)
    if after == draft.after:
        return _whole(command, draft)
    return edited(command, draft, after)


def _edited_call(command: Decide, text: str, draft: McpDraft) -> Ruling | str:
    """Return the ruling that calls the tool with the person's own arguments, or why they cannot be used."""
    if draft.is_listing:
        return "a list of tools cannot be edited: approve it or reject it"
    try:
        arguments: Any = json.loads(text)
    except (ValueError, RecursionError) as error:
        return f"this is not JSON: {error}"
    if not isinstance(arguments, dict):
        return "the arguments are not a JSON object"
    called = draft.called
    if called is not None and (why := called.problem_of(cast("dict[str, Any]", arguments))):
        return f"the arguments do not fit the schema of {draft.name}: {why}"
    new = json.dumps(arguments, ensure_ascii=False, indent=2)
    if new == draft.arguments:
        return approved(draft, by="person", reason=command.reason, note=comment_line(command.reason))
    changes = "\n".join(unified_diff(draft.arguments.splitlines(), new.splitlines(), lineterm="", n=1))[:_LONGEST_NOTE]
    head = "the person changed the arguments of your call before approving it."
    note = "\n".join(line for line in (head, comment_line(command.reason), changes) if line)
    reason = command.reason or "the person changed the arguments"
    return approved(draft, by="person", reason=reason, after=new.encode(), note=note, edited=True)


def _edited_plan(command: Decide, text: str, draft: PlanDraft) -> Ruling | str:
    """Return the ruling that accepts the person's version of a plan, or why that is not a plan."""
    plan = read_plan(text)
    if isinstance(plan, str):
        return plan
    if draft.decides and plan.check is not None:
        return f"what decides is set already: {draft.decides}. Remove the line of the check"
    if plan == draft.plan:
        return _whole(command, draft)
    if draft.checks is not None and plan.check is not None and (problem := draft.checks.problem_of(plan.check)):
        return problem
    after = plan_text(plan, has_check=not draft.decides).encode()
    reason = command.reason or "the person changed the plan"
    return approved(draft, by=command.by, reason=reason, after=after, edited=True)


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


def _rule_on_effects(command: Decide, draft: EffectsDraft) -> Ruling | str:
    """Return the ruling on what a command would change, or why the decision is not possible."""
    match command.verdict:
        case "reject":
            return _rejected_effects(command, draft)
        case "again" | "mine":
            return "this proposal is not in conflict: approve it, accept some of its entries, or reject it"
        case _ if command.always or command.session or command.prefix:
            return f"{_NO_RULE}: approve it once"
        case _ if command.text is not None or command.hunks is not None or command.cuts or command.hunk_reasons:
            return "name the entry: this proposal has several"
        case "approve" if command.entries:
            return "approve takes the whole proposal: decide on its entries with part"
        case _:
            return _entries_part(command, draft)


def _entries_part(command: Decide, draft: EffectsDraft) -> Ruling | str:
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
    rulings |= _held_back(draft, rulings)
    if all(rulings.get(at, _WHOLE).skipped or entry.shown.conflict for at, entry in enumerate(draft.entries)):
        return _NOTHING_ACCEPTED
    ruling = approved(draft, by=command.by, reason=command.reason, note=_differences(draft, rulings))
    return msgspec.structs.replace(ruling, entries=rulings)


def _chosen(entry: EntryDraft, choice: EntryChoice) -> EntryRuling | str | None:
    """Return the ruling on an entry, None if it is accepted as proposed, or a text that says why it is not possible."""
    if choice.skip:
        return EntryRuling(skipped=True, reason=choice.reason, left=dict(choice.hunk_reasons), cuts=choice.cuts)
    if entry.shown.conflict:
        return f"it cannot be accepted: {entry.shown.conflict}"
    if choice.text is not None:
        return _edited_entry(entry, choice.text, choice.reason)
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
    accepted = sorted(set(hunks))
    if len(accepted) == len(parts.hunks):
        return None
    unknown = [index for index in choice.hunk_reasons if not 0 <= index < len(parts.hunks)]
    if unknown:
        return f"a reason names hunk {unknown[0]}, which does not exist: there are {len(parts.hunks)}"
    left = {at: why for at, why in choice.hunk_reasons.items() if at not in accepted and why}
    if not accepted:
        return EntryRuling(skipped=True, reason=choice.reason, left=left, cuts=choice.cuts)
    after = text.encode(entry.before.encoding or "utf-8")
    if len(after) > IN_MEMORY:
        return _TOO_LONG
    return EntryRuling(
        after=after, accepted=accepted, of=len(parts.hunks), left=left, cuts=choice.cuts, reason=choice.reason
    )


def _edited_entry(entry: EntryDraft, text: str, reason: str) -> EntryRuling | str | None:
    if entry.before is None or entry.after is None:
        return "it has no text to edit: accept it or skip it"
    try:
        after = entry.before.encode(text)
    except WriteFailed as error:
        return str(error)
    if len(after) > IN_MEMORY:
        return _TOO_LONG
    return None if after == entry.after else EntryRuling(after=after, edited=True, reason=reason)


def _held_back(draft: EffectsDraft, rulings: Mapping[int, EntryRuling]) -> dict[int, EntryRuling]:
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


def _rejected_effects(command: Decide, draft: EffectsDraft) -> Ruling:
    who = "the person" if command.by == PERSON else command.by
    reasons = [f"`{_entry_name(draft.entries[at])}`: {choice.reason}" for at, choice in _reasoned(command, draft)]
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
            count = f"{len(ruling.accepted or ())} of {plural(ruling.of, 'hunk')}"
            sentences.append(f"Of `{entry.path}` the person accepted {count}{given}.")
    if skipped:
        sentences.insert(0, f"Skipped: {first_names(skipped, _MOST_NAMED)}.")
    return " ".join(sentences)


def _entry_name(entry: EntryDraft) -> str:
    return entry.shown.path or ("git" if entry.shown.kind == "git" else ".")
