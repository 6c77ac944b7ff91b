"""Show the changes of one answer at the gate together, as one review."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from ...protocol import Event, JournalError, Record, Stamped, Waiting
from ..resources.activity import Activity, PersonInterrupted

T = TypeVar("T")


async def perform_as_review(
    activity: Activity, changes: Sequence[T], answer: Callable[[T, Record], Awaitable[None]], record: Record
) -> list[BaseException]:
    """Perform all changes. Each begins when the one before it is done or waits for a person. Returns their exceptions.

    If the journal fails, the waiting ones are cancelled, because nobody could decide on them.
    """
    turns = [asyncio.Event() for _ in range(len(changes) + 1)]
    turns[0].set()

    async def in_turn(at: int, change: T) -> None:
        await turns[at].wait()
        try:
            activity.raise_if_interrupted()
            await answer(change, _until_waiting(record, turns[at + 1]))
        except JournalError:
            activity.interrupt("stop")
            raise
        finally:
            turns[at + 1].set()

    ends = await asyncio.gather(*(in_turn(at, one) for at, one in enumerate(changes)), return_exceptions=True)
    return [end for end in ends if end is not None]


def raise_worst(raised: Sequence[BaseException]) -> None:
    """Raise the first error; if there is none, the person's interrupt, if any."""
    for error in sorted(raised, key=lambda error: isinstance(error, PersonInterrupted)):
        raise error


def _until_waiting(record: Record, next_turn: asyncio.Event) -> Record:
    def record_one(event: Event) -> Stamped:
        stamped = record(event)
        if isinstance(event, Waiting):
            next_turn.set()
        return stamped

    return record_one
