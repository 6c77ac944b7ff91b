"""Both texts of an edit, and how a mistake is made in their rows."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from .intents import Intent, indent_of

Edits = list[tuple[str, str]]


@dataclass(frozen=True)
class Texts:
    """The rows of both texts, and the line break at the end of both."""

    intent: Intent
    old: list[str]
    new: list[str]
    end: str

    def sent(self, old: Sequence[str] | None = None, new: Sequence[str] | None = None) -> Edits:
        """One edit of rows; without a new row the new text is empty."""
        old, new = self.old if old is None else old, self.new if new is None else new
        return [("\n".join(old) + self.end, "\n".join(new) + self.end if new else "")]


Kind = Callable[[Texts, random.Random], "Edits | None"]


def texts_of(intent: Intent, rng: random.Random) -> Texts:
    """The texts without a mistake."""
    return Texts(intent, intent.old, [row.text for row in intent.new], rng.choice(["", "\n"]))


def common(rows: Sequence[str]) -> str:
    """The white space that all rows with content begin with."""
    indents = [indent_of(row) for row in rows if row.strip()]
    while indents and indents[0] and not all(indent.startswith(indents[0]) for indent in indents):
        indents[0] = indents[0][:-1]
    return indents[0] if indents else ""


def cut(rows: Sequence[str], white: str) -> list[str]:
    return [row[len(white) :] if row.startswith(white) else row.lstrip(" \t") for row in rows]


def each(rows: Sequence[str], change: Callable[[str], str]) -> list[str]:
    return [change(row) if row.strip() else row for row in rows]


def sides(texts: Texts, change: Callable[[list[str]], list[str]], which: str = "both") -> Edits | None:
    old = change(texts.old) if which != "new" else texts.old
    new = change(texts.new) if which != "old" else texts.new
    return None if (old, new) == (texts.old, texts.new) else texts.sent(old, new)


def can_be_seen(texts: Texts, change: Callable[[list[str]], list[str]]) -> bool:
    """Whether the first row, or one that was there before, is changed in the new text."""
    if texts.intent.name == "delete":  # the same as taking rows out of a block whose first row is deleted
        return False
    known = {row.strip() for row in texts.old} if any(map(indent_of, texts.old)) else set[str]()
    pairs = list(zip(texts.new, change(texts.new), strict=True))
    return any(row != sent and (k == 0 or row.strip() in known) for k, (row, sent) in enumerate(pairs))


def rows(change: Callable[[list[str]], list[str]], which: str = "both") -> Kind:
    """A mistake in rows that have what it changes; in a new text alone it has to show."""

    def send(texts: Texts, rng: random.Random) -> Edits | None:
        if change(texts.old) == texts.old or (which == "new" and not can_be_seen(texts, change)):
            return None
        return sides(texts, change, which)

    return send
