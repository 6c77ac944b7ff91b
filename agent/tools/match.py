"""Where a block of text stands in a file: exactly, or, where that is nowhere, exactly once up to white space.

A tolerance is used only where it leaves one place, and it is always said (REQUIREMENTS 7.3). Pure.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import msgspec

from .text import LINE, lines_of

_NUMBERED = re.compile(r"\s*\d+(\||:|\t) ?")


class Place(msgspec.Struct, frozen=True):
    """The one place of the block."""

    start: int
    end: int
    """Characters, the end excluded."""
    new: str
    """What goes there: the new text, made to fit the place."""
    note: str | None = None
    """What was tolerated."""


class Several(msgspec.Struct, frozen=True):
    """It stands there more than once."""

    lines: list[int]
    """1-based, of the first line of each."""


def find(text: str, old: str, new: str, newline: str) -> Place | Several | None:
    """`newline` is the file's line ending (empty or `mixed`: that of the place). None: it is not there."""
    exact = _places(text, old)
    if len(exact) > 1:
        return Several([text.count("\n", 0, at) + 1 for at in exact])
    if exact:
        at = exact[0]
        return Place(at, at + len(old), _with_ending(new, newline or _ending(old)))
    return _find_lines(text, old, new, newline)


def _places(text: str, old: str) -> list[int]:
    """Where the text stands, overlaps included; at most twenty."""
    found: list[int] = []
    at = text.find(old)
    while at >= 0 and len(found) < 20:
        found.append(at)
        at = text.find(old, at + 1)
    return found


def _find_lines(text: str, old: str, new: str, newline: str) -> Place | Several | None:
    spans = [found.span() for found in LINE.finditer(text)]
    lines = lines_of(text)
    block = lines_of(old)
    for note, given, fresh, same in _tolerances(block, new):
        if not any(line.strip() for line in given):
            continue
        at = _where(lines, given, same)
        if len(at) > 1:
            return Several([i + 1 for i in at])
        if not at:
            continue
        first, last = at[0], at[0] + len(given) - 1
        fitted = _fitted(fresh, given, lines[first : last + 1], note)
        if fitted is None:
            continue
        start, bare_end, end = spans[first][0], spans[last][0] + len(lines[last]), spans[last][1]
        here = newline if newline not in ("", "mixed") else _ending(text[start:end])
        body = _with_ending(fitted, here)
        if not old.endswith(("\n", "\r")) or len(given) < len(block):
            end = bare_end
        elif end == bare_end:  # the file's last line has no ending, and gets none
            body = re.sub(r"(\r\n|\n|\r)\Z", "", body)
        return Place(start, end, body, note)
    return None


_Same = Callable[[str, str], bool]
_Tolerance = tuple[str, list[str], str, _Same]


def _tolerances(block: list[str], new: str) -> list[_Tolerance]:
    """What is tried one after the other: what is said of it, the block's lines, the new text, when lines are equal."""
    tries: list[_Tolerance] = [("line endings", block, new, _equal)]
    tries.append(("white space at the ends of lines", block, new, _equal_right))
    if block and all(_NUMBERED.match(line) for line in block if line.strip()):
        bare = [_NUMBERED.sub("", line, count=1) for line in block]
        fresh = new
        if all(_NUMBERED.match(line) for line in lines_of(new) if line.strip()):
            fresh = "".join(_NUMBERED.sub("", line, count=1) for line in LINE.findall(new))
        tries.append(("line numbers that are not in the file", bare, fresh, _equal_right))
    inner = _without_blank_edges(block)
    if inner != block:
        tries.append(("blank lines around the block", inner, new.strip("\r\n"), _equal_right))
    tries.append(("the indentation", inner, new if inner == block else new.strip("\r\n"), _equal_inside))
    return tries


def _equal(line: str, given: str) -> bool:
    return line == given


def _equal_right(line: str, given: str) -> bool:
    return line.rstrip() == given.rstrip()


def _equal_inside(line: str, given: str) -> bool:
    return line.strip() == given.strip()


def _where(lines: Sequence[str], block: Sequence[str], same: _Same) -> list[int]:
    last = len(lines) - len(block)
    return [
        i
        for i in range(last + 1)
        if same(lines[i], block[0]) and all(same(lines[i + k], block[k]) for k in range(1, len(block)))
    ]


def _without_blank_edges(block: list[str]) -> list[str]:
    first = next((i for i, line in enumerate(block) if line.strip()), 0)
    last = next((i for i in range(len(block) - 1, -1, -1) if block[i].strip()), -1)
    return block[first : last + 1]


def _fitted(new: str, given: Sequence[str], found: Sequence[str], note: str) -> str | None:
    """The new text, indented as the place is; None where the indentations differ in more than one way."""
    if note != "the indentation":
        return new
    shifts = {_shift(_indent(line), _indent(wanted)) for line, wanted in zip(found, given, strict=True) if line.strip()}
    shift = shifts.pop() if len(shifts) == 1 else None
    if shift is None:
        return None
    added, removed = shift
    out: list[str] = []
    for line in LINE.findall(new):
        if not line.strip():
            out.append(line)
        elif line.startswith(removed):
            out.append(added + line[len(removed) :])
        else:
            return None
    return "".join(out)


def _indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]


def _shift(real: str, given: str) -> tuple[str, str] | None:
    """What to put before a line and what to take away there, so that `given` becomes `real`."""
    if real.endswith(given):
        return real[: len(real) - len(given)], ""
    if given.endswith(real):
        return "", given[: len(given) - len(real)]
    return None


def _ending(text: str) -> str:
    found = re.search(r"\r\n|\n|\r", text)
    return found[0] if found else ""


def _with_ending(text: str, newline: str) -> str:
    """All line endings of the text become the file's; a text for a mixed file stays as it is."""
    if newline in ("", "mixed"):
        return text
    return re.sub(r"\r\n|\n|\r", newline, text)
