"""A hand-off: what whoever takes it up has to know, in one record (docs/requirements.md 5.2)."""

from __future__ import annotations

from typing import Any

import msgspec

from .budget import Budget, Spent


class LastAction(msgspec.Struct, frozen=True, kw_only=True):
    step: int | None = None
    tool: str = ""
    arguments: Any = None
    """As the model gave them."""
    ok: bool | None = None
    """None: it has no result yet."""
    result: str = ""


class OpenProposal(msgspec.Struct, frozen=True, kw_only=True):
    """It waits, or nobody was there to ask."""

    proposal_id: str = ""
    """Empty: it was refused, and cannot be decided on any more."""
    digest: str = ""
    """As in `ProposalOpened`."""
    tool: str = ""
    path: str | None = None
    command: str | None = None
    diff: str = ""


class ChangedFile(msgspec.Struct, frozen=True, kw_only=True):
    """One file as it was before the run's tools touched it, and as they left it."""

    path: str
    diff: str = ""
    """Unified; shortened where it is long, and says so."""
    added: int = 0
    removed: int = 0


class FailingCheck(msgspec.Struct, frozen=True, kw_only=True):
    command: str = ""
    exit_code: int | None = None
    timed_out: bool = False
    failing: int | None = None
    """Tests, where the output counts them."""
    output: str = ""
    """Its tail."""
    suspect: str = ""
    """Why exit code 0 was not taken for a pass; empty: it is not suspect."""
    missing: list[str] = []
    """Tests that ran before and not now, at most 50."""
    missing_count: int = 0
    digest: str = ""
    """Of the suspect results of all checks: what a person accepts or rejects. Empty: it is not suspect."""


class Tried(msgspec.Struct, frozen=True, kw_only=True):
    """One approach that did not help."""

    what: str
    """In a few words: `edit calc/core.py`, or what a detector saw repeated."""
    why: str = ""
    """How it failed, in a line."""
    times: int = 1


class ModelShare(msgspec.Struct, frozen=True, kw_only=True):
    """What one model used of the run."""

    model: str
    calls: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    usd: float | None = 0.0
    """None: at least one call had no price."""


class HandoffRecord(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that nobody should have to find out again. A journal of an earlier version fills a part of it."""

    task: str = ""
    last_actions: list[LastAction] = []
    """Oldest first."""
    open_proposals: list[OpenProposal] = []
    questions: list[str] = []
    """What the model asked and nobody answered."""
    files_changed: list[str] = []
    """Sorted paths relative to the workspace."""
    changes: list[ChangedFile] = []
    """The same with their diffs."""
    failing_check: FailingCheck | None = None
    tried: list[Tried] = []
    """Oldest first; each approach once."""
    spent: Spent = Spent()
    budget: Budget = Budget()
    shares: list[ModelShare] = []
    """By model, in the order of their first calls."""
