"""Numbers of a search's items by state, and of new items over time."""

from __future__ import annotations

from dataclasses import dataclass, field

from ...protocol import ItemDuplicate, ItemFailed, Unread, WorkFinished

_MOST_POINTS = 400
"""Points in the plot of discoveries; neighbouring points are merged if there would be more."""
_MOST_RECENT = 200
"""Number of duplicates and failures kept for the board; the journal has all of them."""


FORBIDDEN_PAGE = "skipped by robots.txt"
"""Reason of a page that robots.txt forbids the crawl to fetch. Older journals tell such a page by it."""


@dataclass(slots=True)
class ItemCounts:
    """Counts of items. The size depends only on the number of items that failed again after success."""

    queued: int = 0
    working: int = 0
    done: int = 0
    seen: int = 0
    duplicates: int = 0
    retries: int = 0
    set_aside: int = 0
    """Items that failed permanently."""
    skipped: int = 0
    unread: dict[Unread, int] = field(default_factory=dict[Unread, int])
    """Number of done items that were not read, by the reason."""
    recent: list[ItemDuplicate | ItemFailed] = field(default_factory=list[ItemDuplicate | ItemFailed])
    """The newest duplicates and failures, oldest first."""
    regressed: dict[str, int] = field(default_factory=dict[str, int])
    """Key to how often it failed again after it was done."""
    points: list[int] = field(default_factory=list[int])
    """Number of new keys in each group of `stretch` passes."""
    stretch: int = 1

    def count_left(self, state: str | None) -> None:
        """Record that an item left this state."""
        match state:
            case "done":
                self.done = max(0, self.done - 1)
            case "set_aside":
                self.set_aside = max(0, self.set_aside - 1)
            case "skipped":
                self.skipped = max(0, self.skipped - 1)
            case "waiting":
                self.queued = max(0, self.queued - 1)
            case _:
                pass

    def count_unread(self, event: WorkFinished) -> None:
        """Record that an item was done without being read."""
        why: Unread = "robots" if event.reason == FORBIDDEN_PAGE else event.unread
        if event.ok and why:
            self.unread[why] = self.unread.get(why, 0) + 1

    def remember(self, event: ItemDuplicate | ItemFailed) -> None:
        """Add the event to the newest ones."""
        self.recent.append(event)
        if len(self.recent) > 2 * _MOST_RECENT:
            del self.recent[:_MOST_RECENT]

    def plot(self, number: int, new: int) -> None:
        """Add the number of new keys in the pass with that number."""
        place = (number - 1) // self.stretch
        while len(self.points) <= place:
            self.points.append(0)
        self.points[place] += new
        if len(self.points) > _MOST_POINTS:
            self.points = [sum(self.points[i : i + 2]) for i in range(0, len(self.points), 2)]
            self.stretch *= 2
