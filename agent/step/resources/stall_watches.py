"""The stall detectors of all conversations of a run."""

from __future__ import annotations

from ...budget.stall.stall_watch import StallWatch


class StallWatches:
    """One set of detectors for each conversation."""

    def __init__(self) -> None:
        self._watches: dict[str | None, StallWatch] = {}

    def of(self, work: str | None) -> StallWatch:
        """Return the stall detectors of one conversation."""
        return self._watches.setdefault(work, StallWatch())

    def forget(self, work: str | None) -> None:
        """Forget what one conversation did so far."""
        self._watches.pop(work, None)

    def reset_after_message(self) -> None:
        """Note in all conversations that the user said something."""
        for watch in self._watches.values():
            watch.reset_after_message()
