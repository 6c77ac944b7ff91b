"""A search that ended, as a report lists it."""

from __future__ import annotations

import msgspec

from ...protocol import Coverage, Estimate, RunEnded


class Searched(msgspec.Struct, frozen=True, kw_only=True):
    """A search by lenses that ended."""

    run_id: str
    reason: str
    complete: bool
    found: int
    """Confirmed findings."""
    estimate: Estimate | None
    """Of what no lens found."""
    coverage: Coverage


def searched(run_id: str, ended: RunEnded | None) -> Searched | None:
    """None: it has not ended, or is not a search by lenses."""
    if ended is None or ended.coverage is None:
        return None
    return Searched(
        run_id=run_id,
        reason=ended.reason.value,
        complete=ended.complete,
        found=ended.findings.confirmed,
        estimate=ended.estimate,
        coverage=ended.coverage,
    )
