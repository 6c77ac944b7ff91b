"""Steps as the windows compare them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from ...protocol.text.shorten_text import end_cut, line_cut
from .signature import LABEL, canonical, digest, plain_words, readable, without_volatile

if TYPE_CHECKING:
    from ...protocol import StallKind
    from .observation import Call


@dataclass(frozen=True, slots=True)
class Symptom:
    """A symptom of a stall: a window is full, or will be with the next step."""

    kind: StallKind
    key: str
    """Two symptoms with the same kind and key are the same stall."""
    signature: str
    full: bool = True


@dataclass(frozen=True, slots=True)
class Entry:
    """The part of a step that is compared with other steps."""

    key: str
    label: str
    kind: Literal["tool", "note", "text", "empty"]
    failed: bool = False


@dataclass(slots=True)
class Poll:
    """Equal calls in a row that only look at something, with the times of the first and the newest in seconds."""

    key: str
    label: str
    since: float
    until: float
    count: int = 1


def count_in_a_row(entries: Sequence[Entry]) -> int:
    """Return how many of the newest entries are equal."""
    count = 0
    for entry in reversed(entries):
        if entry.key != entries[-1].key:
            break
        count += 1
    return count


def distinct_calls(calls: Sequence[Call]) -> list[tuple[str, Call]]:
    """Remove repeated calls, because equal calls of one step count once."""
    keyed = {digest(c.action, canonical(c.arguments), without_volatile(c.result), str(c.ok)): c for c in calls}
    return list(keyed.items())


def entry_of_plans(calls: Sequence[Call]) -> Entry:
    """Return the entry of a step with only plans or notes; repeating the same plan is a monologue."""
    words = plain_words(" ".join(canonical(call.arguments) for call in calls))
    return Entry(digest("note", words), readable(calls[0].action, calls[0].arguments), "note")


def entry_of(calls: Sequence[tuple[str, Call]], text: str) -> Entry:
    """Return the entry of a step with tool calls, else of its text."""
    if calls:
        label = ", ".join(readable(call.action, call.arguments) for _, call in calls)
        failed = all(not call.ok for _, call in calls)
        return Entry(digest(*sorted(key for key, _ in calls)), end_cut(label, LABEL), "tool", failed)
    words = plain_words(text)
    if not words:
        return Entry("empty", "an empty answer", "empty")
    return Entry(digest("text", words), line_cut(text, LABEL), "text")
