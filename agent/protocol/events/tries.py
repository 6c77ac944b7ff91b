"""Events about the tries of a pass: candidates that each work in their own worktree."""

from __future__ import annotations

from .base import EventBase

_PREFIX = "try:"


class TryStarted(EventBase, frozen=True, kw_only=True):
    """A candidate starts. All its events have its name as their `work`."""

    number: int
    """Number of the pass."""
    candidate: int
    """Number of the candidate, from 1."""
    tries: int
    """Number of candidates in the pass."""
    place: str
    """Path of its worktree, or the folder of its layer."""
    layer: bool = False
    """It works in a layer."""


class TryFinished(EventBase, frozen=True, kw_only=True):
    """A candidate ended, and its changes are kept as a git patch."""

    number: int
    candidate: int
    tries: int
    why: str
    """Why the candidate ended."""
    said: str = ""
    """Summary of what it did, in one line."""
    patch: str | None = None
    """Blob of the patch; None: it changed nothing."""
    base: str | None = None
    """The snapshot at its start."""
    world: str | None = None
    """The snapshot of its worktree at its end."""
    files: list[str] = []
    change: str = ""
    """As in `PatchKept`."""
    fault: str | None = None
    """Why it failed; None: it did not fail."""
    retryable: bool = False
    lost: bool = False
    """The runner died while the candidate was working. The candidate is started again."""
    exhausted: bool = False
    """A limit of the budget ended it."""


class TryMeasured(EventBase, frozen=True, kw_only=True):
    """The score of a candidate in its own worktree, or why it cannot be chosen."""

    number: int
    candidate: int
    tries: int
    score: float | None
    """None: not measured, or the command printed no usable number, or the run has no score."""
    why: str = ""
    """Why the candidate cannot be chosen; empty: it can be chosen."""
    not_measured: bool = False
    """The score command printed no usable number."""
    values: list[float] = []
    """As in `ScoreMeasured`."""
    noise: float | None = None
    seconds: float = 0.0
    lines: int | None = None
    """In a goal run: number of lines that it added and removed; None: its check does not pass."""


class TryChosen(EventBase, frozen=True, kw_only=True):
    """The best candidate, before its files are written to the run's tree and measured again there."""

    number: int
    candidate: int
    tries: int
    score: float | None = None
    """The score in its own worktree; None: the run has no score."""
    world: str
    """The snapshot of its worktree."""
    base: str
    """The snapshot of the run's tree before the files are written."""
    files: list[str]
    said: str = ""
    """As in `TryFinished`."""
    lines: int | None = None
    """As in `TryMeasured`."""


def try_name(number: int, candidate: int) -> str:
    """Return the `work` name of a candidate."""
    return f"{_PREFIX}{number}.{candidate}"


def is_try(work: str | None) -> bool:
    """Return whether events with this `work` belong to a candidate."""
    return work is not None and work.startswith(_PREFIX)


def candidate_of(work: str | None) -> int | None:
    """Return the number of the candidate with this `work`; None: it is not a candidate."""
    return int(work.rpartition(".")[2]) if work is not None and is_try(work) else None


TriesEvent = TryStarted | TryFinished | TryMeasured | TryChosen
"""The events of this module."""
