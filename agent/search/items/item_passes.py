"""The passes of a search that works items: a pass is a batch of at most `concurrency` of them (docs/glossary.md)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...protocol import Event, FinderSpec, PassFinished, PassStarted

if TYPE_CHECKING:
    from ...state.search.finder_facts import FinderFacts


class ItemPasses:
    """The state of the passes after the pending events. The facts contain only the recorded events."""

    def __init__(self, facts: FinderFacts, spec: FinderSpec) -> None:
        self._spec = spec
        self._number, self._is_open = facts.pass_number, facts.pass_open
        self._done, self._new, self._streak = facts.pass_done, facts.pass_new, facts.streak

    def begin(self) -> list[Event]:
        """Open a pass if none is open, before an item begins or ends."""
        if self._is_open:
            return []
        self._number, self._is_open, self._done, self._new = self._number + 1, True, 0, 0
        return [PassStarted(number=self._number)]

    def count(self, new: int) -> list[Event]:
        """Count an item that was worked and brought `new` new keys; close the pass if it is full."""
        self._done += 1
        self._new += new
        return self.end() if self._done >= self._spec.concurrency else []

    def end(self) -> list[Event]:
        """Close the open pass when no work is left, however few items it has."""
        if not (self._is_open and self._done):
            return []
        self._is_open, self._streak = False, 0 if self._new else self._streak + 1
        finished = PassFinished(
            number=self._number, new=self._new, dry_streak=self._streak, dry_passes=self._spec.dry_passes
        )
        return [finished]
