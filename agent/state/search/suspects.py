"""Items with a suspect check that wait for a person's decision (decision 0015)."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field

import msgspec

from ...protocol import CheckAccepted, CheckFinished, ItemFailed, ItemQueued, ItemSkipped, Stamped, has_own_tree
from ..facts.verdicts import result_of

_ITEM = "item:"
"""Prefix of the name of an item's work; the item's key follows."""


def work_of(key: str) -> str:
    """Return the name of the work on an item."""
    return f"{_ITEM}{key}"


class SuspectItem(msgspec.Struct, frozen=True):
    """The suspect check result of an item, and the file that it is about."""

    check: CheckFinished
    content: str
    """Digest of the item's file. Empty means that the item does not wait for a decision."""

    @property
    def digest(self) -> str:
        """A digest that is equal for the same result about the same file."""
        return f"{result_of(self.check)} {self.content}"


@dataclass(slots=True)
class SuspectItems:
    """Suspect items of a search, derived from events only."""

    waiting: dict[str, SuspectItem] = field(default_factory=dict[str, SuspectItem])
    """Items that a person must decide about, by key."""
    accepted: dict[str, str] = field(default_factory=dict[str, str])
    """Key to the digest of the result that a person accepted last."""
    said: dict[str, str] = field(default_factory=dict[str, str])
    """Key to the answer of a person who did not accept the result."""
    seq: int = 0
    """Position of the newest waiting item in the journal."""
    _newest: dict[str, CheckFinished] = field(default_factory=dict[str, CheckFinished])

    @property
    def checks(self) -> list[CheckFinished]:
        """The results that a person must decide about."""
        return [one.check for one in self.waiting.values()]

    @property
    def digest(self) -> str:
        """Digest of the results and files that a person accepts. Empty means that no item waits."""
        found = sorted(one.digest for one in self.waiting.values())
        return hashlib.sha256(msgspec.json.encode(found)).hexdigest() if found else ""

    def is_accepted(self, key: str, check: CheckFinished, content: str) -> bool:
        """Return whether a person accepted exactly this result about exactly this file content."""
        return check.suspect is not None and self.accepted.get(key) == SuspectItem(check, content).digest

    def apply(self, stamped: Stamped) -> None:
        """Fold the next event into this state."""
        key = (stamped.work or "").removeprefix(_ITEM)
        match stamped.event:
            case CheckFinished() as check if not has_own_tree(stamped.work):
                self._newest.pop(key, None)
                if check.suspect is not None and not check.passed:
                    self._newest[key] = check
            case ItemFailed(key=failed, content=content) if content and failed in self._newest:
                self.waiting[failed] = SuspectItem(self._newest.pop(failed), content)
                self.seq = stamped.seq
            case CheckAccepted() if key in self.waiting:
                self.accepted[key] = self.waiting[key].digest
            case ItemQueued(key=queued, said=said):
                self.waiting.pop(queued, None)
                self.said.pop(queued, None)
                if said:
                    self.said[queued] = said
            case ItemSkipped(key=skipped):
                self.waiting.pop(skipped, None)
            case _:
                pass
