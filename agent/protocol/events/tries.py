"""Events about the tries of a pass, each of which works in a layer or copy of its own."""

from __future__ import annotations

from .base import EventBase

_PREFIX = "try:"


class TryStarted(EventBase, frozen=True, kw_only=True):
    """A try starts. All its events have its name as their `work`."""

    number: int
    """Number of the pass."""
    candidate: int
    """Number of the try, from 1."""
    tries: int
    """Number of tries in the pass."""
    place: str
    """The folder of its layer or copy."""
    layer: bool = False
    """False means that it worked in a git worktree, in an older version."""


class TryFinished(EventBase, frozen=True, kw_only=True):
    """A try ended, and its changes are kept as a git patch."""

    number: int
    candidate: int
    tries: int
    why: str
    """Why the try ended."""
    said: str = ""
    """Summary of what it did, in one line."""
    patch: str | None = None
    """Blob of the patch. None means that it changed nothing."""
    base: str | None = None
    """In journals of older versions: the snapshot at its start."""
    world: str | None = None
    """In journals of older versions: the snapshot of its worktree at its end."""
    files: list[str] = []
    change: str = ""
    """As in `PatchKept`."""
    fault: str | None = None
    """Why it failed, or None if it did not fail."""
    retryable: bool = False
    lost: bool = False
    """The runner died while the try was working. The try is started again."""
    exhausted: bool = False
    """A limit of the budget ended it."""


class TryMeasured(EventBase, frozen=True, kw_only=True):
    """The score of a try in its own files, or why it cannot be chosen."""

    number: int
    candidate: int
    tries: int
    score: float | None
    """None means that it was not measured, the command printed no usable number, or the run has no score."""
    why: str = ""
    """Why the try cannot be chosen. Empty means that it can be chosen."""
    not_measured: bool = False
    """The score command printed no usable number."""
    values: list[float] = []
    """As in `ScoreMeasured`."""
    noise: float | None = None
    seconds: float = 0.0
    lines: int | None = None
    """In a goal run: number of lines that it added and removed. None means that its check does not pass."""


class TryChosen(EventBase, frozen=True, kw_only=True):
    """The best try. Its changes are those of the pass from here on."""

    number: int
    candidate: int
    tries: int
    score: float | None = None
    """The score in its own files. None means that the run has no score."""
    place: str = ""
    """The folder of its layer or copy."""
    world: str = ""
    """In journals of older versions: the snapshot of its worktree."""
    base: str = ""
    """In journals of older versions: the snapshot of the run's tree before the files are written."""
    files: list[str]
    said: str = ""
    """As in `TryFinished`."""
    lines: int | None = None
    """As in `TryMeasured`."""


def try_name(number: int, candidate: int) -> str:
    """Return the `work` name of a try."""
    return f"{_PREFIX}{number}.{candidate}"


def is_try(work: str | None) -> bool:
    """Return whether events with this `work` belong to a try."""
    return work is not None and work.startswith(_PREFIX)


def candidate_of(work: str | None) -> int | None:
    """Return the number of the try with this `work`, or None if it is not a try."""
    return int(work.rpartition(".")[2]) if work is not None and is_try(work) else None


TriesEvent = TryStarted | TryFinished | TryMeasured | TryChosen
"""The events of this module."""
