"""Describe the workers of a cluster for the events of a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from ...protocol import ClusterWorker


class WorkerLoad(msgspec.Struct, frozen=True):
    """One Dask worker at a moment."""

    address: str
    name: str
    threads: int
    batches: Sequence[str]
    """Names of the batches that it works or that wait there."""
    cpu: float
    """Per cent of one core."""
    memory: int
    """Bytes."""
    refused: str | None = ""
    """Why it is not used; empty if it is used, None if it was not compared with the runner yet."""


def described(loads: Sequence[WorkerLoad], labels: Mapping[str, Sequence[str]]) -> list[ClusterWorker]:
    """Return the workers and the batches of this run that each has. `labels`: what each batch is about, by its name."""
    found: list[ClusterWorker] = []
    for load in sorted(loads, key=lambda one: one.name):
        given = [label for name in load.batches for label in labels.get(name, ())]
        found.append(
            ClusterWorker(
                name=load.name,
                threads=load.threads,
                batches=sum(name in labels for name in load.batches),
                items=len(given),
                doing=given[0] if given else "",
                cpu=round(load.cpu),
                memory=load.memory // 1_000_000 * 1_000_000,
                refused=load.refused or "",
            )
        )
    return found
