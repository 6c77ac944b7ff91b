"""A wait for a lock, as a view shows it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class LockWait:
    """A lock that a step waits for."""

    work: str | None
    lock: str
    holder: str
    since: float
    """Unix time."""
