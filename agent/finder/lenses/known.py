"""The known findings, and how a new report relates to them, before anyone judges it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import msgspec

from .findings import Identity, plain_title, variant_key

if TYPE_CHECKING:
    from ...facts.search.finder_facts import FinderFacts

_MOST = 4_096
"""Findings remembered next to the facts before those that the facts already hold are dropped."""


class KnownMatch(msgspec.Struct, frozen=True):
    """How a reported finding relates to the known ones."""

    key: str
    is_known: bool
    """Same key and same title: a repeated report adds nothing."""
    may_repeat: str | None = None
    """Key of the finding at the same place with another title. A verifier compares the two."""


class _KnownFinding(msgspec.Struct, frozen=True):
    key: str
    title: str
    place: str


class KnownFindings:
    """The findings of the facts, and those reported in the open transaction."""

    def __init__(self, facts: Callable[[], FinderFacts], rollbacks: Callable[[], int]) -> None:
        """`rollbacks`: returns how many transactions of the journal were rolled back; their findings are forgotten."""
        self._facts, self._rollbacks = facts, rollbacks
        self._rolled_back = rollbacks()
        self._open: dict[str, _KnownFinding] = {}
        self._places: dict[str, str] = {}

    def match(self, title: str, found: Identity, *, by_model: bool) -> KnownMatch:
        """Return whether the finding is known, may repeat a known one, or is new.

        A key that a worker gives is used unchanged. A model may use one key, or cite one place, for several findings.
        """
        self._forget()
        same_key, same_place = self._by_key(found.key), self._by_place(found)
        if same_key is not None and not by_model and found.key != found.place:
            return KnownMatch(same_key.key, is_known=True)
        other = same_key or (same_place if by_model or found.key == found.place else None)
        if other is None:
            return KnownMatch(found.key, is_known=False)
        moved = bool(other.place and found.place) and other.place not in (found.place, found.old_place)
        if plain_title(other.title) == plain_title(title) and not moved:
            return KnownMatch(other.key, is_known=True)
        own = found.key if same_key is None and found.key != found.place else None
        key = own or variant_key(found.key, title, found.place)
        return KnownMatch(key, is_known=self._by_key(key) is not None, may_repeat=other.key)

    def add(self, key: str, title: str, place: str) -> None:
        """Remember a finding that was just reported."""
        self._open[key] = _KnownFinding(key, title, place)
        if place:
            self._places.setdefault(place, key)

    def _by_key(self, key: str) -> _KnownFinding | None:
        known = self._facts().findings.get(key)
        return self._open.get(key) if known is None else _KnownFinding(key, known.title, known.place)

    def _by_place(self, found: Identity) -> _KnownFinding | None:
        if not found.place:
            return None
        key = self._facts().places.get(found.place) or self._places.get(found.place)
        return self._by_key(key or found.old_place)

    def _forget(self) -> None:
        if self._rolled_back != self._rollbacks():
            self._rolled_back = self._rollbacks()
            self._open.clear()
            self._places.clear()
        elif len(self._open) > _MOST:
            held = self._facts().findings
            self._open = {key: noted for key, noted in self._open.items() if key not in held}
            self._places = {place: key for place, key in self._places.items() if key in self._open}
