"""What passes between the run and a person: proposals, questions, messages, commands."""

from __future__ import annotations

from ..messages import ImageRef
from .base import EventBase


class ProposalOpened(EventBase, frozen=True, kw_only=True):
    """An action waits at the gate, or passed it by the policy."""

    proposal_id: str
    tool: str
    path: str | None = None
    """Relative to the workspace."""
    command: str | None = None
    diff: str = ""
    """Unified, of the whole change."""
    digest: str = ""
    """Of exactly what would be done: the bytes after, or the command line with its folder."""
    call_id: str = ""
    before: str | None = None
    """Blob of the bytes that the proposal was made from; None: the file did not exist."""
    after: str | None = None
    """Blob of the bytes that would be written; None for a command."""
    asks: list[str] = []
    """Why it waits, a line each; empty: the policy allows it."""
    danger: bool = False
    """A guarded or protected thing: asked about in every mode, never `always`."""
    rule: str | None = None
    """The rule that `always` would write, or None where there can be none."""
    sandbox: str | None = None
    beyond: str | None = None
    """What the sandbox refused to this command, which ran once already: to approve is to let it through, once."""
    cwd: str | None = None
    hunks: int = 0
    added: int = 0
    removed: int = 0
    who: str = ""
    """`try 2 of 3`, whose worktree it is about; empty: the run's own tree."""


class ProposalRebased(EventBase, frozen=True, kw_only=True):
    proposal_id: str
    diff: str
    digest: str
    before: str | None
    after: str | None
    conflict: bool = False
    """It no longer fits. It waits on: `again`, `mine`, or an `approve` with the person's own text."""
    merged: str | None = None
    """In conflict: blob of both versions in one text, with conflict marks, to be edited by hand."""
    why: str = ""
    hunks: int = 0
    added: int = 0
    removed: int = 0


class ProposalDecided(EventBase, frozen=True, kw_only=True):
    proposal_id: str
    decision: str
    """`approve`, `reject` or `part`."""
    by: str
    """`policy` or `person`."""
    reason: str | None = None
    rule: str | None = None
    """The rule that was written by `always`."""
    taken: int | None = None
    """Hunks that were taken, of `part`."""
    left: dict[int, str] = {}
    """Why a hunk was left, by its index, where the person said so."""
    after: str | None = None
    """Blob of the bytes that were approved, where they are not those of the proposal."""


class Undone(EventBase, frozen=True, kw_only=True):
    """Changes were taken back; each file that moved has a `file_changed` by `undo` before this."""

    changes: int
    """How many."""
    step: int | None = None
    """The files are as they were before this step, but for what is named below."""
    files: list[str] = []
    kept: list[str] = []
    """What could not be taken back, and why: `path: why`, a line each."""
    by: str = "person"


class QuestionAsked(EventBase, frozen=True, kw_only=True):
    question_id: str
    question: str
    options: list[str] = []


class QuestionAnswered(EventBase, frozen=True, kw_only=True):
    question_id: str
    text: str
    by: str = "person"


class Said(EventBase, frozen=True, kw_only=True):
    """A message of the person joined the conversation."""

    text: str
    kind: str = "say"
    """`task`, `say` or `steer`."""
    queued_id: int | None = None
    """The command that brought it, where it waited in the queue."""
    images: list[ImageRef] = []


class Queued(EventBase, frozen=True, kw_only=True):
    """A message of the person waits for the end of the step."""

    queued_id: int
    text: str
    images: list[ImageRef] = []


class Unqueued(EventBase, frozen=True, kw_only=True):
    """The message was taken back (not: delivered, which is `said`)."""

    queued_id: int


class Interrupted(EventBase, frozen=True, kw_only=True):
    """A person ended the call or the tool that ran."""

    what: str
    """`model`, `tool` or `check`."""
    detail: str = ""


class CommandTaken(EventBase, frozen=True, kw_only=True):
    command_id: int
    command: str
    """Its type."""


class CommandRefused(EventBase, frozen=True, kw_only=True):
    command_id: int
    command: str
    why: str


class PlanChanged(EventBase, frozen=True, kw_only=True):
    """The plan that the model keeps and the person sees."""

    lines: list[str]


class ConversationCut(EventBase, frozen=True, kw_only=True):
    """Messages before this point no longer go to the model: cleared, or replaced by `summary`."""

    summary: str | None = None
    kept: int = 0
    """Newest messages that stay as they are."""
    tokens_before: int = 0
    tokens_after: int = 0
    """By our own count, of a summary."""
    usd: float | None = 0.0
    """What the summary cost; None when unpriced."""
