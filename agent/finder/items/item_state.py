"""What surfaces, what is worked, and what a view reads of it."""

from __future__ import annotations

from enum import StrEnum
from typing import Protocol

import msgspec


class State(StrEnum):
    """Where an item stands. It is in exactly one of these."""

    QUEUED = "queued"
    """To be worked as soon as someone is free."""
    WAITING = "waiting"
    """Failed, to be worked again from a certain time on."""
    WORKING = "working"
    DONE = "done"
    SET_ASIDE = "set_aside"
    """Failed for good."""
    SKIPPED = "skipped"
    """A person does not want it worked."""


class Named(Protocol):
    """Anything that names an item: a Candidate, an Item, a Seed."""

    @property
    def kind(self) -> str:
        """One of KINDS."""
        ...

    @property
    def value(self) -> str:
        """As it was spelled."""
        ...


class Candidate(msgspec.Struct, frozen=True, gc=False):
    """Something that surfaced; whether it was seen before is the frontier's to say."""

    kind: str
    value: str


class Item(msgspec.Struct, frozen=True):
    """Something to be worked."""

    key: str
    kind: str
    value: str
    """As it was spelled when it first surfaced."""
    source: str
    """Key of the item, name of the lens, `seed` or `person` that brought it last."""
    attempts: int = 0
    """How often it failed."""
    due: float | None = None
    """Unix time before which it is not worked; None: at once."""


class Surfaced(msgspec.Struct, frozen=True):
    """What came of some candidates, in their order."""

    new: list[Item]
    """Nobody had seen them; they are queued."""
    known: list[tuple[str, str]]
    """(key, value as it was spelled this time) of those that were seen before."""


class Row(msgspec.Struct, frozen=True):
    """An item as a view shows it."""

    number: int
    """Its place in the order of its state: `page` goes on after it."""
    key: str
    kind: str
    value: str
    source: str
    state: State
    attempts: int
    due: float | None
    error: str
    """Of its last failure; empty where there was none."""


class Counts(msgspec.Struct, frozen=True):
    """How many there are of each."""

    queued: int = 0
    """Those that wait for their time included."""
    waiting: int = 0
    """Of the queued: those that failed and have a time before which they are not worked again."""
    working: int = 0
    done: int = 0
    set_aside: int = 0
    skipped: int = 0
    findings: int = 0
    """Keys of findings, whatever became of them."""

    @property
    def seen(self) -> int:
        """Keys of items, whatever became of them."""
        return self.queued + self.working + self.done + self.set_aside + self.skipped
