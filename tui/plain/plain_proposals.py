"""Proposals at the gate in words, and the words that decide on them. Does not import textual."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rundry.agent import (
    CommandEffects,
    Decide,
    EntryChoice,
    Plan,
    ProposalOpened,
    RebaseResult,
    RundryError,
    along_lines,
    effects_title,
    entry_change,
    entry_facts,
    entry_name,
    entry_notes,
    plan_text,
    plural,
    read_plan,
)

from ..gate.pending_decision import PendingDecision
from ..gate.proposal_words import body, may_always, name, notes, rules_of
from ..keys.keymap import Keymap
from ..text.show_text import one_line, show

if TYPE_CHECKING:
    from ..gate.follow_file import Content

_ALL_SHOWN = 5
"""Entries whose diffs are printed without being asked for."""
_HUNK = re.compile(r"@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@")
_VERBS = {
    "approve": "approve", "yes": "approve", "y": "approve", "reject": "reject", "no": "reject", "n": "reject",
    "always": "always", "again": "again", "mine": "mine", "show": "show", "reason": "reason", "check": "check",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the person typed at the gate."""

    verb: str
    number: int = 1
    """Number of the proposal, from 1."""
    hunks: tuple[int, ...] = ()
    """Numbers of the accepted hunks, from 1. If empty, all are accepted."""
    entries: tuple[int, ...] = ()
    """Numbers of the accepted or shown entries of what a command would change, from 1. If empty, all of them."""
    prefix: bool = False
    """With `always`: for all arguments of the commands."""
    text: str = ""
    """A reason, or the check of a plan."""


def parse_verdict(line: str) -> Verdict | None:
    """Read `approve`, `approve 2 hunks 1 3` or `reject too long`. Return None for a line that does not decide.

    Raises RundryError for hunks that are not numbers.
    """
    first, _, rest = line.strip().partition(" ")
    verb = _VERBS.get(first.lower())
    if verb is None:
        return None
    number, rest = _leading_number(rest.strip())
    if verb in ("reject", "reason", "check"):
        return Verdict(verb, number, text=rest)
    words = rest.replace(",", " ").split()
    if words and words[0] in ("entry", "entries") and verb in ("approve", "show"):
        if not words[1:] or not all(word.isdecimal() for word in words[1:]):
            raise RundryError("name the entries by their numbers, for example: approve entries 1 3")
        return Verdict(verb, number, entries=tuple(int(word) for word in words[1:]))
    if words and words[0] in ("hunk", "hunks") and verb == "approve":
        if not words[1:] or not all(word.isdecimal() for word in words[1:]):
            raise RundryError("name the hunks by their numbers, for example: approve hunks 1 3")
        return Verdict(verb, number, tuple(int(word) for word in words[1:]))
    if words == ["prefix"] and verb == "always":
        return Verdict(verb, number, prefix=True)
    return Verdict(verb, number) if not words else None


def _leading_number(text: str) -> tuple[int, str]:
    first, _, rest = text.partition(" ")
    return (int(first), rest.strip()) if first.isdecimal() else (1, text)


def decision(verdict: Verdict, opened: ProposalOpened, digest: str, reason: str) -> Decide:
    """Return the command for a verdict on the proposal as it was printed. Raises RundryError."""
    if verdict.verb == "check":
        return _with_check(verdict.text, opened, digest, reason)
    reason = verdict.text or reason
    hunks: list[int] | None = None
    if verdict.hunks:
        if not all(1 <= number <= opened.hunks for number in verdict.hunks):
            raise RundryError(f"this proposal has {plural(opened.hunks, 'hunk')}: name them by their numbers, from 1")
        hunks = sorted({number - 1 for number in verdict.hunks})
    chosen = _chosen(verdict, opened)
    if hunks is not None and opened.effects is not None:
        if len(opened.effects.entries) > 1:
            raise RundryError("this proposal has several entries: approve some of them, or use the screen for hunks")
        hunks, chosen = None, {0: EntryChoice(hunks=hunks)}
    if verdict.verb == "always" and not may_always(opened):
        raise RundryError("this proposal cannot be allowed always: type approve or reject")
    if verdict.prefix and not opened.prefixes:
        raise RundryError("this proposal has no prefix to allow: type always, approve or reject")
    named = {"always": "approve"}.get(verdict.verb, verdict.verb)
    return Decide(
        proposal_id=opened.proposal_id,
        digest=digest,
        verdict="part" if hunks is not None or chosen else _gate_verdict(named),
        hunks=hunks,
        entries=chosen,
        reason=reason or None,
        always=verdict.verb == "always",
        prefix=verdict.prefix,
    )


