"""The result of an ended search, as listed in a report."""

from __future__ import annotations

import msgspec

from ...protocol import Coverage, Estimate, RunEnded


class SearchResult(msgspec.Struct, frozen=True, kw_only=True):
    """The result of an ended search by lenses."""

    run_id: str
    reason: str
    complete: bool
    found: int
    """Number of confirmed findings."""
    estimate: Estimate | None
    """Estimate of the findings that no lens found."""
    coverage: Coverage


def search_result(run_id: str, ended: RunEnded | None) -> SearchResult | None:
    """Return the result of a search by lenses, or None if the run has not ended, or is not such a search."""
    if ended is None or ended.coverage is None:
        return None
    return SearchResult(
        run_id=run_id,
        reason=ended.reason.value,
        complete=ended.complete,
        found=ended.findings.confirmed,
        estimate=ended.estimate,
        coverage=ended.coverage,
    )
