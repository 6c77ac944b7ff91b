"""What the board is drawn from, at one moment. No textual in here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from rundry.agent import FinderFacts, FinderSpec, Finding, Flight, ViewState, rests

from ..theme import Palette


@dataclass(frozen=True, slots=True)
class Look:
    """State of a search at one moment."""

    state: ViewState
    facts: FinderFacts
    spec: FinderSpec
    palette: Palette
    now: float
    """Unix seconds; of a run that is over, when it ended."""
    waiting: int = 0
    """Items that failed and wait to be tried again."""
    next_due: float | None = None
    """Unix time when the first of them is."""
    is_over: bool = False
    is_focused: bool = False
    slots: tuple[str, ...] = ()
    """Works in flight, each in the row that it has had; empty: in the order in which they began."""
    marked: str | None = None
    """Key of the finding that is to be merged into another."""
    numbered: bool = True
    """The views are gone to by their numbers."""

    @property
    def by_lenses(self) -> bool:
        """Lenses search; else items are worked."""
        return bool(self.facts.lenses or self.spec.lenses)

    @property
    def is_crawl(self) -> bool:
        """Report whether the items are pages."""
        return self.spec.traits.fetches_pages

    def rests(self, kind: str, about: str) -> bool:
        """A pause holds the work on this between two of its steps."""
        named = (flight for flight in self.facts.flights.values() if (flight.kind, flight.about) == (kind, about))
        return any(rests(self.state, flight) for flight in named)

    @property
    def tabs(self) -> tuple[str, ...]:
        """Return the views in the order of the number keys."""
        if self.by_lenses:
            return ("findings", "lenses", "queue", "failed", "duplicates")
        found = ("findings",) if self.facts.findings else ()
        return ("latest", "work", "queue", "failed", "duplicates", *found)


def slotted(before: tuple[str, ...], flights: Mapping[str, Flight]) -> tuple[str, ...]:
    """The rows of the works in flight: who goes on keeps its row, who begins takes one that came free."""
    fresh = [work for work in flights if work not in before]
    kept = [work if work in flights else (fresh.pop(0) if fresh else "") for work in before]
    return tuple(work for work in [*kept, *fresh] if work)


def arranged(look: Look, only: str = "all") -> list[Finding]:
    """The findings as they are listed: in the order in which they came, so that none moves while one reads.

    Of a run that is over, the confirmed ones come first.
    """
    found = list(look.facts.findings.values())
    if only != "all":
        verdict = None if only == "judging" else only
        found = [finding for finding in found if finding.verdict == verdict]
    if look.is_over:
        rank = {"confirmed": 0, None: 1, "refuted": 2}
        found.sort(key=lambda finding: rank.get(finding.verdict, 1))
    return found
