"""Record the end of a pass."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ...protocol import PassFinished, PassKept, PassStarted, PassVerdict, PatchKept, Reason
from .pass_texts import pass_summary

if TYPE_CHECKING:
    from ...step.resources.run_context import RunContext


def finish_pass(
    ctx: RunContext,
    started: PassStarted,
    verdict: PassVerdict,
    why: str,
    *,
    of: PassKept | PatchKept | None = None,
    left: Sequence[str] = (),
    ends: Reason | None = None,
) -> None:
    """Record the verdict on a pass. `ctx`: the run's. `of`: what it changed.

    `left`: a line for each thing that somebody has to decide on.
    """
    passing = ctx.facts.pass_facts
    assert passing is not None  # facts of loops with passes always have it
    files, change = ([], "") if of is None else (of.files, of.change)
    has_own = started.layer is not None or passing.chosen is not None
    ctx.events.record(
        PassFinished(
            number=started.number,
            verdict=verdict,
            why=why,
            said=pass_summary(ctx.facts),
            files=list(files),
            commit=of.commit if isinstance(of, PassKept) else None,
            change=change,
            repeats=passing.changes.get(change) if change else None,
            left=list(left),
            tries=started.tries,
            candidate=passing.chosen.candidate if passing.chosen is not None else 0,
            dropped=has_own and verdict != "kept" and passing.keeping is None,
            ends=ends,
        ),
        durable=True,
    )
