"""Count repetitions in windows of recent steps, with the limits of `tests/budget/stall.json`.

Counting starts again after each message of a person, each change of the workspace, and each hint.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ...protocol.text.counts import plural
from ...protocol.text.shorten_text import end_cut
from .signature import LABEL, canonical, digest, readable, without_volatile
from .step_entries import Entry, Poll, Symptom, count_in_a_row, distinct_calls, entry_of, entry_of_plans

if TYPE_CHECKING:
    from ...protocol import StallKind
    from .observation import Call, Observation

REFUSED = 3
"""Refused calls in a row that are a stall. The model gets a hint one call earlier."""
SAME_ERROR = 6
CYCLE_ROUNDS, CYCLE_LONGEST = 3, 5
OSCILLATION_WINDOW, OSCILLATION_DISTINCT, OSCILLATION_VISITS = 6, 2, 3
MONOLOGUE, EMPTY = 3, 3
WITHOUT_FACT, SCORE_ROUNDS = 14, 6
POLLS, POLL_SECONDS = 40, 900.0
DRY_ROUNDS = 2
_WORLDS, _FACTS = 1_000, 1_000
"""Most states of the workspace and most facts that are remembered; older ones are forgotten."""
_KEEP = CYCLE_ROUNDS * CYCLE_LONGEST
_SAYS_NOTHING = re.compile(r"(?:exit(?: code| status)?:? ?\d+|no output|error|failed|empty|\W)*", re.IGNORECASE)

_LONGEST_PIECE = 40
"""Most words of a piece that is searched for."""
_ROUNDS = 12
_LEAST_WORDS = 60
"""Fewest words of all repetitions together; the chorus of a song has fewer."""
_FENCE = re.compile(r"^(```|~~~).*?^\1\s*$|^(```|~~~).*\Z", re.MULTILINE | re.DOTALL)
_REPEATS_BY_NATURE = re.compile(r"^(?:\s*[|+>#]|\s*(?:[-*•]|\d+[.)])\s|\s*[-=_*~.]{3,}\s*$|    |\t)")
"""Rows of tables, entries of lists, rulers, headings, quotes, indented code."""


@dataclass(slots=True)
class Windows:
    """All windows of one conversation."""

    world: str | None = None
    window: int = 4
    """Number of equal actions and results in a row that is a stall (docs/requirements.md 4.3)."""
    entries: list[Entry] = field(default_factory=list[Entry])
    refused: dict[str, tuple[int, str]] = field(default_factory=dict[str, tuple[int, str]])
    errors: dict[str, tuple[str, int]] = field(default_factory=dict[str, tuple[str, int]])
    """Maps an action to its newest error and the number of times that it occurred in a row."""
    facts: dict[str, None] = field(default_factory=dict[str, None])
    """Digests of calls with their results, the newest last."""
    without_fact: int = 0
    visits: dict[str, int] = field(default_factory=dict[str, int])
    first_seen: dict[str, int | None] = field(default_factory=dict[str, int | None])
    """Maps each state of the workspace to the step after which it first occurred; the last one seen comes last."""
    returned_to: str | None = None
    score: float | None = None
    score_rounds: int = 0
    changed_since_score: bool = True
    poll: Poll | None = None
    dry: int = 0
    repeated_text: str | None = None
    changed_now: bool = False
    """Whether the newest step changed the workspace."""

    def __post_init__(self) -> None:
        if self.world is not None:
            self.visits[self.world] = 1
            self.first_seen[self.world] = None

    def clear(self) -> None:
        """Restart counting after a hint. Known facts and states of the workspace are kept."""
        self._clear_steps()
        self.visits = {} if self.world is None else {self.world: 1}
        self.returned_to = None
        self.score_rounds = 0
        self.dry = 0

    def forget(self) -> None:
        """Restart everything after a person's message."""
        self.clear()
        self.facts.clear()
        self.first_seen = {} if self.world is None else {self.world: None}
        self.score = None

    def add(self, seen: Observation) -> bool:
        """Add a step, and return whether it brought the workspace into a new state."""
        self.repeated_text = find_repetition(seen.text) if seen.text else None
        is_novel = self._update_world(seen)
        self._update_score(seen)
        if seen.new is not None:
            self.dry = self.dry + 1 if seen.new == 0 else 0
            if seen.new > 0:
                self._clear_steps()
        if not self.changed_now:
            self._add_step(seen)
        return is_novel

    def symptoms(self) -> Iterator[Symptom]:
        """Yield the full windows, the most specific first, then those that lack one step."""
        yield from self._full()
        yield from self._almost_full()

    def _clear_steps(self) -> None:
        self.entries.clear()
        self.refused.clear()
        self.errors.clear()
        self.without_fact = 0
        self.poll = None

    def _update_world(self, seen: Observation) -> bool:
        self.changed_now = False
        if seen.world is None or seen.world == self.world:
            return False
        self.changed_now = self.world is not None
        self.world = seen.world
        self.visits[seen.world] = self.visits.get(seen.world, 0) + 1
        self.returned_to = seen.world if self.visits[seen.world] >= OSCILLATION_VISITS else None
        is_novel = seen.world not in self.first_seen
        self.first_seen[seen.world] = self.first_seen.pop(seen.world, seen.step)
        if len(self.first_seen) > _WORLDS:
            oldest = next(iter(self.first_seen))
            del self.first_seen[oldest]
            self.visits.pop(oldest, None)
        self.changed_since_score = True
        if self.changed_now:
            self._clear_steps()
        return is_novel and self.changed_now

    def _update_score(self, seen: Observation) -> None:
        """Count a round without progress if the score is the same after a change of the workspace."""
        if seen.score is None:
            return
        if seen.score != self.score:
            self.score, self.score_rounds = seen.score, 1
        elif self.changed_since_score:
            self.score_rounds += 1
        self.changed_since_score = False

    def _add_step(self, seen: Observation) -> None:
        calls = distinct_calls(seen.calls)
        if calls and all(call.poll for _, call in calls):
            self._add_poll(calls[0], seen.at)
            return
        self.poll = None
        self._count_refusals(calls)
        self._count_errors(calls)
        notes = [call for _, call in calls if call.is_note]
        calls = [(key, call) for key, call in calls if not call.is_note]
        entry = entry_of_plans(notes) if notes and not calls else entry_of(calls, seen.text)
        self.entries.append(entry)
        del self.entries[: -max(_KEEP, self.window)]
        found = {key for key, call in calls if not call.refused}
        self.without_fact = 0 if found - self.facts.keys() else self.without_fact + 1
        for key in found:
            self.facts.pop(key, None)
            self.facts[key] = None
        for key in list(self.facts)[:-_FACTS]:
            del self.facts[key]

    def _add_poll(self, polled: tuple[str, Call], at: float) -> None:
        key, call = polled
        if self.poll is None or self.poll.key != key:
            self.poll = Poll(key, readable(call.action, call.arguments), at, at)
        else:
            self.poll.count += 1
            self.poll.until = at

    def _count_refusals(self, calls: Sequence[tuple[str, Call]]) -> None:
        for _, call in calls:
            if call.refused:
                asked = digest(call.action, canonical(call.arguments))
                count, _ = self.refused.get(asked, (0, ""))
                self.refused[asked] = (count + 1, readable(call.action, call.arguments))

    def _count_errors(self, calls: Sequence[tuple[str, Call]]) -> None:
        """Count equal errors in a row of one action with any arguments. A success of the action resets the count."""
        for action in {call.action for _, call in calls}:
            own = [call for _, call in calls if call.action == action and not call.refused]
            if any(call.ok for call in own):
                self.errors.pop(action, None)
            elif own:
                error = without_volatile(own[0].result)
                last, count = self.errors.get(action, ("", 0))
                self.errors[action] = (error, count + 1 if error == last else 1)

    def _full(self) -> Iterator[Symptom]:
        if self.repeated_text is not None:
            yield Symptom("chant", "chant", end_cut(self.repeated_text, LABEL))
        yield from self._refusals(REFUSED, full=True)
        if self.poll and (self.poll.count > POLLS or self.poll.until - self.poll.since > POLL_SECONDS):
            yield Symptom("poll", self.poll.key, self.poll.label)
        yield from self._repeats(full=True)
        for action, (error, count) in self.errors.items():
            if count >= max(SAME_ERROR, self.window) and not _SAYS_NOTHING.fullmatch(error):
                yield Symptom("same-error", digest(action, error), end_cut(f"{action}: {error}", LABEL))
        yield from self._cycles()
        yield from self._text_symptoms()
        if self.score_rounds >= SCORE_ROUNDS:
            changes = plural(self.score_rounds, "change")
            yield Symptom("stagnation", "score", f"the score is still {self.score:g} after {changes}")
        if self.without_fact >= max(WITHOUT_FACT, self.window):
            yield Symptom("stagnation", "facts", f"{plural(self.without_fact, 'step')} without a new result")

    def _almost_full(self) -> Iterator[Symptom]:
        yield from self._refusals(REFUSED - 1, full=False)
        yield from self._repeats(full=False)
        if len(self.entries) >= MONOLOGUE and all(entry.kind == "text" for entry in self.entries[-MONOLOGUE:]):
            yield Symptom("monologue", "talk", f"{MONOLOGUE} answers without a call", full=False)

    def _refusals(self, limit: int, *, full: bool) -> Iterator[Symptom]:
        for asked, (count, label) in self.refused.items():
            if count >= limit:
                yield Symptom("refused", asked, label, full)

    def _repeats(self, *, full: bool) -> Iterator[Symptom]:
        last = self.entries[-1] if self.entries else None
        if last is None or last.kind != "tool":
            return
        needed = self.window if full else max(2, self.window - 1)
        if count_in_a_row([entry for entry in self.entries if entry.kind == "tool"]) >= needed:
            yield Symptom("error" if last.failed else "repeat", last.key, last.label, full)

    def _cycles(self) -> Iterator[Symptom]:
        steps = [entry for entry in self.entries if entry.kind != "note"]
        keys = [entry.key for entry in steps]
        for length in range(2, CYCLE_LONGEST + 1):
            tail = keys[-length * CYCLE_ROUNDS :]
            piece = tail[:length]
            if len(tail) == length * CYCLE_ROUNDS and tail == piece * CYCLE_ROUNDS and len(set(piece)) > 1:
                yield self._round("cycle", steps[-length:])
                return
        if self.returned_to is not None:
            step = self.first_seen.get(self.returned_to)
            where = "an earlier state" if step is None else f"step {step}"
            yield Symptom("oscillation", f"world {self.returned_to}", f"the files are back at {where}")
        tail = steps[-OSCILLATION_WINDOW:]
        distinct = {entry.key for entry in tail}
        if len(tail) == OSCILLATION_WINDOW and 1 < len(distinct) <= OSCILLATION_DISTINCT:
            yield self._round("oscillation", list({entry.key: entry for entry in tail}.values()))

    def _round(self, kind: StallKind, entries: Sequence[Entry]) -> Symptom:
        key = digest(*sorted({entry.key for entry in entries}))
        return Symptom(kind, key, end_cut(" -> ".join(end_cut(entry.label, 40) for entry in entries), 160))

    def _text_symptoms(self) -> Iterator[Symptom]:
        last = self.entries[-1] if self.entries else None
        if last is not None and last.kind in ("text", "note") and count_in_a_row(self.entries) >= MONOLOGUE:
            yield Symptom("monologue", last.key, last.label)
        if last is not None and last.kind == "empty" and count_in_a_row(self.entries) >= EMPTY:
            yield Symptom("empty", "empty", "empty answers")


def find_repetition(text: str) -> str | None:
    """Return the piece that the answer repeats at least 12 times in a row outside code, tables and lists, or None."""
    prose = [line for line in _FENCE.sub("\n", text).splitlines() if not _REPEATS_BY_NATURE.match(line)]
    words = " ".join(prose).casefold().split()
    for length in range(1, min(_LONGEST_PIECE, len(words) // 2) + 1):
        end = _end_of_rounds(words, length)
        if end is not None:
            return " ".join(words[end - length : end])
    return None


def _end_of_rounds(words: list[str], length: int) -> int | None:
    """Return the position at which a piece of `length` words has enough repetitions in a row; None if there is none."""
    needed = max(_ROUNDS * length, _LEAST_WORDS) - length
    run = 0
    for i in range(length, len(words)):
        run = run + 1 if words[i] == words[i - length] else 0
        if run >= needed:
            return i + 1
    return None
