"""The items of a frontier: candidates, states, and the rows that a view shows."""

from __future__ import annotations

from enum import StrEnum
from typing import Protocol

import msgspec

from ...protocol import ItemKind


class State(StrEnum):
    """The state of an item. It has exactly one."""

    QUEUED = "queued"
    """Will be worked as soon as a worker is free."""
    WAITING = "waiting"
    """Failed; will be worked again after a certain time."""
    WORKING = "working"
    DONE = "done"
    SET_ASIDE = "set_aside"
    """Failed permanently."""
    SKIPPED = "skipped"
    """A person skipped it."""


class Named(Protocol):
    """Anything that names an item: a Candidate, an Item or a Seed."""

    @property
    def kind(self) -> ItemKind:
        """The kind of the item."""
        ...

    @property
    def value(self) -> str:
        """The value as it was spelled."""
        ...


class Candidate(msgspec.Struct, frozen=True, gc=False):
    """A value that surfaced. The frontier knows whether it was seen before."""

    kind: ItemKind
    value: str


class Item(msgspec.Struct, frozen=True):
    """An item to be worked."""

    key: str
    kind: ItemKind
    value: str
    """The spelling with which it first surfaced."""
    source: str
    """What brought it last: the key of an item, the name of a lens, `seed` or `person`."""
    attempts: int = 0
    """How often it failed."""
    due: float | None = None
    """Unix time before which it is not worked. None means that it can be worked immediately."""


class Surfaced(msgspec.Struct, frozen=True):
    """The new and the known items of some candidates, in their order."""

    new: list[Item]
    """New items; they are queued."""
    known: list[tuple[str, str]]
    """(key, spelling of this time) of the items that were seen before."""


class ItemRow(msgspec.Struct, frozen=True):
    """An item as a view shows it."""

    number: int
    """Its place in the order of its state; pass it to `page` to get the following items."""
    key: str
    kind: ItemKind
    value: str
    source: str
    state: State
    attempts: int
    due: float | None
    error: str
    """Why it failed last; empty if it did not fail."""


class Counts(msgspec.Struct, frozen=True):
    """How many items have each state."""

    queued: int = 0
    """Includes those that wait for their time."""
    waiting: int = 0
    """Queued items that failed and are not worked again before a certain time."""
    working: int = 0
    done: int = 0
    set_aside: int = 0
    skipped: int = 0
    findings: int = 0
    """Keys of findings in any state."""

    @property
    def seen(self) -> int:
        """Keys of items in any state."""
        return self.queued + self.working + self.done + self.set_aside + self.skipped
