"""Interpret the texts of an edit: as they are, or without copied line numbers, code fences or escapes. Does no I/O."""

from __future__ import annotations

import json
import re
from collections.abc import Generator

import msgspec

from .indentation import Refused
from .lines import unified
from .numbers import without_numbers

_FENCED = re.compile(r"\s*(```|~~~)[^\n`]*\n(.*?\n|)[ \t]*\1\s*", re.DOTALL)
_FENCE_LINE = re.compile(r"\s*(```|~~~)")


class Reading(msgspec.Struct, frozen=True):
    """One interpretation of an old and a new text; both have LF endings."""

    old: str
    new: str | Refused
    """Refused: the new text cannot be interpreted like the old one."""
    note: str | None = None
    """What the texts had that the file lacks."""
    strict: bool = False
    """The place must have exactly this indentation."""
    row: int | None = None
    """The only row where the text may begin, if its numbers are not certainly line numbers."""


def readings(old: str, new: str) -> Generator[Reading]:
    """Yield the texts as they are, then without line numbers, code fences and escapes."""
    old, new = unified(old), unified(new)
    yield Reading(old, new)
    for bare, fresh, row in without_numbers(old, new):
        yield Reading(bare, fresh, "line numbers that are not in the file", strict=True, row=row)
    if fenced := _FENCED.fullmatch(old):
        yield Reading(fenced[2], _unfenced_like(fenced[2], new), "code fences that are not in the file")
    if "\\" in old and "\n" not in old and (bare := _unescaped(old)) is not None and "\n" in bare:
        yield Reading(bare, _unescaped_like(bare, new), "escaped line breaks that are not in the file")


def _unfenced_like(old: str, new: str) -> str | Refused:
    """Return the new text without a code fence; `old` has lost its own."""
    inner = _FENCED.fullmatch(new)
    if _has_fence_at_an_end(old if inner else new):
        return Refused("old_text is in a code fence, and so may new_text be. Send both without the fence.")
    return inner[2] if inner else new


def _has_fence_at_an_end(text: str) -> bool:
    lines = text.strip("\n").split("\n")
    return any(_FENCE_LINE.match(line) for line in (lines[0], lines[-1]))


def _unescaped(text: str) -> str | None:
    """Return the text with its escapes resolved; None: it is not an escaped text."""
    if "\n" in text:
        return None
    try:
        read: object = json.loads(f'"{text}"' if re.search(r'(?<!\\)"', text) is None else json.dumps(None))
    except ValueError:
        return None
    return read if isinstance(read, str) else None


def _unescaped_like(old: str, new: str) -> str | Refused:
    """Return the new text, unescaped if the lines that it shares with the old one show that it was escaped."""
    if "\\" not in new:
        return new
    bare = _unescaped(new)
    known = {line.strip() for line in old.split("\n")} - {""}
    if bare is not None and "\n" in bare and any(line.strip() in known for line in bare.split("\n")):
        return bare
    return Refused("old_text has its line breaks escaped, and new_text may have. Send both with real line breaks.")
