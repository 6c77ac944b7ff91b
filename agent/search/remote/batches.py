"""Orders that go to a worker together, and how many: that is pure, the durations are passed in."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

import msgspec

from .trees.scan import WorkspaceTree

BATCH_SECONDS = 0.5
"""How long a batch should take: long enough that sending it costs little, short enough to share the rest fairly."""
MOST_ITEMS = 256
"""Items of a batch. A worker that dies costs an attempt of each of them."""
_WEIGHT = 0.3
"""Weight of the newest batch in the average."""


class NotWorked(Exception):
    """The order could not be worked; the message is one line for a person."""


class ClusterAway(NotWorked):
    """The cluster did not answer for a while, or cannot be used any more."""


class WorkerOrder(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """What a worker has to do."""

    job: bytes
    """The encoded `Job`. Orders of one batch have the same."""
    data: bytes
    """The order as `encode_order` returns it."""
    label: str
    """What it is about, for people."""
    is_alone: bool = False
    """Whether its batch has no other order: it may be what ends its worker."""
    tree: WorkspaceTree | None = None
    """The files that the worker needs. None means that it shares the workspace, or needs none."""


@dataclass(slots=True, eq=False)
class WaitingOrder:
    """An order that was not answered yet."""

    order: WorkerOrder
    answer: asyncio.Future[msgspec.Raw]
    worker: str = ""
    """Address of the worker that has its files."""
    supplies: int = 0
    """How often files were sent for it."""

    def fits(self, other: WaitingOrder) -> bool:
        """Return whether both can be in one batch."""
        ours, theirs = self.order, other.order
        same_files = (ours.tree and ours.tree.digest) == (theirs.tree and theirs.tree.digest)
        return same_files and ours.job == theirs.job and self.worker == other.worker and not theirs.is_alone

    def settle(self, outcome: msgspec.Raw | Exception) -> None:
        """Set the answer, unless the order was cancelled."""
        if self.answer.done():
            return
        if isinstance(outcome, Exception):
            self.answer.set_exception(outcome)
        else:
            self.answer.set_result(outcome)


@dataclass(slots=True, eq=False)
class Batch:
    """Orders that are worked together."""

    name: str
    members: list[WaitingOrder]
    workers: list[str] | None
    """Addresses of the workers that may work it. None means any."""
    is_stranded: bool = False
    """None of its workers is there any more."""
    task: asyncio.Task[None] | None = field(default=None)

    @property
    def is_wanted(self) -> bool:
        """Whether someone waits for an order of it."""
        return any(not one.answer.done() for one in self.members)


class BatchSize:
    """Adapts the size of batches to the duration of items."""

    def __init__(self) -> None:
        self.seconds: float | None = None
        """Average duration of an item, or None if no item was worked yet."""

    def note(self, items: int, seconds: float) -> None:
        """Take the duration of a finished batch into account."""
        if items:
            each = seconds / items
            self.seconds = each if self.seconds is None else (1 - _WEIGHT) * self.seconds + _WEIGHT * each

    def size(self, waiting: int, free: int) -> int:
        """Return the size of the next batch. `waiting`: items without a worker, `free`: threads without a batch.

        While items are few, each free thread gets its share, so that no thread is idle while another has two items.
        """
        if self.seconds is None:
            return 1
        fitting = int(BATCH_SECONDS / self.seconds) if self.seconds > 0 else MOST_ITEMS
        share = -(-waiting // max(1, free))
        return max(1, min(fitting, MOST_ITEMS, share))
