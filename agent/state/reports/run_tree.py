"""Order runs as a tree: each run is followed by its child runs, oldest first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .run_line import RunLine


def as_tree(runs: Sequence[RunLine]) -> Iterator[tuple[int, RunLine]]:
    """Yield each run with its depth. A run whose parent is not among them has depth 0."""
    known = {run.run_id for run in runs}
    below: dict[str, list[RunLine]] = {}
    for run in runs:
        if run.parent in known:
            below.setdefault(run.parent or "", []).append(run)
    for run in runs:
        if run.parent not in known:
            yield from _with_children(run, below, 0)


def is_left_to_parent(run: RunLine, runs: Sequence[RunLine]) -> bool:
    """Return whether the parent of this run is unfinished too, so that resuming the parent continues both."""
    return any(above.run_id == run.parent and not above.is_finished for above in runs)


def _with_children(run: RunLine, below: dict[str, list[RunLine]], depth: int) -> Iterator[tuple[int, RunLine]]:
    yield depth, run
    for child in sorted(below.get(run.run_id, []), key=lambda each: each.run_id):
        yield from _with_children(child, below, depth + 1)
