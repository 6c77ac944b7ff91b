"""What an edit is meant to do to some rows of a file."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from .files import Source

_NAME = re.compile(r"[A-Za-z_]{3,}")
_SNIPPETS = (
    "checked = verify({0})", 'log.debug("value {0}")', "<li>entry {0}</li>", "- entry {0}", "key_{0}: value",
    "color: rgb({0}, 0, 0);", "call_{0}(a, b);", "# remark {0}", "import module_{0}", "word {0} of a sentence.",
)  # fmt: skip
_HEADERS = (
    "if ready_{0}:",
    "for each_{0} in items:",
    "if (ready_{0}) {{",
    "<div id=x{0}>",
    "key_{0}:",
    "def made_{0}():",
)


@dataclass(frozen=True)
class New:
    """A row that is there afterwards, and which old row it is, if it is one."""

    text: str
    origin: int | None = None


@dataclass(frozen=True)
class Intent:
    """The rows from `first` on become other rows."""

    source: Source
    name: str
    first: int
    old: list[str]
    new: list[New]

    def right(self, rows: Sequence[str], ends: Sequence[str]) -> bool:
        """Whether these are the rows and endings that were meant."""
        source, before, after = self.source, self.first, self.first + len(self.old)
        stop = before + len(self.new)
        if list(rows[:before]) != source.rows[:before] or list(rows[stop:]) != source.rows[after:]:
            return False
        if not all(map(self._is, self.new, rows[before:stop])):
            return False
        wanted = [
            *({end} for end in source.ends[:before]),
            *(self._endings(row) for row in self.new),
            *({end} for end in source.ends[after:]),
        ]
        if not source.ends[-1] and after == len(source.rows) and wanted:
            wanted[-1] = {"", *source.ends[-2:]}  # the last row of the file may get a line break, or lose it
            wanted = [{source.ends[0]} if each == {""} else each for each in wanted[:-1]] + wanted[-1:]
        return len(ends) == len(wanted) and all(end in each for end, each in zip(ends, wanted, strict=True))

    def _is(self, wanted: New, row: str) -> bool:
        """A new or blank row may lack or have white space at its end if an old one has it."""
        if (wanted.origin is None or not row.strip()) and any(old.endswith((" ", "\t")) for old in self.old):
            return row.rstrip(" \t") == wanted.text.rstrip(" \t")
        return row == wanted.text

    def _endings(self, row: New) -> set[str]:
        """Its own ending for a kept row, one of those near it for a new row."""
        if row.origin is not None:  # of equal rows next to each other, any may be the one that is kept
            return {self.source.ends[self.first + k] for k in self._alike(row.origin)}
        return set(self.source.ends[max(0, self.first - 1) : self.first + len(self.old) + 1])

    def _alike(self, at: int) -> range:
        """The old rows around this one that have its text."""
        first, last = at, at
        while first > 0 and self.old[first - 1] == self.old[at]:
            first -= 1
        while last + 1 < len(self.old) and self.old[last + 1] == self.old[at]:
            last += 1
        return range(first, last + 1)


def intent(rng: random.Random, source: Source) -> Intent | None:
    """A change of a few rows that are in the file once, or None if none was found in this file."""
    for _ in range(20):
        count = rng.choice([1, 1, 1, 2, 2, 3, 3, 4, 5, 6, 8])
        first = rng.randrange(len(source.rows))
        if rng.random() < 0.1:
            first = len(source.rows) - count
        old = source.rows[first : first + count]
        if first < 0 or len(old) < count or not old[0].strip() or not old[-1].strip():
            continue
        if not re.search(r"\w{3}", "".join(old)) or (rng.random() < 0.9 and not is_once(source.rows, old)):
            continue
        name = rng.choices([*INTENTS], [weight for weight, _ in INTENTS.values()])[0]
        new = INTENTS[name][1](rng, source, first, old)
        if new and not new[-1].text and not source.ends[-1]:
            continue  # a blank last row without an ending is not a row
        if new is not None and [row.text for row in new] != old:
            return Intent(source, name, first, old, new)
    return None


def is_once(rows: Sequence[str], old: Sequence[str]) -> bool:
    """Whether the rows are in the file once, without regard to white space."""
    bare, block = [row.strip() for row in rows], [row.strip() for row in old]
    return sum(bare[k : k + len(block)] == block for k in range(len(bare))) == 1


def indent_of(row: str) -> str:
    """The white space that a row begins with."""
    return row[: len(row) - len(row.lstrip(" \t"))]


def unit_of(source: Source) -> str:
    """One level of indentation."""
    indents = [indent_of(row) for row in source.rows if row.strip()]
    if any("\t" in indent for indent in indents):
        return "\t"
    return "  " if any(len(indent) % 4 == 2 for indent in indents) else "    "


def _kept(old: Sequence[str]) -> list[New]:
    return [New(row, k) for k, row in enumerate(old)]


def _fresh(rng: random.Random, indent: str, forms: Sequence[str] = _SNIPPETS) -> New:
    return New(indent + rng.choice(forms).format(rng.randrange(1000, 9999)))


def _change(rng: random.Random, source: Source, first: int, old: list[str]) -> list[New] | None:
    new = _kept(old)
    for at in {rng.randrange(len(old)), rng.randrange(len(old))}:
        found = list(_NAME.finditer(old[at]))
        if not found:
            return None
        word = rng.choice(found)
        rest = old[at][word.end() :].rstrip(" \t")
        text = f"{old[at][: word.start()]}renamed{rng.randrange(99)}{rest}"
        new[at] = New(text)
    return new


def _insert(rng: random.Random, source: Source, first: int, old: list[str]) -> list[New]:
    at = rng.randrange(len(old) + 1)
    indent = indent_of(old[min(at, len(old) - 1)] or old[0])
    count = rng.choice([1, 1, 2, 3])
    return [*_kept(old)[:at], *(_fresh(rng, indent) for _ in range(count)), *_kept(old)[at:]]


def _insert_nested(rng: random.Random, source: Source, first: int, old: list[str]) -> list[New]:
    indent = indent_of(old[-1])
    return [*_kept(old), _fresh(rng, indent, _HEADERS), _fresh(rng, indent + unit_of(source))]


def _insert_spaced(rng: random.Random, source: Source, first: int, old: list[str]) -> list[New]:
    indent = indent_of(old[-1])
    return [*_kept(old), New(""), _fresh(rng, indent), New("")]


def _delete(rng: random.Random, source: Source, first: int, old: list[str]) -> list[New] | None:
    at = rng.randrange(len(old))
    return None if len(old) < 2 else [row for row in _kept(old) if row.origin != at]


def _remove(rng: random.Random, source: Source, first: int, old: list[str]) -> list[New]:
    return []


def _replace(rng: random.Random, source: Source, first: int, old: list[str]) -> list[New]:
    return [_fresh(rng, indent_of(old[0])) for _ in range(rng.choice([1, 2, len(old)]))]


def _replace_nested(rng: random.Random, source: Source, first: int, old: list[str]) -> list[New]:
    indent = indent_of(old[0])
    return [_fresh(rng, indent, _HEADERS), _fresh(rng, indent + unit_of(source)), _fresh(rng, indent)]


def _wrap(rng: random.Random, source: Source, first: int, old: list[str]) -> list[New] | None:
    unit = unit_of(source)
    deeper = [New(unit + row if row.strip() else row) for row in old]
    return [_fresh(rng, indent_of(old[0]), _HEADERS), *deeper]


def _unwrap(rng: random.Random, source: Source, first: int, old: list[str]) -> list[New] | None:
    base, rest = indent_of(old[0]), old[1:]
    inner = min((indent_of(row) for row in rest if row.strip()), key=len, default=base)
    if len(inner) <= len(base) or not all(row.startswith(inner) or not row.strip() for row in rest):
        return None
    return [New(base + row[len(inner) :] if row.strip() else row) for row in rest]


def _deeper(rng: random.Random, source: Source, first: int, old: list[str]) -> list[New]:
    unit = unit_of(source)
    return [New(unit + row if row.strip() else row) for row in old]


def _top_level(rng: random.Random, source: Source, first: int, old: list[str]) -> list[New] | None:
    """A new function behind the last one, at the left margin."""
    below = next((row for row in source.rows[first + len(old) :] if row.strip()), "")
    if indent_of(below):
        return None
    return [*_kept(old), New(""), _fresh(rng, "", _HEADERS), _fresh(rng, unit_of(source))]


INTENTS: dict[str, tuple[int, Callable[[random.Random, Source, int, list[str]], list[New] | None]]] = {
    "change": (40, _change),
    "insert": (15, _insert),
    "insert nested": (5, _insert_nested),
    "insert with blank lines": (3, _insert_spaced),
    "delete": (8, _delete),
    "remove all": (4, _remove),
    "replace": (8, _replace),
    "replace nested": (4, _replace_nested),
    "wrap": (6, _wrap),
    "unwrap": (3, _unwrap),
    "indent": (2, _deeper),
    "top level": (3, _top_level),
}