def _with_check(check: str, opened: ProposalOpened, digest: str, reason: str) -> Decide:
    """Return the command that accepts a plan with another check. Raises RundryError."""
    plan = None if opened.plan is None else read_plan(opened.plan)
    if not isinstance(plan, Plan):
        raise RundryError("this proposal has no check: type approve or reject")
    text = plan_text(Plan(plan.lines, check or None))
    return Decide(proposal_id=opened.proposal_id, digest=digest, verdict="approve", text=text, reason=reason or None)


def _chosen(verdict: Verdict, opened: ProposalOpened) -> dict[int, EntryChoice]:
    """Return which entries are skipped. Raises RundryError."""
    if not verdict.entries:
        return {}
    count = 0 if opened.effects is None else len(opened.effects.entries)
    if not all(1 <= number <= count for number in verdict.entries):
        raise RundryError(f"this proposal has {plural(count, 'entry')}: name them by their numbers, from 1")
    return {at: EntryChoice(skip=True) for at in range(count) if at + 1 not in verdict.entries}


def _gate_verdict(word: str):  # noqa: ANN202 - the literal is narrowed below
    match word:
        case "approve" | "reject" | "again" | "mine":
            return word
        case _:
            raise RundryError(f"{word}: type approve or reject")


def proposal_lines(
    opened: ProposalOpened, rebasing: RebaseResult | None, number: int, of: int, content: Content
) -> Iterator[str]:
    """Return everything that the person has to know to decide, then the words that decide. `content` returns a blob."""
    count = f" {number} of {of}" if of > 1 else ""
    if opened.effects is not None:
        yield f"Proposal{count}: {name(opened)}: {effects_title(opened.effects)}."
        yield from effects_lines(opened.effects, content)
    elif opened.server is not None:
        yield f"Proposal{count}: {name(opened)}."
        yield from (f"{'arguments' if opened.name else 'change'}: {line}" for line in body(opened).split("\n"))
    elif opened.plan is not None:
        yield f"Proposal{count}: a plan."
        yield from (f"plan: {line}" for line in body(opened).split("\n") if line)
    elif opened.url is not None:
        yield f"Proposal{count}: {name(opened)}."
        yield from (f"url: {line}" if not at else line for at, line in enumerate(body(opened).split("\n")))
    elif opened.path is None:
        yield f"Proposal{count}: {name(opened)}."
        yield from (f"command: {line}" for line in body(opened).split("\n"))
        held = f"in the sandbox ({one_line(opened.sandbox)})" if opened.sandbox is not None else "without a sandbox"
        yield f"It runs in {one_line(opened.cwd or '.')}, {held}."
    else:
        is_new = opened.before is None and opened.after is not None
        yield (
            f"Proposal{count}: {name(opened)}{', a new file' if is_new else ''}, {plural(opened.hunks, 'hunk')}, "
            f"{plural(opened.added, 'line')} added, {opened.removed} removed."
        )
        yield from diff_lines(opened.diff)
    for note, is_danger in notes(opened, rebasing, PendingDecision(), Keymap({}), explained=True, is_tight=False):
        yield f"{'Warning' if is_danger else 'Note'}: {note}"
    yield _ways(opened, rebasing, number if of > 1 else 0)


