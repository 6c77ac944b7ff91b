"""The protocol of a worker: it works an item from start to end without a model."""

from __future__ import annotations

import json
from typing import Protocol

import msgspec

from ...protocol import ItemKind, Unread
from ..items.item_state import Candidate


class WorkItem(msgspec.Struct, frozen=True, gc=False):
    """One item as a worker gets it (contract: docs/requirements.md 13.2)."""

    kind: ItemKind
    value: str
    key: str
    attempt: int = 1
    """Number of this attempt; the first is 1."""
    source: str = ""
    """What brought it: the key of an item, `seed`, `person` or `resume`. Only workers of the program get it."""


def as_json(item: WorkItem) -> bytes:
    """Encode the item as one line of ASCII. A file's name may hold bytes that are not UTF-8, as lone surrogates."""
    fields = {"kind": item.kind, "value": item.value, "key": item.key, "attempt": item.attempt}
    return json.dumps(fields).encode()


class ReportedFinding(msgspec.Struct, frozen=True, gc=False):
    """A finding as reported, before anyone judged it."""

    title: str
    detail: str = ""
    evidence: str = ""
    """`path:line`, a URL, or a quote."""
    key: str | None = None


class ItemResult(msgspec.Struct, frozen=True, kw_only=True):
    """The result of an item. If `error` is set, the rest was found before the failure."""

    items: list[Candidate] = []
    findings: list[ReportedFinding] = []
    found_new: bool | None = None
    """The worker's own statement, if it made one. Only new keys count."""
    reason: str = ""
    """What was done, in a few words."""
    moves_to: str = ""
    """Not empty: the address only leads to this one, which is an item of its own."""
    unread: Unread = ""
    """Not empty: the address works, but the item was not read."""
    error: str = ""
    """Not empty: the step failed. One line. A failure is never an empty result."""
    retry_after: float | None = None
    """Seconds that the server asked to wait."""
    hopeless: bool = False
    """Another attempt cannot help: the item fails permanently right away."""
    if_final: ReportedFinding | None = None
    """Reported if the item fails permanently."""


class Worker(Protocol):
    """Works items, several at the same time. Cancelling `work` ends whatever it started."""

    async def work(self, item: WorkItem) -> ItemResult:
        """Work an item. Never raises for what an item, command, function or server does: that is an `error`."""
        ...

    async def close(self) -> None:
        """End everything that the worker started. May be called twice."""
        ...
