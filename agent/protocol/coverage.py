"""What a search by lenses reports beside its findings. None of it ever ends a search or keeps it going."""

from __future__ import annotations

import math

import msgspec


class LensCoverage(msgspec.Struct, frozen=True):
    """What one lens read of the files in scope."""

    lens: str
    files: int
    lines: int


class Coverage(msgspec.Struct, frozen=True, kw_only=True):
    """What the lenses read with `read_file`."""

    files: int | None = None
    """In scope; None: an earlier version did not count them."""
    lines: int | None = None
    all_counted: bool = True
    """False: there are more in scope."""
    files_read: int = 0
    """By any lens."""
    lines_read: int = 0
    lenses: list[LensCoverage] = []


class Estimate(msgspec.Struct, frozen=True, kw_only=True):
    """How many findings no lens found: an estimate, from lenses that were not shown each other's findings."""

    unseen: float
    low: float
    """Of the 95 % interval."""
    high: float
    sample: int
    """Findings that those lenses found."""
    lenses: int
    """How many lenses those are."""
    method: str = "Chao2"


def estimate_words(found: int, estimate: Estimate | None) -> str:
    """`9 found, about 1 unseen (0 to 4)`: whole numbers, the interval rounded outwards."""
    if estimate is None:
        return f"{found:,} found, no estimate of what is unseen"
    low, about, high = math.floor(estimate.low), math.floor(estimate.unseen + 0.5), math.ceil(estimate.high)
    return f"{found:,} found, about {about:,} unseen ({low:,} to {high:,})"


def coverage_words(coverage: Coverage) -> str:
    """`14 of 20 files, 900 of 1,520 lines`; without a scope only what was read."""
    files, lines = f"{coverage.files_read:,}", f"{coverage.lines_read:,}"
    if coverage.files is None or coverage.lines is None:
        return f"{files} files, {lines} lines"
    more = "" if coverage.all_counted else "more than "
    return f"{files} of {more}{coverage.files:,} files, {lines} of {more}{coverage.lines:,} lines"
