"""Events between the run and a person: proposals, questions, messages, commands."""

from __future__ import annotations

from typing import Literal

from ..effects import CommandEffects, EntryDecided
from ..messages import ImageRef
from .base import EventBase

DecidedAs = Literal["approve", "reject", "part"]
"""The decision on a proposal; `part`: not all of its hunks or entries, or not as they were proposed."""
DecidedBy = str
"""`policy`, `person`, or a client that the user allowed to decide: `mcp:NAME`, `python:NAME`."""
PERSON = "person"
CLIENT = "mcp:"
"""How the name of an MCP client begins wherever an event says who acted."""
PROGRAM = "python:"
"""How the name of a Python program begins there."""
DEVICE = "device:"
"""How the channel of a decision begins that a person made on a paired device."""
BY_DIGEST = "digest"
"""Channel of a decision that names a digest: nobody saw a diff."""
SaidKind = Literal["task", "say", "steer"]
Interruptible = Literal["model", "tool", "check"]
"""What a person can interrupt."""


CONFLICT = "conflict: "
"""How the reason of a decision on a proposal in conflict begins."""
KEPT_AS_IT_IS = "the file is kept as it is"
"""What such a reason says if the model does not make the change again."""


class ProposalOpened(EventBase, frozen=True, kw_only=True):
    """An action waits at the gate, or the policy allowed it."""

    proposal_id: str
    tool: str
    path: str | None = None
    """Relative to the workspace."""
    command: str | None = None
    diff: str = ""
    """Unified diff of the whole change; of what a command would change, the first 100,000 characters or so."""
    digest: str = ""
    """Digest of the exact action: the new content, the command line with its folder, a call's arguments, or the URL
    of a request."""
    call_id: str = ""
    before: str | None = None
    """Blob of the file content on which the proposal is based, or None if the file did not exist."""
    after: str | None = None
    """Blob of the proposed file content, of the arguments of a call, or of a plan; None for a command."""
    asks: list[str] = []
    """Why the proposal waits, one line per reason. Empty means the policy allows it."""
    needs: list[str] = []
    """What needs approval, in short: the names of the commands that no rule allows."""
    danger: bool = False
    """The action concerns something guarded or protected: the gate asks in every mode and never offers `always`."""
    rule: str | None = None
    """The rule that `always` would add, if it is exactly one."""
    rules: list[str] = []
    """The rules that `always` would add: one for each command of the line that no rule allows. Empty in older journals,
    and if no rules could allow it."""
    prefixes: list[str] = []
    """The rules that `always` would add instead with `prefix`. They also allow other arguments of these commands."""
    sandbox: str | None = None
    beyond: str | None = None
    """What the sandbox denied this command in its first run: approving allows it once."""
    is_outside: bool = False
    """The command would run outside of the sandbox."""
    cwd: str | None = None
    hunks: int = 0
    added: int = 0
    removed: int = 0
    who: str = ""
    """The try, such as `try 2 of 3`, whose worktree the proposal is for. Empty means the run's own tree."""
    file: int = 0
    """Place of its file among those that this answer of the model changes, from 1. 0 means that the answer changes only
    one."""
    files: int = 0
    """Number of files that the answer changes. 0 means one, or it is unknown."""
    server: str | None = None
    """The MCP server whose tool is called, or whose other tools wait for a decision."""
    name: str | None = None
    """The server's own name of the tool. Empty means that the proposal is about the server's list of tools."""
    call: str | None = None
    """The arguments of the call as JSON, or what differs from the accepted list of tools."""
    plan: str | None = None
    """A plan with its check, as the text that a person can edit."""
    url: str | None = None
    """The URL of a web request, as it is sent."""
    host: str | None = None
    """The host of that URL as a rule has it: with its port, if that is neither 80 nor 443."""
    query: str | None = None
    """The words of a web search."""
    effects: CommandEffects | None = None
    """What a command would change, instead of one path. `hunks`, `added` and `removed` then count all entries."""

    @property
    def request(self) -> str:
        """A web request as text: its URL, and below it the words of a search. Empty if it is something else."""
        return (self.url or "") + (f"\nfor: {self.query}" if self.query is not None else "")


class ProposalRebased(EventBase, frozen=True, kw_only=True):
    """The file changed while the proposal waited, so the proposal was rebased on the new content."""

    proposal_id: str
    diff: str
    digest: str
    before: str | None
    after: str | None
    conflict: bool = False
    """The proposal no longer fits. It still waits: for `again`, `mine`, or an `approve` with the person's own text."""
    merged: str | None = None
    """In a conflict: blob of both versions in one text with conflict markers, to be edited by hand."""
    why: str = ""
    hunks: int = 0
    added: int = 0
    removed: int = 0


