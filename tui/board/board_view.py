"""The person's view of the board: which view, which row, and how far it is scrolled. Does not import textual."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from .board_data import Tab
    from .row_cells import Row

STORED: tuple[Tab, ...] = ("queue", "failed", "duplicates")
"""Views whose rows are read from the journal."""


class Listing:
    """The rows of one view; this base has none. Only visible rows are drawn."""

    grows = False
    """New rows are added at the end, which stays visible until the person selects another row."""
    groups: Sequence[str] = ()
    """The groups in their order. If empty, they are the groups that occur."""
    looked = 5_000
    """Number of rows among which a filter looks, because it has to read them."""

    def __init__(self, count: int = 0, empty: str = "") -> None:
        """`empty`: the text that is shown if there are no rows."""
        self.count, self.empty = count, empty

    def draw(self, index: int, width: int) -> Row:
        """Return the row at an index in a width."""
        del index, width
        return []

    def key(self, index: int) -> str | None:
        """Return the key of the entry at an index, or None if it is not in the list any more."""
        del index
        return None

    def find(self, key: str) -> int | None:
        """Return the index of the entry with this key, or None if it is not known."""
        del key
        return None

    def describe(self, index: int) -> list[tuple[str, str]]:
        """Return all facts about one entry, by name."""
        del index
        return []

    def group(self, index: int) -> str:
        """Return the group of one entry: its verdict, its error or its source. A filter shows the rows of one group."""
        del index
        return ""

    def words(self, index: int) -> str:
        """Return the text of one entry, which a filter by text searches."""
        return " ".join(each for _, each in self.describe(index))


@dataclass(slots=True)
class Spot:
    """The selected row of one view. It stays with its entry while other rows are added and removed."""

    index: int | None = None
    """None: the person selected no row. It is then the newest row of a growing list, or else the first."""
    key: str | None = None
    top: int = 0
    """The first visible row."""


@dataclass(slots=True)
class BoardView:
    """The state of the board that belongs to the viewer."""

    tab: Tab | Literal[""] = ""
    """The view, or an empty text for the first one."""
    filters: dict[str, str] = field(default_factory=dict[str, str])
    """The group to which a view is narrowed, by view."""
    texts: dict[str, str] = field(default_factory=dict[str, str])
    """The text that the rows of a view contain, by view."""
    is_open: bool = False
    """The selected row is shown in full."""
    scroll: int = 0
    """The first visible row of the detail."""
    page: int = 10
    """Number of visible rows of the list."""
    spots: dict[str, Spot] = field(default_factory=dict[str, Spot])

    @property
    def spot(self) -> Spot:
        """The selected row and the scroll position of the present view."""
        return self.spots.setdefault(self.tab, Spot())

    def settle(self, listing: Listing, height: int) -> int | None:
        """Move the selection to the row of its entry, and make it visible.

        Return its index, or None for an empty list.
        """
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
        """Select another row, or scroll the detail."""
        if self.is_open:
            self.scroll = max(0, self.scroll + by)
            return
        at = self.settle(listing, self.page)
        if at is None:
            return
        to = max(0, min(listing.count - 1, at + by))
        self.pick(to, listing)

    def pick(self, index: int, listing: Listing) -> None:
        """Select the row at this index. Selecting the last row of a growing list follows its end again."""
        is_last = listing.grows and index >= listing.count - 1
        self.spot.index = None if is_last else index
        self.spot.key = listing.key(index)

    def show(self, tab: Tab) -> None:
        """Show another view, and close the detail."""
        self.tab, self.is_open, self.scroll = tab, False, 0

    @property
    def only(self) -> str:
        """The group that the present view shows, or an empty text if it shows all rows."""
        return self.filters.get(self.tab, "")

    @property
    def text(self) -> str:
        """The text that the rows of the present view contain, or an empty text if it shows all rows."""
        return self.texts.get(self.tab, "")

    @property
    def is_narrowed(self) -> bool:
        """Whether the present view shows only some of its rows."""
        return bool(self.only or self.text)

    def narrow(self, only: str) -> None:
        """Show the rows of one group of the present view, or of all groups for an empty text."""
        self.filters[self.tab], self.is_open = only, False
        self.spots.pop(self.tab, None)

    def find(self, text: str) -> None:
        """Show the rows of the present view that contain each of these words, or all for an empty text."""
        self.texts[self.tab], self.is_open = " ".join(text.split()), False
        self.spots.pop(self.tab, None)
