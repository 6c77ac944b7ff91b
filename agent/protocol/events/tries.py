"""Tries of a pass: candidates that each work in a worktree of their own."""

from __future__ import annotations

from .base import EventBase

_PREFIX = "try:"


class TryStarted(EventBase, frozen=True, kw_only=True):
    """A candidate begins. All its events have its name as their `work`."""

    number: int
    """The pass."""
    candidate: int
    """From 1."""
    tries: int
    """Candidates of the pass."""
    place: str
    """Its worktree."""


class TryFinished(EventBase, frozen=True, kw_only=True):
    """A candidate ended, and its changes are kept as a patch that git can apply."""

    number: int
    candidate: int
    tries: int
    why: str
    """What it ended for."""
    said: str = ""
    """What it did, in a line."""
    patch: str | None = None
    """Blob; None: it changed nothing."""
    base: str | None = None
    """The snapshot that it began with."""
    world: str | None = None
    """The snapshot of its worktree at its end."""
    files: list[str] = []
    change: str = ""
    """As in `PatchKept`."""
    fault: str | None = None
    """Why it failed; None: it did not."""
    retryable: bool = False
    lost: bool = False
    """The runner died while it worked. It is worked again."""


class TryMeasured(EventBase, frozen=True, kw_only=True):
    """The score of a candidate in its own worktree, or why it cannot be chosen."""

    number: int
    candidate: int
    tries: int
    score: float | None
    """None: it was not measured, or gave no usable number."""
    why: str = ""
    """Why it cannot be chosen; empty: it can."""
    not_measured: bool = False
    """The score command gave no usable number."""
    values: list[float] = []
    """As in `ScoreMeasured`."""
    noise: float | None = None
    seconds: float = 0.0


class TryChosen(EventBase, frozen=True, kw_only=True):
    """The best candidate, before its files are written into the run's tree and measured again there."""

    number: int
    candidate: int
    tries: int
    score: float
    """In its own worktree."""
    world: str
    """The snapshot of its worktree."""
    base: str
    """The snapshot of the run's tree before its files are written."""
    files: list[str]
    said: str = ""
    """As in `TryFinished`."""


def try_name(number: int, candidate: int) -> str:
    """Return the `work` of a candidate."""
    return f"{_PREFIX}{number}.{candidate}"


def is_try(work: str | None) -> bool:
    """Whether events with this `work` belong to a candidate."""
    return work is not None and work.startswith(_PREFIX)


def candidate_of(work: str | None) -> int | None:
    """Return the candidate behind the `work` of an event; None: it is not one."""
    return int(work.rpartition(".")[2]) if work is not None and is_try(work) else None
