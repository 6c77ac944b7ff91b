"""How many items go to a worker together. Pure: the durations are passed in."""

from __future__ import annotations

BATCH_SECONDS = 0.5
"""How long a batch should take: long enough that sending it costs little, short enough to share the rest fairly."""
MOST_ITEMS = 256
"""Items of a batch. A worker that dies costs an attempt of each of them."""
_WEIGHT = 0.3
"""Weight of the newest batch in the average."""


class BatchSize:
    """Adapts the size of batches to the duration of items."""

    def __init__(self) -> None:
        self.seconds: float | None = None
        """Average duration of an item; None: no item was worked yet."""

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