class ProposalDecided(EventBase, frozen=True, kw_only=True):
    """The policy or a person decided a proposal."""

    proposal_id: str
    decision: DecidedAs
    by: DecidedBy
    reason: str | None = None
    rule: str | None = None
    """The rule that `always` added, if it is exactly one."""
    rules: list[str] = []
    """The rules that `always` added. Empty in older journals."""
    taken: int | None = None
    """With `part`: number of accepted hunks."""
    left: dict[int, str] = {}
    """Why a hunk was skipped, by its index, if the person gave a reason."""
    cuts: dict[int, list[int]] = {}
    """How hunks were split, as in `Decide`: `taken` and `left` then count the parts."""
    after: str | None = None
    """Blob of the approved content, if it differs from the proposal."""
    entries: dict[int, EntryDecided] = {}
    """With `effects`: the entries that were not accepted exactly as proposed, by their index."""
    channel: str = ""
    """The program through which it was decided, such as `acp:zed` or `device:phone`. Empty means a view of rundry or
    its command line."""


class Undone(EventBase, frozen=True, kw_only=True):
    """Changes were undone. Before this event, each changed file has a `file_changed` event by `undo`."""

    changes: int
    """Number of undone changes."""
    step: int | None = None
    """The files are as they were before this step, except those in `kept`."""
    path: str | None = None
    """Only the changes of this file were undone."""
    files: list[str] = []
    kept: list[str] = []
    """What could not be undone, and why: `path: why`, one line each."""
    unconfirmed: list[str] = []
    """The files of `kept` that a command changed in place: they are undone when a person names them."""
    by: str = "person"
    """`person`, a client, `program`, or `restart`: the run takes back an answer that did not pass the check."""
    order: str = ""
    """The order that `undo_accepted` names, or empty if there was none."""
    also: list[str] = []
    """What else was undone, in words: files that have no events of their own, and changes in repositories."""


class QuestionAsked(EventBase, frozen=True, kw_only=True):
    """The model asked the person a question, or an MCP server did during a call: then the id begins with the call's."""

    question_id: str
    question: str
    options: list[str] = []


class QuestionAnswered(EventBase, frozen=True, kw_only=True):
    """The question was answered, by the person or by the program."""

    question_id: str
    text: str
    by: str = "person"


class Said(EventBase, frozen=True, kw_only=True):
    """A message of the person was added to the conversation."""

    text: str
    kind: SaidKind = "say"
    queued_id: int | None = None
    """The id of the command that sent the message, if the message was queued."""
    images: list[ImageRef] = []
    by: str = PERSON
    """The sender: `person`, or a client (`mcp:NAME`, `python:NAME`)."""


class Queued(EventBase, frozen=True, kw_only=True):
    """A message of the person waits until the step ends."""

    queued_id: int
    text: str
    images: list[ImageRef] = []
    by: str = PERSON
    """As in `Said`."""


class Unqueued(EventBase, frozen=True, kw_only=True):
    """A queued message was withdrawn. (A delivered message has the event `said`.)"""

    queued_id: int


class Interrupted(EventBase, frozen=True, kw_only=True):
    """A person interrupted the current call or tool."""

    what: Interruptible
    detail: str = ""


class CommandTaken(EventBase, frozen=True, kw_only=True):
    """The runner accepted a command from the inbox."""

    command_id: int
    command: str
    """Type of the command."""


class CommandRefused(EventBase, frozen=True, kw_only=True):
    """The runner refused a command from the inbox."""

    command_id: int
    command: str
    why: str


class PlanChanged(EventBase, frozen=True, kw_only=True):
    """The model changed its plan, which the person can see."""

    lines: list[str]


class PlanAccepted(EventBase, frozen=True, kw_only=True):
    """A person accepted a plan, perhaps after an edit. The run ends with it, and another one carries it out."""

    lines: list[str]
    """One step each."""
    check: str | None = None
    """The command that decides when the task is done. None means that the plan has none."""
    run_id: str
    """Id of the run that carries it out, once that has begun."""


class ConversationCut(EventBase, frozen=True, kw_only=True):
    """Messages before this point are no longer sent to the model: they were cleared, or replaced by `summary`."""

    summary: str | None = None
    kept: int = 0
    """Number of newest messages that remain unchanged."""
    tokens_before: int = 0
    tokens_after: int = 0
    """Tokens after a summary, as counted by this program."""
    usd: float | None = 0.0
    """Cost of the summary, or None if the price is unknown."""


def is_device(channel: str) -> bool:
    """Return whether a person decided through this channel on a paired device."""
    return channel.startswith(DEVICE)


def is_client(by: str) -> bool:
    """Return whether an MCP client or a Python program acted, and not a person or rundry itself."""
    return by.startswith((CLIENT, PROGRAM))


PersonEvent = (
    ProposalOpened
    | ProposalRebased
    | ProposalDecided
    | QuestionAsked
    | QuestionAnswered
    | Said
    | Queued
    | Unqueued
    | Interrupted
    | CommandTaken
    | CommandRefused
    | PlanChanged
    | PlanAccepted
    | ConversationCut
    | Undone
)
"""The events of this module."""
