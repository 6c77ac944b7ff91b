"""The data from which the board is drawn at one moment. Does not import textual."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from rundry.agent import is_paused_between_steps, pool_size

from ..keys.keymap import Keymap

if TYPE_CHECKING:
    from rundry.agent import FinderFacts, FinderSpec, Finding, Flight, ViewState

    from ..theme.theme import Palette

Tab = Literal["findings", "lenses", "latest", "work", "queue", "failed", "duplicates"]
"""A view of the board."""


@dataclass(frozen=True, slots=True)
class BoardData:
    """State of a search at one moment."""

    state: ViewState
    facts: FinderFacts
    spec: FinderSpec
    palette: Palette
    now: float
    """Unix seconds; for a run that is over, the time of its end."""
    waiting: int = 0
    """Items that failed and wait to be tried again."""
    next_due: float | None = None
    """Unix time at which the first of them is due."""
    is_over: bool = False
    is_focused: bool = False
    slots: tuple[str, ...] = ()
    """Works in progress, each in the row that it had before. If empty, they are listed in the order of their start."""
    marked: str | None = None
    """Key of the finding that will be merged into another."""
    has_end_panel: bool = False
    """A panel below the board says how the run ended, so the board does not repeat it."""
    acts: bool = True
    """The view can change the run: it is neither a replay nor read-only."""
    numbered: bool = True
    """The number keys select a view."""
    keymap: Keymap = field(default_factory=lambda: Keymap({}))
    """Gives the keys that the texts name."""

    @property
    def by_lenses(self) -> bool:
        """Whether lenses search; otherwise items are worked."""
        return bool(self.facts.lenses or self.spec.lenses)

    @property
    def is_crawl(self) -> bool:
        """Whether the items are pages."""
        return self.spec.traits.fetches_pages

    @property
    def host(self) -> str:
        """Return scheme, host and port if all pages of a crawl have the same; else an empty text."""
        if not self.is_crawl:
            return ""
        hosts = {"/".join(seed.value.split("/", 3)[:3]) for seed in self.spec.seeds if "://" in seed.value}
        return hosts.pop() if len(hosts) == 1 else ""

    @property
    def pool(self) -> int | None:
        """Return the total number of items, if it is known."""
        return pool_size(self.facts, self.spec)

    def rests(self, kind: str, about: str) -> bool:
        """Return whether a pause holds the work on this item between two of its steps."""
        named = (flight for flight in self.facts.flights.values() if (flight.kind, flight.about) == (kind, about))
        return any(is_paused_between_steps(self.state, flight) for flight in named)

    @property
    def worked_items(self) -> set[str]:
        """Return the keys of the items that are being worked."""
        return {flight.about for flight in self.facts.flights.values() if flight.kind == "item"}

    @property
    def tabs(self) -> tuple[Tab, ...]:
        """Return the views in the order of the number keys."""
        if self.by_lenses:
            return ("findings", "lenses", "queue", "failed", "duplicates")
        found: tuple[Tab, ...] = ("findings",) if self.facts.findings or self.is_crawl else ()
        return ("latest", "work", "queue", "failed", "duplicates", *found)


def slotted(before: tuple[str, ...], flights: Mapping[str, Flight]) -> tuple[str, ...]:
    """Return the rows of the works in progress. A work keeps its row, and a new one takes a free row."""
    fresh = [work for work in flights if work not in before]
    kept = [work if work in flights else (fresh.pop(0) if fresh else "") for work in before]
    return tuple(work for work in [*kept, *fresh] if work)


def arranged(data: BoardData) -> list[Finding]:
    """Return the findings in the order of the list.

    It is the order in which they were reported, so that rows do not move while one is read. When the run is over, the
    confirmed findings come first.
    """
    found = list(data.facts.findings.values())
    if data.is_over:
        rank = {"confirmed": 0, None: 1, "refuted": 2}
        found.sort(key=lambda finding: rank.get(finding.verdict, 1))
    return found
