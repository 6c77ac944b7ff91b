"""What a person looks at on the board: which view, which row, how far scrolled. No textual in here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from .rows.cells import Row

FILTERS = ("all", "confirmed", "judging", "refuted")


@dataclass(frozen=True, slots=True)
class Listing:
    """The rows of one view; only those in sight are drawn."""

    count: int
    draw: Callable[[int, int], Row]
    """Of an index and a width."""
    key: Callable[[int], str | None]
    find: Callable[[str], int | None]
    """Where the entry of that key is now; None: it is not known."""
    grows: bool = False
    """New rows come at the end, which stays in sight until the person looks elsewhere."""
    empty: str = ""
    """What stands there instead of rows."""
    tell: Callable[[int], list[tuple[str, str]]] = lambda index: []
    """All that is known of one entry, by names."""


@dataclass(slots=True)
class Spot:
    """The row that is picked in one view. It sticks to its entry while others come and go."""

    index: int | None = None
    """None: nobody picked one; the newest of a list that grows, else the first."""
    key: str | None = None
    top: int = 0
    """First row in sight."""


@dataclass(slots=True)
class BoardView:
    """Everything that is the viewer's own."""

    tab: str = ""
    """Empty: the first."""
    only: str = "all"
    """Which findings are listed, one of FILTERS."""
    is_open: bool = False
    """The picked row is shown in full."""
    scroll: int = 0
    """First row of the detail in sight."""
    page: int = 10
    """Rows of the list in sight."""
    spots: dict[str, Spot] = field(default_factory=dict[str, Spot])

    @property
    def spot(self) -> Spot:
        """Of the present view."""
        return self.spots.setdefault(self.tab, Spot())

    def settle(self, listing: Listing, height: int) -> int | None:
        """Bring the picked row to where its entry is, and into sight; its index, None in an empty list."""
        spot, count = self.spot, listing.count
        self.page = max(1, height)
        if not count:
            spot.top = 0
            return None
        if spot.index is None:
            at = count - 1 if listing.grows else 0
        else:
            found = listing.find(spot.key) if spot.key is not None else None
            at = max(0, min(count - 1, spot.index if found is None else found))
            spot.index = at
        low, high = at - max(1, height) + 1, at
        spot.top = max(0, min(max(low, min(spot.top, high)), max(0, count - height)))
        spot.key = listing.key(at)
        return at

    def move(self, by: int, listing: Listing) -> None:
        """Pick another row, or scroll the detail."""
        if self.is_open:
            self.scroll = max(0, self.scroll + by)
            return
        at = self.settle(listing, self.page)
        if at is None:
            return
        to = max(0, min(listing.count - 1, at + by))
        self.pick(to, listing)

    def pick(self, index: int, listing: Listing) -> None:
        """The row of that index; the last one of a list that grows follows its end again."""
        is_last = listing.grows and index >= listing.count - 1
        self.spot.index = None if is_last else index
        self.spot.key = listing.key(index)

    def show(self, tab: str) -> None:
        """Another view; the detail closes."""
        self.tab, self.is_open, self.scroll = tab, False, 0

    def turn_filter(self) -> None:
        """The next kind of findings."""
        self.only = FILTERS[(FILTERS.index(self.only) + 1) % len(FILTERS)]
        self.spots.pop("findings", None)
