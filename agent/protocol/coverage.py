"""What a search by lenses reports in addition to its findings. These figures never end or prolong a search."""

from __future__ import annotations

import math

import msgspec

from .text.counts import plural


class LensCoverage(msgspec.Struct, frozen=True):
    """How many of the files in scope one lens read."""

    lens: str
    files: int
    lines: int


class Coverage(msgspec.Struct, frozen=True, kw_only=True):
    """How much the lenses read with `read_file`."""

    files: int | None = None
    """Number of files in scope. None means that an earlier version did not count them."""
    lines: int | None = None
    all_counted: bool = True
    """False means that there are more files in scope than were counted."""
    files_read: int = 0
    """Number of files that at least one lens read."""
    lines_read: int = 0
    lenses: list[LensCoverage] = []


class Estimate(msgspec.Struct, frozen=True, kw_only=True):
    """Estimate of how many findings no lens found, from lenses that did not see each other's findings."""

    unseen: float
    low: float
    """Lower bound of the 95 % interval."""
    high: float
    sample: int
    """Number of findings that those lenses found."""
    lenses: int
    """Number of those lenses."""
    method: str = "beta-binomial"


def estimate_words(found: int, estimate: Estimate | None) -> str:
    """Describe the estimate: `9 found, about 1 unseen (0 to 4)`. Whole numbers; the interval is rounded outwards."""
    if estimate is None:
        return f"{found:,} found, no estimate of what is unseen"
    low, about, high = math.floor(estimate.low), math.floor(estimate.unseen + 0.5), math.ceil(estimate.high)
    return f"{found:,} found, about {about:,} unseen ({low:,} to {high:,})"


def coverage_words(coverage: Coverage) -> str:
    """Describe the coverage: `14 of 20 files, 900 of 1,520 lines`, or without a scope only what was read."""
    files, lines = f"{coverage.files_read:,}", f"{coverage.lines_read:,}"
    if coverage.files is None or coverage.lines is None:
        return f"{plural(coverage.files_read, 'file')}, {plural(coverage.lines_read, 'line')}"
    more = "" if coverage.all_counted else "more than "
    return f"{files} of {more}{plural(coverage.files, 'file')}, {lines} of {more}{plural(coverage.lines, 'line')}"
