"""Compile patterns as in a `.gitignore`. pathspec reads some `[...]` in another way than git: they are rewritten."""

from __future__ import annotations

import re
import string
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec
    from pathspec.patterns.gitignore.spec import GitIgnoreSpecPattern

_CLASSES = {
    "alnum": string.ascii_letters + string.digits,
    "alpha": string.ascii_letters,
    "blank": " \t",
    "cntrl": "".join(map(chr, (*range(32), 127))),
    "digit": string.digits,
    "graph": "".join(map(chr, range(33, 127))),
    "lower": string.ascii_lowercase,
    "print": "".join(map(chr, range(32, 127))),
    "punct": string.punctuation,
    "space": " \t\n\v\f\r",
    "upper": string.ascii_uppercase,
    "xdigit": string.hexdigits,
}
_PARTS = re.compile(r"\\.|\[|[^\\\[]+|\\", re.DOTALL)
_CLASS = re.compile(r"\[:([^]]*):]")
_SPECIAL = "\\[^!-"
"""What must not come first between brackets; `-` must come last."""
_NEVER = "\0"
"""A character that no path has."""


def git_spec(lines: Iterable[str]) -> GitIgnoreSpec:
    """Compile patterns. One that matches nothing in git is left out, as git skips it."""
    from pathspec import GitIgnoreSpec  # ~20 ms

    return GitIgnoreSpec([pattern for line in lines for pattern in _compiled(line) or ()])


def is_pattern(line: str) -> bool:
    """Return whether git would not skip this pattern."""
    return _compiled(line) is not None


@lru_cache(maxsize=4_096)
def _compiled(line: str) -> Sequence[GitIgnoreSpecPattern] | None:
    from pathspec import GitIgnoreSpec

    try:
        return tuple(GitIgnoreSpec.from_lines([with_plain_brackets(line)]).patterns)
    except ValueError:
        return None


def with_plain_brackets(line: str) -> str:
    """Return a pattern of a `.gitignore` that pathspec reads as git (`wildmatch.c`) reads this one.

    Raise ValueError for a pattern that matches nothing in git.
    """
    if "[" not in line:
        return line
    text, position, has_slash = "", 0, False
    while position < len(line):
        part = _PARTS.match(line, position)
        assert part is not None
        if part[0] == "[":
            end, brackets = _plain(line, position + 1)
            has_slash |= "/" in line[position:end]
            text, position = text + brackets, end
        else:
            text, position = text + part[0], part.end()
    sign, path = ("!", text[1:]) if text.startswith("!") else ("", text)
    # A slash anywhere but at the end binds a pattern to its folder.
    return f"{sign}/{path}" if has_slash and "/" not in path[:-1] else text


def _plain(line: str, position: int) -> tuple[int, str]:
    """Return where the brackets end whose text begins at the position, and what to write for them."""
    is_negated = line[position : position + 1] in ("!", "^") and position < len(line)
    position += is_negated
    ranges: list[tuple[str, str]] = []
    begin = ""
    """The character before a possible `-`."""
    first = True
    while first or _character(line, position) != "]":
        char, first = _character(line, position), False
        following = line[position + 1 : position + 2]
        if char == "-" and begin and following and following != "]":
            position += 1
            char, position = _escaped(line, position)
            ranges.append((begin, char))
            char = ""
        elif named := _CLASS.match(line, position):
            if named[1] not in _CLASSES:
                raise ValueError(f"git knows no class of characters named {named[1]}")
            ranges += [(each, each) for each in _CLASSES[named[1]]]
            char, position = "", named.end() - 1
        else:
            char, position = _escaped(line, position)
            ranges.append((char, char))
        begin = char
        position += 1
    return position + 1, _written(ranges, is_negated)


def _character(line: str, position: int) -> str:
    if position >= len(line):
        raise ValueError("the brackets do not end")
    return line[position]


def _escaped(line: str, position: int) -> tuple[str, int]:
    """Return the character that is meant at a position, and the position of its last character."""
    position += _character(line, position) == "\\"
    return _character(line, position), position


def _written(ranges: list[tuple[str, str]], is_negated: bool) -> str:
    """Return brackets for these ranges, never with `/`, which no brackets match.

    A range that falls has its first character, which git compares before it reads the `-`.
    """
    specials = set(map(ord, f"]/{_SPECIAL}"))
    cuts = sorted({0, 0x110000, *specials, *(each + 1 for each in specials), *_ends(ranges)})
    inside, marks = "", ""
    for start, after in pairwise(cuts):
        if start == 0 or any(ord(low) <= start <= ord(high) for low, high in ranges) == is_negated:
            continue
        if start in specials:
            marks += chr(start)
        else:
            inside += chr(start) if after == start + 1 else f"{chr(start)}-{chr(after - 1)}"
    first = "]" if "]" in marks else _NEVER
    return f"[{first}{inside}{''.join(char for char in _SPECIAL if char in marks)}]"


def _ends(ranges: list[tuple[str, str]]) -> set[int]:
    return {end for low, high in ranges if low <= high for end in (ord(low), ord(high) + 1)}
