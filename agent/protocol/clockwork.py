"""What the loops of clock, delay and money are told beside their task (docs/requirements.md 2.5, 2.6, 2.7)."""

from __future__ import annotations

from enum import StrEnum

import msgspec

PROTECTED = ("main", "master")
"""Branches on which no pass may commit, unless the user says otherwise."""
CACHE_TTL = 300.0
"""Seconds that a prompt cache keeps what it read, unless the provider or the user says otherwise."""


class Branch(msgspec.Struct, frozen=True, kw_only=True):
    """Where passes work and commit."""

    protected: list[str] = msgspec.field(default_factory=lambda: list(PROTECTED))
    worktree_of: str | None = None
    """The user's folder, where the workspace is a git worktree of the run's own; None: it is the user's folder."""
    name: str | None = None
    """The branch of that worktree, made with it."""


class IntervalSpec(msgspec.Struct, frozen=True, kw_only=True):
    """A fresh pass on a clock."""

    every: float
    """Seconds from the start of a pass to the start of the next."""
    branch: Branch = Branch()
    pass_steps: int = 30
    """Steps that one pass may take."""


class PacedSpec(msgspec.Struct, frozen=True, kw_only=True):
    """The model picks its next delay."""

    cache_ttl: float | None = CACHE_TTL
    """Seconds; None: there is no cache whose lifetime would matter."""
    ttl_asked: bool = False
    """The user said so: it holds for a model of which no cache is known, too."""


class Better(StrEnum):
    """Which way a score has to move."""

    MAX = "max"
    MIN = "min"


class ImproveSpec(msgspec.Struct, frozen=True, kw_only=True):
    """A score that has to move."""

    score: str
    """The command that prints it."""
    goal: Better = Better.MAX
    patience: int = 3
    """Passes without an improvement, or without a measurement, after which the run ends."""
    min_delta: float = 0.0
    """For the plateau, the best score has improved if it moved by more than this. Any better result is kept."""
    repeat: int = 1
    """Measurements of each score; their median counts."""
    tries: int = 1
    """Candidates of each pass, each in a worktree of its own; the best one is kept."""
    concurrency: int = 8
    """Tries that run at the same time."""
    bounded: bool = False
    """At least one limit was asked for, and is finite."""
    branch: Branch = Branch()
    pass_steps: int = 15
    """Steps that one pass may take."""
