"""The record of a hand-off: everything that a person or model needs to continue the run (docs/requirements.md 5.2)."""

from __future__ import annotations

from typing import Any

import msgspec

from .budget import Budget, Spent


class LastAction(msgspec.Struct, frozen=True, kw_only=True):
    step: int | None = None
    tool: str = ""
    arguments: Any = None
    """The arguments as the model wrote them."""
    ok: bool | None = None
    """Whether the action succeeded. None means no result yet."""
    result: str = ""


class OpenProposal(msgspec.Struct, frozen=True, kw_only=True):
    """A proposal that waits for a decision, or that was refused because nobody was available to ask."""

    proposal_id: str = ""
    """Id of the open proposal. Empty means that it was refused and can no longer be decided."""
    digest: str = ""
    """As in `ProposalOpened`."""
    tool: str = ""
    path: str | None = None
    command: str | None = None
    call: str | None = None
    """The arguments of a call of an MCP server, as JSON."""
    diff: str = ""


class ChangedFile(msgspec.Struct, frozen=True, kw_only=True):
    """One changed file, compared with its content before the run's tools first changed it."""

    path: str
    diff: str = ""
    """Unified diff; a long one is shortened and marked as such."""
    added: int = 0
    removed: int = 0


class FailingCheck(msgspec.Struct, frozen=True, kw_only=True):
    command: str = ""
    exit_code: int | None = None
    timed_out: bool = False
    failing: int | None = None
    """Number of failing tests, if the output counts them."""
    output: str = ""
    """The end of the output."""
    suspect: str = ""
    """Why exit code 0 does not count as a pass. Empty means that the check is not suspect."""
    missing: list[str] = []
    """Tests that ran before but did not run now, at most 50."""
    missing_count: int = 0
    digest: str = ""
    """Digest of the suspect results of all checks, which a person accepts or rejects. Empty means that no check is
    suspect."""


class Tried(msgspec.Struct, frozen=True, kw_only=True):
    """One approach that did not help."""

    what: str
    """A short description: `edit calc/core.py`, or the repetition that a detector reported."""
    why: str = ""
    """How it failed, in one line."""
    times: int = 1


class ModelShare(msgspec.Struct, frozen=True, kw_only=True):
    """What one model used in the run."""

    model: str
    calls: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    usd: float | None = 0.0
    """Cost in USD. None means that at least one call had no price."""


class HandoffRecord(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that is needed to continue the run. A journal of an earlier version fills only some fields."""

    task: str = ""
    last_actions: list[LastAction] = []
    """Oldest first."""
    open_proposals: list[OpenProposal] = []
    questions: list[str] = []
    """Questions of the model that nobody answered."""
    files_changed: list[str] = []
    """Sorted paths relative to the workspace."""
    changes: list[ChangedFile] = []
    """The changed files with their diffs."""
    failing_check: FailingCheck | None = None
    tried: list[Tried] = []
    """Oldest first; each approach once."""
    spent: Spent = Spent()
    budget: Budget = Budget()
    shares: list[ModelShare] = []
    """Usage by model, in the order of their first calls."""
    staged_child: str = ""
    """Id of the child run whose staged result a person has to decide on with `rundry apply`."""
