"""Explain how the indentation that a model sent relates to that of the file. Does no I/O.

An explanation maps the indentation of a sent line to that of the file. Every explanation that fits the old text is
tried on the new text, and only results that agree count.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from .block_lines import BlockLine

_WIDTHS = (2, 3, 4, 8)


class Shift(msgspec.Struct, frozen=True):
    """The same white space is missing from, or was added to, the beginning of each line."""

    add: str = ""
    drop: str = ""

    def place(self, indent: str, first: bool) -> str | None:
        """Return the indentation in the file, or None if the explanation does not fit this line."""
        return self.add + indent[len(self.drop) :] if indent.startswith(self.drop) else None


class FirstOnly(msgspec.Struct, frozen=True):
    """Only the first line lacks its indentation."""

    add: str

    def place(self, indent: str, first: bool) -> str | None:
        """Return the indentation in the file."""
        return self.add + indent if first else indent


class Steps(msgspec.Struct, frozen=True):
    """Each level of `sent` white space is a level of `real` white space in the file, which has `more` levels."""

    sent: str
    real: str
    more: int = 0

    def place(self, indent: str, first: bool) -> str | None:
        """Return the indentation in the file, or None if the explanation does not fit this line."""
        levels, rest = divmod(len(indent), len(self.sent))
        if rest or indent != self.sent * levels or levels + self.more < 0:
            return None
        return self.real * (levels + self.more)


Explanation = Shift | FirstOnly | Steps


def unit_of(rows: Sequence[str]) -> int:
    """Return the spaces of one level: the most frequent step to a deeper line, else 4."""
    depths = [len(row) - len(row.lstrip(" ")) for row in rows if row.strip()]
    steps = Counter(after - before for before, after in pairwise(depths) if after - before in _WIDTHS)
    return steps.most_common(1)[0][0] if steps else 4


def explanations(
    sent: Sequence[BlockLine], real: Sequence[BlockLine], fresh: Sequence[BlockLine], unit: int
) -> list[Explanation]:
    """Return explanations that map the sent lines' indentation to the file's; empty if there is none.

    `sent` and `real` have the same length; blank lines are ignored. `fresh` is the new text, and `unit` the spaces of
    one level in the file.
    """
    pairs = [(given.indent, found.indent) for given, found in zip(sent, real, strict=True) if found.body]
    shift = _shift(*pairs[0])
    known: list[Explanation] = [] if shift is None else [shift]
    given, found = pairs[0]
    if found.endswith(given) and found != given and all(other == real for other, real in pairs[1:]):
        known.append(FirstOnly(found[: len(found) - len(given)]))
    narrow = any(len(line.indent) % unit for line in [*sent, *fresh] if line.body and "\t" not in line.indent)
    known += _steps(pairs, unit, narrow=narrow)
    return [each for each in known if _fits(each, pairs)]


def _fits(explanation: Explanation, pairs: Sequence[tuple[str, str]]) -> bool:
    return all(explanation.place(given, k == 0) == found for k, (given, found) in enumerate(pairs))


def _shift(given: str, found: str) -> Shift | None:
    if found.endswith(given):
        return Shift(add=found[: len(found) - len(given)])
    if given.endswith(found):
        return Shift(drop=given[: len(given) - len(found)])
    return None


def _steps(pairs: Sequence[tuple[str, str]], unit: int, *, narrow: bool) -> list[Explanation]:
    """Explain tabs for spaces, spaces for tabs, and other level widths. The file never has fewer levels than sent."""
    units = [(" " * width, "\t") for width in _WIDTHS] + [("\t", " " * unit)]
    if narrow or len({given for given, _ in pairs}) > 1:
        units += [(" " * width, " " * unit) for width in _WIDTHS if width != unit]
    given, found = pairs[0]
    return [
        Steps(sent, real, more)
        for sent, real in units
        if not len(given) % len(sent) and not len(found) % len(real)
        if (more := len(found) // len(real) - len(given) // len(sent)) >= 0
    ]
