"""Proposals at the gate in words, and the words that decide on them. Does not import textual."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rundry.agent import Decide, ProposalOpened, RebaseResult, RundryError, plural

from ..gate.decision.pending_decision import PendingDecision
from ..gate.words import body, may_always, name, notes
from ..keyboard.keymap import Keymap
from ..text import one_line, show

_HUNK = re.compile(r"@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@")
_VERBS = {
    "approve": "approve", "yes": "approve", "y": "approve", "reject": "reject", "no": "reject", "n": "reject",
    "always": "always", "again": "again", "mine": "mine", "show": "show", "reason": "reason",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the user typed at the gate."""

    verb: str
    number: int = 1
    """Number of the proposal, from 1."""
    hunks: tuple[int, ...] = ()
    """Numbers of the accepted hunks, from 1; empty: all of them."""
    text: str = ""
    """A reason."""


def parse_verdict(line: str) -> Verdict | None:
    """Read `approve`, `approve 2 hunks 1 3`, `reject too long`; None for a line that does not decide.

    Raises RundryError for hunks that are not numbers.
    """
    first, _, rest = line.strip().partition(" ")
    verb = _VERBS.get(first.lower())
    if verb is None:
        return None
    number, rest = _leading_number(rest.strip())
    if verb in ("reject", "reason"):
        return Verdict(verb, number, text=rest)
    words = rest.replace(",", " ").split()
    if words and words[0] in ("hunk", "hunks") and verb == "approve":
        if not words[1:] or not all(word.isdecimal() for word in words[1:]):
            raise RundryError("name the hunks by their numbers, for example: approve hunks 1 3")
        return Verdict(verb, number, tuple(int(word) for word in words[1:]))
    return Verdict(verb, number) if not words else None


def _leading_number(text: str) -> tuple[int, str]:
    first, _, rest = text.partition(" ")
    return (int(first), rest.strip()) if first.isdecimal() else (1, text)


def decision(verdict: Verdict, opened: ProposalOpened, digest: str, reason: str) -> Decide:
    """Return the command for a verdict on the proposal as it was printed. Raises RundryError."""
    reason = verdict.text or reason
    hunks: list[int] | None = None
    if verdict.hunks:
        if not all(1 <= number <= opened.hunks for number in verdict.hunks):
            raise RundryError(f"this proposal has {plural(opened.hunks, 'hunk')}: name them by their numbers, from 1")
        hunks = sorted({number - 1 for number in verdict.hunks})
    if verdict.verb == "always" and not may_always(opened):
        raise RundryError("this proposal cannot be allowed always: type approve or reject")
    named = {"always": "approve"}.get(verdict.verb, verdict.verb)
    return Decide(
        proposal_id=opened.proposal_id,
        digest=digest,
        verdict="part" if hunks is not None else _gate_verdict(named),
        hunks=hunks,
        reason=reason or None,
        always=verdict.verb == "always",
    )


def _gate_verdict(word: str):  # noqa: ANN202 - the literal is narrowed below
    match word:
        case "approve" | "reject" | "again" | "mine":
            return word
        case _:
            raise RundryError(f"{word}: type approve or reject")


def proposal_lines(opened: ProposalOpened, rebasing: RebaseResult | None, number: int, of: int) -> Iterator[str]:
    """Return everything that the user has to know to decide, then the words that decide."""
    count = f" {number} of {of}" if of > 1 else ""
    if opened.server is not None:
        yield f"Proposal{count}: {name(opened)}."
        yield from (f"{'arguments' if opened.name else 'change'}: {line}" for line in body(opened).split("\n"))
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
        yield f"{'Careful' if is_danger else 'Note'}: {note}"
    yield _ways(opened, rebasing, number if of > 1 else 0)


def _ways(opened: ProposalOpened, rebasing: RebaseResult | None, number: int) -> str:
    which = f" {number}" if number else ""
    if rebasing is not None and rebasing.conflict:
        return f"Type again{which} to ask the model again, mine{which} to keep your version, or reject{which}."
    hunks = f", approve{which} hunks 1 2 for some of them" if opened.hunks > 1 else ""
    always = f', always{which} to also add the rule "{one_line(opened.rule or "")}"' if may_always(opened) else ""
    return f"Type approve{which}{hunks}{always}, or reject{which} and a reason."


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
