"""Who works an item end to end without a model: what it gets, and what it brings back."""

from __future__ import annotations

import json
from typing import Protocol

import msgspec

from ..items.frontier import Candidate


class WorkItem(msgspec.Struct, frozen=True, gc=False):
    """One item, as a worker gets it: the contract of docs/requirements.md 13.2."""

    kind: str
    value: str
    key: str
    attempt: int = 1
    """1 for the first."""


def as_json(item: WorkItem) -> bytes:
    """One line of ASCII: a file's name may hold bytes that are no UTF-8, as half characters."""
    return json.dumps(msgspec.structs.asdict(item)).encode()


class ReportedFinding(msgspec.Struct, frozen=True, gc=False):
    """What was found, before anyone judged it."""

    title: str
    detail: str = ""
    evidence: str = ""
    """`path:line`, a URL, or a quote."""
    key: str | None = None


class Worked(msgspec.Struct, frozen=True, kw_only=True):
    """What came of an item. What stands beside an `error` was found before it failed."""

    items: list[Candidate] = []
    findings: list[ReportedFinding] = []
    found_new: bool | None = None
    """The worker's own word for it, where it has one; only keys count."""
    reason: str = ""
    """What was done, a few words."""
    error: str = ""
    """Not empty: the step failed. One line; never an empty result."""
    retry_after: float | None = None
    """Seconds that the other side asked to be left alone."""
    hopeless: bool = False
    """Another attempt cannot help: the item is set aside at once."""


class Worker(Protocol):
    """Works items, several at once. Cancelling `work` ends whatever it started."""

    async def work(self, item: WorkItem) -> Worked:
        """Never raises for what the item, a command, a function or a server did: that is an `error`."""
        ...

    async def close(self) -> None:
        """Nothing that it started is left; it may be closed twice."""
        ...
