"""Mistakes of whole lines: copied line numbers, line endings, blank lines."""

from __future__ import annotations

import random

from .intents import Intent, is_once
from .texts import Edits, Kind, Texts


def numbers(form: str, which: str = "both", *, start: int | None = None) -> Kind:
    def send(texts: Texts, rng: random.Random) -> Edits:
        first = texts.intent.first + 1 if start is None else start

        def number(rows: list[str]) -> list[str]:
            return [form.format(first + k) + row for k, row in enumerate(rows)]

        old = number(texts.old) if which != "new" else texts.old
        new = number(texts.new) if which != "old" else texts.new
        return texts.sent(old, new)

    return send


def stale_numbers(texts: Texts, rng: random.Random) -> Edits:
    """Kept rows keep their numbers, and new rows have none."""
    first = texts.intent.first + 1
    new = [f"{first + row.origin}| {row.text}" if row.origin is not None else row.text for row in texts.intent.new]
    return texts.sent([f"{first + k}| {row}" for k, row in enumerate(texts.old)], new)


def endings(texts: Texts, rng: random.Random) -> Edits:
    ((old, new),) = texts.sent()
    return [(old.replace("\n", "\r\n"), new.replace("\n", "\r\n"))]


def mixed_endings(texts: Texts, rng: random.Random) -> Edits:
    ((old, new),) = texts.sent()
    one, other = rng.choice([("\r\n", "\n"), ("\n", "\r\n")])
    return [(old.replace("\n", one), new.replace("\n", other))]


def own_endings(texts: Texts, rng: random.Random) -> Edits:
    """The old text with the endings of the file, the new one with LF."""
    intent = texts.intent
    ends = intent.source.ends[intent.first : intent.first + len(texts.old)]
    old = "".join(row + end for row, end in zip(texts.old, ends, strict=True))
    new = "\n".join(texts.new) + ("\n" if ends[-1] and texts.new else "")
    return [(old, new)]


def no_end(which: str) -> Kind:
    def send(texts: Texts, rng: random.Random) -> Edits | None:
        if not texts.new or not texts.new[-1].strip():
            return None
        old, new = "\n".join(texts.old), "\n".join(texts.new)
        return [(old + "\n", new)] if which == "new" else [(old, new + "\n")]

    return send


def near_blank(intent: Intent) -> bool:
    """Whether the rows have a blank row next to them, or are not the only ones: the old text may mean others."""
    rows, after = intent.source.rows, intent.first + len(intent.old)
    if not is_once(rows, intent.old):
        return True
    return not all(row.strip() for row in [*rows[max(0, intent.first - 1) : intent.first], *rows[after : after + 1]])


def blank_edges(which: str) -> Kind:
    def send(texts: Texts, rng: random.Random) -> Edits | None:
        if not texts.new or not texts.new[0].strip() or not texts.new[-1].strip() or near_blank(texts.intent):
            return None
        head, tail = rng.choice([("\n", ""), ("", "\n"), ("\n", "\n"), ("\n\n", "\n")])
        ((old, new),) = texts.sent()
        if not new:
            return None
        end = "" if texts.end else "\n"
        old = head + old + (end + tail if tail else "")
        return [(old, head + new + (end + tail if tail else "") if which == "both" else new)]

    return send


def blank_inside(texts: Texts, rng: random.Random) -> Edits | None:
    at = rng.randrange(1, len(texts.old)) if len(texts.old) > 1 else 0
    return texts.sent([*texts.old[:at], "", *texts.old[at:]]) if at else None


def no_blanks(texts: Texts, rng: random.Random) -> Edits | None:
    rows = [row for row in texts.old if row.strip()]
    return None if rows == texts.old else texts.sent(rows, [row for row in texts.new if row.strip()])


def lead(which: str) -> Kind:
    def send(texts: Texts, rng: random.Random) -> Edits | None:
        ((old, new),) = texts.sent()
        if not new or not texts.new[0].strip():
            return None
        return [("\n" + old, "\n" + new if which == "both" else new)]

    return send
