"""How many items of a search there are of each kind, and when the new ones came up."""

from __future__ import annotations

from dataclasses import dataclass, field

from ...protocol import ItemDuplicate, ItemFailed

_MOST_POINTS = 400
"""Of the plot of discoveries: neighbours are added up where there would be more."""
_MOST_RECENT = 200
"""Duplicates and failures that are remembered for the board; all of them stand in the journal."""


FORBIDDEN_PAGE = "skipped by robots.txt"
"""What a crawl says of a page that it may not fetch."""


@dataclass(slots=True)
class ItemCounts:
    """Its size does not grow with the items, but for those that failed again after they were done."""

    queued: int = 0
    working: int = 0
    done: int = 0
    seen: int = 0
    duplicates: int = 0
    retries: int = 0
    set_aside: int = 0
    skipped: int = 0
    forbidden: int = 0
    """Of the done ones: pages that robots.txt forbids."""
    recent: list[ItemDuplicate | ItemFailed] = field(default_factory=list[ItemDuplicate | ItemFailed])
    """The newest ones, oldest first."""
    regressed: dict[str, int] = field(default_factory=dict[str, int])
    """Key to how often it failed again after it was done."""
    points: list[int] = field(default_factory=list[int])
    """New keys, by stretches of `stretch` passes."""
    stretch: int = 1

    def left(self, state: str | None) -> None:
        """An item that was at rest is not in that state any more."""
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

    def remember(self, event: ItemDuplicate | ItemFailed) -> None:
        """Among the newest ones."""
        self.recent.append(event)
        if len(self.recent) > 2 * _MOST_RECENT:
            del self.recent[:_MOST_RECENT]

    def plot(self, number: int, new: int) -> None:
        """So many new keys came of the pass of that number."""
        place = (number - 1) // self.stretch
        while len(self.points) <= place:
            self.points.append(0)
        self.points[place] += new
        if len(self.points) > _MOST_POINTS:
            self.points = [sum(self.points[i : i + 2]) for i in range(0, len(self.points), 2)]
            self.stretch *= 2
