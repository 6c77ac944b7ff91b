"""Settings of the interval, paced and improve loops (docs/requirements.md 2.5, 2.6, 2.7)."""

from __future__ import annotations

from enum import StrEnum

import msgspec

PROTECTED = ("main", "master")
"""Branches on which a pass must not commit, unless the user allows it."""
CACHE_TTL = 300.0
"""Seconds for which a prompt cache keeps its content, unless the provider or the user gives another value."""


class Branch(msgspec.Struct, frozen=True, kw_only=True):
    """Where passes work and commit."""

    protected: list[str] = msgspec.field(default_factory=lambda: list(PROTECTED))
    worktree_of: str | None = None
    """The user's folder, if the workspace is the run's own git worktree. None: the workspace is the user's folder."""
    name: str | None = None
    """The branch that was created with that worktree."""


class IntervalSpec(msgspec.Struct, frozen=True, kw_only=True):
    """Settings of an interval run: a fresh pass at fixed times."""

    every: float
    """Seconds from the start of a pass to the start of the next."""
    branch: Branch = Branch()
    pass_steps: int = 30
    """Maximum number of steps of one pass."""


class PacedSpec(msgspec.Struct, frozen=True, kw_only=True):
    """Settings of a paced run: the model chooses the delay before its next step."""

    cache_ttl: float | None = CACHE_TTL
    """Lifetime of the prompt cache in seconds. None: the model has no prompt cache."""
    ttl_asked: bool = False
    """The user set `cache_ttl`: it also applies to a model without a known cache."""


class Better(StrEnum):
    """The direction in which a score improves."""

    MAX = "max"
    MIN = "min"


class ImproveSpec(msgspec.Struct, frozen=True, kw_only=True):
    """Settings of an improve run: passes that try to improve a score."""

    score: str
    """The command that prints the score."""
    goal: Better = Better.MAX
    patience: int = 3
    """The run ends after this many passes without an improvement, or without a measurement."""
    min_delta: float = 0.0
    """For the plateau, the best score improved if it changed by more than this. Any better result is kept."""
    repeat: int = 1
    """Number of measurements of each score; the median counts."""
    tries: int = 1
    """Candidates per pass, each in its own worktree; the best one is kept."""
    concurrency: int = 8
    """Maximum number of tries that run at the same time."""
    bounded: bool = False
    """The user set at least one finite limit."""
    branch: Branch = Branch()
    pass_steps: int = 15
    """Maximum number of steps of one pass."""