def effects_lines(effects: CommandEffects, content: Content, *, all_diffs: bool = False) -> Iterator[str]:
    """Return the entries of a proposal, with what is applied along, and the diffs of a few entries or all."""
    entries = effects.entries
    for at, entry in enumerate(entries, 1):
        facts = [entry_change(entry), *([f"{entry.added} added, {entry.removed} removed"] if entry.is_text else [])]
        more = [] if entry.kind == "git" else entry_facts(entry)
        what = ", ".join(word for word in (*facts, *more) if word)
        yield f"entry {at}: {one_line(entry_name(entry))}{f', {one_line(what)}' if what else ''}"
        yield from (f"    {one_line(line)}" for line in entry.lines)
        yield from (f"    Warning: {one_line(note)}" for note in entry_notes(entry))
        if all_diffs or len(entries) <= _ALL_SHOWN or entry.danger:
            yield from entry_diff_lines(effects, at, content)
    yield from (one_line(line) for line in along_lines(effects))


def entry_diff_lines(effects: CommandEffects, number: int, content: Content) -> Iterator[str]:
    """Return the diff of an entry; none if it has no text. Raises RundryError for a number that there is not."""
    from rundry.agent import entry_diff  # the gate costs ~15 ms to import

    if not 1 <= number <= len(effects.entries):
        raise RundryError(f"there is no entry {number}: there are {len(effects.entries)}")
    yield from diff_lines(entry_diff(effects.entries[number - 1], content))


def _ways(opened: ProposalOpened, rebasing: RebaseResult | None, number: int) -> str:
    which = f" {number}" if number else ""
    if rebasing is not None and rebasing.conflict:
        return f"Type again{which} to ask the model again, mine{which} to keep your version, or reject{which}."
    if opened.plan is not None:
        return f"Type approve{which}, check{which} CMD to accept it with another check, or reject{which} and a reason."
    hunks = f", approve{which} hunks 1 2 for some of them" if opened.hunks > 1 else ""
    if opened.effects is not None and len(opened.effects.entries) > 1:
        hunks = f", approve{which} entries 1 2 for some of them, show{which} entry 1 for its diff"
    always = ""
    if may_always(opened):
        offers = [("", rules_of(opened)), (" prefix", opened.prefixes)]
        always = "".join(_always(f"always{which}{word}", rules) for word, rules in offers if rules)
    return f"Type approve{which}{hunks}{always}, or reject{which} and a reason."


def _always(words: str, rules: Sequence[str]) -> str:
    """Return what these words also add."""
    named = " and ".join(f'"{one_line(rule)}"' for rule in rules)
    return f", {words} to also add the {'rule' if len(rules) == 1 else 'rules'} {named}"


def diff_lines(diff: str) -> Iterator[str]:
    """Return a unified diff with a word and the line number in front of each line."""
    old = new = hunk = 0
    for line in diff.split("\n"):
        if (found := _HUNK.match(line)) is not None:
            old, new, hunk = int(found[1]), int(found[2]), hunk + 1
            yield f"hunk {hunk}, from line {new}"
        elif not hunk or line.startswith("\\"):
            continue
        elif line.startswith("-"):
            yield f"remove {old}: {show(line[1:])}"
            old += 1
        elif line.startswith("+"):
            yield f"add {new}: {show(line[1:])}"
            new += 1
        elif line:
            yield f"same {new}: {show(line[1:])}"
            old, new = old + 1, new + 1


def at(waiting: Sequence[ProposalOpened], number: int) -> ProposalOpened:
    """Return the proposal of a number that was printed. Raises RundryError."""
    if not 1 <= number <= len(waiting):
        raise RundryError(f"there is no proposal {number}: {plural(len(waiting), 'proposal')} waiting")
    return waiting[number - 1]
