"""Read a score (the last number on the last line of an output), and compare scores (docs/requirements.md 2.7)."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from statistics import median

import msgspec

from ...protocol import Better
from ...protocol.text.shorten_text import end_cut

_NUMBER = re.compile(
    r"(?<![\w.])(?:[-+]?\s?(?P<inf>inf(?:inity)?)\b|(?P<nan>nan)\b"
    r"|(?P<number>[-+]?(?:\d{1,3}(?:[,_]\d{3})+|\d+)(?:\.\d*)?(?:e[-+]?\d+)?|[-+]?\.\d+(?:e[-+]?\d+)?))",
    re.IGNORECASE,
)
_LABEL = re.compile(r"[^\W\d_]{2,}")
_SHOWN = 80
_FEWEST = 2
"""Fewest measurements from which noise can be calculated."""


class ScorePlace(msgspec.Struct, frozen=True):
    """Where the number stands in the output of the score command."""

    line: str
    """The last line, with `#` for each number."""
    count: int
    """Number of such lines; if the line has no word, the number of all lines."""


def score_place(output: str) -> ScorePlace:
    """Return where the number of this output stands."""
    lines = [_shape(line) for line in output.splitlines() if line.strip()]
    last = lines[-1] if lines else ""
    return ScorePlace(last, lines.count(last) if _LABEL.search(last) else len(lines))


def why_elsewhere(output: str, first: ScorePlace) -> str | None:
    """Return why the number is not at the place that it had in the first output, or None if it is.

    The text follows "the score command". Measured code that prints at its end would add another line.
    """
    now = score_place(output)
    if now == first:
        return None
    if now.line != first.line:
        lines = f"{end_cut(now.line, _SHOWN)!r}, not {end_cut(first.line, _SHOWN)!r}"
        return f"printed another last line than in the first measurement: {lines}"
    like = f" like {end_cut(now.line, _SHOWN)!r}" if _LABEL.search(now.line) else ""
    return f"printed {now.count:,} lines{like}, and {first.count:,} in the first measurement"


def _shape(line: str) -> str:
    return _NUMBER.sub("#", " ".join(line.split()))


def read_score(output: str) -> float | str:
    """Return the number, or the reason why there is none as a text that follows "the score command"."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    if not lines:
        return "printed nothing: it must print a number"
    found = list(_NUMBER.finditer(lines[-1]))
    shown = end_cut(lines[-1], _SHOWN)
    if not found:
        return f"printed no number on its last line: {shown!r}"
    last = found[-1]
    if last["nan"]:
        return f"printed NaN, which cannot be compared: {shown!r}"
    value = math.inf if last["inf"] else float(re.sub(r"[,_]", "", last["number"]))
    if not math.isfinite(value):
        return f"printed an infinite number: {shown!r}"
    return value


def is_better(score: float, best: float, goal: Better, by_more_than: float = 0.0) -> bool:
    """Return whether the score is better than `best` by more than `by_more_than`; equal scores are not better."""
    moved = score - best if goal is Better.MAX else best - score
    return moved > by_more_than


def noise_of(values: Sequence[float]) -> float | None:
    """Return the median absolute deviation of several measurements; None for a single one."""
    if len(values) < _FEWEST:
        return None
    middle = median(values)
    return median(abs(value - middle) for value in values)


def is_within_noise(score: float, other: float, noises: Iterable[float | None]) -> bool:
    """Return whether two medians differ by no more than the largest noise; False if no noise is known.

    The result is only shown to the person: a better median is kept in both cases.
    """
    known = [noise for noise in noises if noise is not None]
    return bool(known) and abs(score - other) <= max(known)
