"""Remove line numbers that were copied from a tool's output into a replacement block. Does no I/O."""

from __future__ import annotations

import re
from collections.abc import Generator, Sequence
from functools import cache

from .indentation import UncertainBlock

_FRONTS = (r"[ \t]*L?(\d+)", r"[ \t]*\[(\d+)\]", r"[ \t]*(?:[Ll]ine )(\d+)", r"[^\s:]+:(\d+)")
_MARKS = (r" ?\|", r" ?│", r" ?→", r"\t", r":", r"\.", r"\)", r"-", r"", r" ?┃")
"""Separators that tools write between the number and the line; a space may follow."""
_CERTAIN = re.compile(r"[ \t]*L?(\d+)( ?[|│→┃]|\t)(.*)", re.DOTALL)
_ANY = re.compile(r"\s*(L|line |\[|[^\s:]+:)?\d", re.IGNORECASE)


@cache
def _forms() -> list[re.Pattern[str]]:
    """Compile the patterns at the first use, because that takes 7 ms."""
    return [
        re.compile(rf"{front}{mark}{gap}(.*)", re.DOTALL)
        for front in _FRONTS
        for mark in _MARKS
        for gap in ("", " ", "\t")
        if mark or gap
    ]


def without_numbers(old: str, new: str) -> Generator[tuple[str, str | UncertainBlock, int | None]]:
    """Yield both texts without numbers, for each way in which all lines of `old` are numbered in ascending order.

    There may be several ways: `12: x` may mean `x` or ` x`, and the file shows which. The third value is the row where
    the text must begin if the separator alone does not prove a line number.
    """
    lines = old.split("\n")
    if not all(_ANY.match(line) for line in lines if line.strip()):
        return
    seen: set[str] = set()
    for form in _forms():
        found = _stripped(form, lines)
        if found is None or found[0] in seen or not _ascends(found[1]):
            continue
        seen.add(found[0])
        numbers = [number for number in found[1] if number is not None]
        sure = len(numbers) > 1 or _CERTAIN.match(old) is not None
        yield found[0], _fresh(form, new, numbers), None if sure else numbers[0] - 1


def has_numbers(new: str) -> int | None:
    """Return the first number if all lines have ascending numbers in a form that only tools write."""
    found = _stripped(_CERTAIN, new.split("\n"))
    if found is None or not _ascends(found[1]):
        return None
    return next((number for number in found[1] if number is not None), None)


def _stripped(form: re.Pattern[str], lines: Sequence[str]) -> tuple[str, list[int | None]] | None:
    """Return the lines without numbers, and the numbers, or None if a line with content has none."""
    out: list[str] = []
    numbers: list[int | None] = []
    for line in lines:
        found = form.fullmatch(line) or form.fullmatch(line + " ")
        if found is None and line.strip():
            return None
        out.append(line if found is None else found[form.groups])
        numbers.append(None if found is None else int(found[1]))
    return "\n".join(out), numbers


def _ascends(numbers: Sequence[int | None]) -> bool:
    """Return whether each number is one more than the one before, counting blank lines."""
    offsets = {number - k for k, number in enumerate(numbers) if number is not None}
    return len(offsets) == 1


def _fresh(form: re.Pattern[str], new: str, numbers: Sequence[int]) -> str | UncertainBlock:
    """Return the new text without its numbers: either all of its lines have numbers, or none."""
    lines = new.split("\n")
    words = [line for line in lines if line.strip()]
    found = [each for line in words if (each := form.fullmatch(line)) is not None]
    if not found or not words:
        if len(words) > 1 and all(_ANY.match(line) for line in words):
            return UncertainBlock(_MIXED)
        return new
    theirs = [int(each[1]) for each in found]
    near = numbers[0] - 1 <= theirs[0] <= numbers[-1] + 1
    if len(found) < len(words) or theirs != sorted(theirs) or not near:
        return UncertainBlock(_MIXED)
    stripped = _stripped(form, lines)
    return UncertainBlock(_MIXED) if stripped is None else stripped[0]


_MIXED = "old_text has line numbers, and in new_text they cannot be told from content. Send both without line numbers."
