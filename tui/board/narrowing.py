"""Narrow a list of the board to the rows of one group (a verdict, an error, a source), or to those with a text.

Does not import textual.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..text.show_text import one_line
from .board_view import BoardView, Listing

if TYPE_CHECKING:
    from ..keys.keymap import Keymap
    from .row_cells import Row

_MOST_GROUPS = 8
"""Number of groups to choose from; rarer ones are left out."""


@dataclass(frozen=True, slots=True)
class Narrowed:
    """The rows of one group or with a text, as they were found at one moment."""

    only: str
    """The group, or an empty text for all groups."""
    text: str
    """The words that each row contains, in upper or lower case. An empty text shows all rows."""
    rows: Sequence[int]
    """Their indexes in the whole list."""
    keys: Sequence[str | None]
    looked: int
    """Number of rows that were looked at."""
    total: int
    """Number of rows of the whole list."""

    @property
    def words(self) -> str:
        """Return `3 of 12`, or for a list of which only the start was read `3 of the first 5 000`."""
        if self.looked == self.total:
            return f"{len(self.rows):,} of {self.total:,}".replace(",", " ")
        return f"{len(self.rows):,} of the first {self.looked:,}".replace(",", " ")


class RowFilter:
    """Narrows the lists of a board, and remembers what it found in those that are read from the journal."""

    def __init__(self) -> None:
        self.whole = Listing()
        """The list before it was narrowed."""
        self.found: Narrowed | None = None
        """What the present view shows, or None for all rows."""
        self._at: tuple[str, str, str, int | None] = ("", "", "", None)

    def apply(self, listing: Listing, tab: str, only: str, version: int | None, empty: str, text: str = "") -> Listing:
        """Return the list as it is shown. `version` changes when the rows are read again; with None, all are checked.

        `only`: the group, or empty for all groups. `text`: what the rows contain. `empty`: the text if no row fits.
        """
        self.whole, found = listing, self.found
        if not (only or text):
            self.found = None
            return listing
        at = (tab, only, text, version)
        if found is None or version is None or self._at != at:
            found, self._at = narrow(listing, only, text), at
        self.found = found
        return _ShownRows(listing, found, empty)


def narrow(listing: Listing, only: str, text: str = "") -> Narrowed:
    """Find the rows of a group, or with each word of a text, among the first rows of a list."""
    looked = min(listing.count, listing.looked)
    words = text.casefold().split()
    rows = [
        index
        for index in range(looked)
        if (not only or listing.group(index) == only) and (not words or _has(listing, index, words))
    ]
    return Narrowed(only, text, rows, [listing.key(index) for index in rows], looked, listing.count)


def _has(listing: Listing, index: int, words: Sequence[str]) -> bool:
    folded = listing.words(index).casefold()
    return all(word in folded for word in words)


class _ShownRows(Listing):
    """The rows of a list that a filter found."""

    def __init__(self, whole: Listing, narrowed: Narrowed, empty: str) -> None:
        super().__init__(len(narrowed.rows), empty)
        self._whole, self._narrowed, self.grows = whole, narrowed, whole.grows
        self._places = {key: at for at, key in enumerate(narrowed.keys) if key is not None}

    def draw(self, index: int, width: int) -> Row:
        """Return the row of an entry."""
        return self._whole.draw(self._narrowed.rows[index], width)

    def key(self, index: int) -> str | None:
        """Return the key of an entry."""
        return self._narrowed.keys[index]

    def find(self, key: str) -> int | None:
        """Return the index of an entry."""
        return self._places.get(key)

    def describe(self, index: int) -> list[tuple[str, str]]:
        """Return what is known about an entry."""
        return self._whole.describe(self._narrowed.rows[index])


def no_row(view: BoardView, keymap: Keymap) -> str:
    """Return what an empty list says while it is narrowed."""
    if view.text:
        return keymap.named('no row contains "%s": {back} shows all').replace("%s", one_line(view.text))
    return keymap.named("no row is %s now: {only} shows others").replace("%s", view.only)


def next_group(listing: Listing, only: str) -> str:
    """Return the group after this one, or an empty text after the last one: all rows."""
    groups = [*listing.groups]
    if not groups:
        found = Counter(listing.group(index) for index in range(min(listing.count, listing.looked)))
        common = {group for group, _ in found.most_common(_MOST_GROUPS)}
        groups = [group for group in found if group and group in common]
    at = groups.index(only) + 1 if only in groups else 0
    return groups[at] if at < len(groups) and not (only and only not in groups) else ""
