"""Events of one step: the model call, the streamed answer and the tool calls."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from ..messages import ImageRef, SeenContent
from ..model import FaultKind
from .base import EventBase

FinishKind = Literal["stop", "tool_calls", "length", "cut", "empty", "refusal", "interrupted"]
"""How a model's answer ended."""
CalledBy = Literal["model", "person"]
"""Origin of a tool call. The calls of a person in control are not part of the conversation."""
ChangedBy = Literal["model", "command", "background", "person", "restore", "undo"]
ProgramFault = Literal[
    "program",  # a fault in this program
    "escalate",  # the stronger model cannot take over
]
RecordedFault = Literal[FaultKind, ProgramFault]
PromptKind = Literal["task", "check", "nudge", "hint", "review", "wake"]
"""Why the program sends a message with a work order."""
MessageKind = Literal[
    PromptKind,
    "system",
    "file",  # the message of a try in a file format: it replaces the conversation after what the person said
    "attached",  # a file that a message of the person names, in a chat in a file format
    "unused",  # why code of an answer in a chat was not used
    "guard",
    "wrap_up",
    "instructions",
    "mcp",  # what an MCP server says about its tools
    "diagnostics",  # new problems in the files that a step changed
    "changed",  # another session changed files that the model has seen
    "shell",
    "undo",
    "wheel",
    "background",
    "compact",
    "handover",
    "again",  # the start after a stall: it replaces the conversation after what the person said
    "note",
    "hook",  # what a hook tells the model
]
"""Why the program sends a message to the model."""
StallKind = Literal[
    "repeat",
    "error",
    "same-error",
    "refused",
    "cycle",
    "oscillation",
    "monologue",
    "empty",
    "stagnation",
    "poll",
    "chant",
    "tool-errors",
]
StallEnd = Literal["handoff", "stop", "escalate", "restart"]
"""How a run continues after the hint did not help. `escalate`: with a stronger model. `restart`: from the best
state.
"""
StallResponse = Literal["hint", StallEnd]


class StepStarted(EventBase, frozen=True, kw_only=True):
    """A step starts, with its number in the run."""

    number: int


class StepFinished(EventBase, frozen=True, kw_only=True):
    """A step ended, with its time and the state of the workspace."""

    number: int
    seconds: float = 0.0
    """Seconds in which a model, a tool or a check of this step ran."""
    world: str | None = None
    """Fingerprint of the workspace after the step."""


class ContextTrimmed(EventBase, frozen=True, kw_only=True):
    """The conversation was trimmed to fit the context window."""

    dropped_messages: int
    dropped_tokens: int
    window: int
    upto: int = 0
    """Messages before this index are no longer sent to the model, except the kept ones."""
    shortened: int = 0
    """Number of texts that were cut in the middle because even the newest round did not fit."""
    images: int = 0
    """Number of images that did not fit and were replaced by a line of text in this call."""


class ImagesRefused(EventBase, frozen=True, kw_only=True):
    """The provider refused a call because of its images. In later calls a line of text replaces them."""

    model: str
    shas: list[str] = []
    """Images that are not sent to this model again. Empty means that it gets no images at all."""


class PromptShortened(EventBase, frozen=True, kw_only=True):
    """The context window is small, or the server reads slowly, so the model gets shortened instructions or tool
    descriptions from now on.
    """

    window: int
    seconds: float | None = None
    """Time in which the server would read the whole prompt, if that is the reason."""
    file: str = ""
    """Name of the instructions file, if it was shortened."""
    kept: int = 0
    """Number of characters of the instructions that are sent."""
    length: int = 0
    """Number of characters of the whole instructions."""
    brief_tools: bool = False
    """Each tool is described in one sentence."""
    tools_left_out: list[str] = []


class CallAdmitted(EventBase, frozen=True, kw_only=True):
    """The budget admits the next call: its prompt was counted and its worst case fits."""

    prompt_tokens: int
    """Tokens of the prompt as counted by this program, without the margin."""
    max_tokens: int
    worst_usd: float | None
    """Worst-case cost, or None if the price is unknown."""
    worst_tokens: int = 0
    """Tokens of the prompt with its margin, plus `max_tokens`."""
    model: str = ""
    wrap_up: bool = False


class TextArrived(EventBase, frozen=True, kw_only=True):
    """A part of the streamed answer arrived."""

    text: str


class ReasoningArrived(EventBase, frozen=True, kw_only=True):
    """A part of the streamed reasoning arrived."""

    text: str


class ReasoningKept(EventBase, frozen=True, kw_only=True):
    """The answer has parts that must be sent back to the provider: signatures, encrypted reasoning.

    Comes before `ReplyFinished`.
    """

    maker: str
    sha: str
    """Blob of the parts as JSON."""
    tokens: int = 0
    """Tokens that they add to a later prompt, as counted by this program."""


class Charged(EventBase, frozen=True, kw_only=True):
    """The tokens and the cost of a call were booked."""

    tokens_in: int
    tokens_out: int
    tokens_cached: int = 0
    tokens_reasoning: int = 0
    tokens_written: int = 0
    """Tokens of the prompt that the provider wrote to its cache."""
    usd: float | None = 0.0
    """Cost of the call. None means that neither the price is known nor did the provider report a cost."""
    reported_usd: float | None = None
    """Cost in USD that the provider reported for the call. Not booked if it is a small part of `listed_usd`."""
    listed_usd: float | None = None
    """Cost in USD of these tokens at the model's price, for a call with a reported cost."""
    estimated: bool = False
    is_cut: bool = False
    """The answer broke off: a person, a kill or a fault ended the call."""
    held_tokens: int = 0
    """Tokens that may have been billed in addition, up to the admitted worst case. They count against the limit."""
    held_usd: float = 0.0
    held_until: float | None = None
    """In journals of earlier versions: Unix time at which the hold was to be released."""
    model: str = ""
    prompt_counted: int = 0
    """Tokens of the prompt as counted by this program, from which it learns the margin."""


class HoldReleased(EventBase, frozen=True, kw_only=True):
    """The amount held for a call does not count against a limit any more. Only earlier versions recorded this."""

    charge: int
    """Number of its `Charged` event in the journal."""
    tokens: int
    usd: float


class ReplyFinished(EventBase, frozen=True, kw_only=True):
    """The model's answer is complete or was cut off; `finish` says which."""

    finish: FinishKind
    calls: int = 0


class ToolCalled(EventBase, frozen=True, kw_only=True):
    """A tool call starts, with its arguments as they were understood."""

    call_id: str
    tool: str
    arguments: Any
    """The parsed arguments, or the raw text if it is not JSON."""
    repaired: bool = False
    by: CalledBy = "model"
    from_text: bool = False
    """The program made the call of code in a chat's answer: a person decides in every mode of the gate."""
    seen: SeenContent | None = None
    """The content of the file for which a file format made the call, which keeps the lines that were not shown."""


class ToolFinished(EventBase, frozen=True, kw_only=True):
    """A tool call ended, with the result that the model reads."""

    call_id: str
    tool: str
    ok: bool
    result: str
    """The result that is sent to the model. If it was shortened, the blob `full` has all of it."""
    seconds: float = 0.0
    """Of a command: how long it ran, without the wait for a decision."""
    full: str | None = None
    summary: str | None = None
    """A short text for a folded line: `84 lines`, `exit 1`."""
    by: CalledBy = "model"
    disturbed: list[str] = []
    """Of a command: what it changed and was not applied. It then does not count as a required action."""
    seen: SeenContent | None = None
    """What the model sees of a file with this result, or with the call that wrote it."""
    images: list[ImageRef] = []
    """Images of the result. The model gets them in a message after the last result of the answer."""
    stays: str = ""
    """Of a child run: why what it changed stays in its stage, with the command that shows it. Empty if nothing does."""


class NotStored(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A content that the journal does not have: it is too large, or a secret."""

    size: int
    digest: str = ""
    """SHA-256, or empty if it is not known."""


class FileChanged(EventBase, frozen=True, kw_only=True):
    """A file of the workspace changed."""

    path: str
    """Relative to the workspace."""
    by: ChangedBy
    before: str | None
    """Blob of the old content, or None if the file did not exist, or is too large to store."""
    after: str | None
    unstored_before: NotStored | None = None
    """The old content, if it is not stored. None means that it is stored, or that the file did not exist."""
    unstored_after: NotStored | None = None
    """The new content, if it is not stored."""
    added: int = 0
    removed: int = 0
    command: str | None = None
    """With `background`: the command that is running."""
    staged: bool = False
    """Whether it changed in the stage of the run, and not in the workspace."""
    folders: list[str] | None = None
    """Folders that were made for it, which an undo removes if they are empty. None means all that are empty."""

    @property
    def old(self) -> str | None:
        """SHA-256 of the old content, or None if there was no file, or it is not known."""
        return digest_of_content(self.before, self.unstored_before)

    @property
    def new(self) -> str | None:
        """SHA-256 of the new content, or None if there is no file, or it is not known."""
        return digest_of_content(self.after, self.unstored_after)


def digest_of_content(blob: str | None, unstored: NotStored | None) -> str | None:
    """Return the SHA-256 of a content, or None if there is none, or it is not known."""
    return unstored.digest or None if unstored is not None else blob


class ChangeCommitted(EventBase, frozen=True, kw_only=True):
    """An edit of the model became its own git commit, or failed to; each reason is reported once."""

    path: str
    commit: str | None = None
    why_not: str = ""
    note: str = ""
    """Output of a hook that ran after the commit."""


class Snapshotted(EventBase, frozen=True, kw_only=True):
    """The workspace was stored, before the events that describe a change. Only older versions store it."""

    world: str | None
    """Its tree in the store next to the journal, or None if none is stored from now on."""
    layer: bool = False
    """It was not stored: what the command that runs now changes is known without it."""


class Fault(EventBase, frozen=True, kw_only=True):
    """A call, a tool or the program failed."""

    kind: RecordedFault
    text: str
    retry_in: float | None = None
    """Seconds until the next attempt. None means no further attempt."""
    trace: str | None = None
    """The traceback, for a fault in this program (kind `program`)."""


class Prompted(EventBase, frozen=True, kw_only=True):
    """The program sent a message to the model."""

    kind: MessageKind
    text: str
    images: list[ImageRef] = []
    """The person's images, in the task of a pass."""
    path: str = ""
    """With `attached`: the file, relative to the workspace."""
    seen: list[SeenContent] = []
    """With `changed`: the new contents, of which no lines are shown. An empty digest means that the file is gone."""


class StallDetected(EventBase, frozen=True, kw_only=True):
    """A detector reports that the run repeats itself."""

    kind: StallKind
    """What repeats. `monologue`: the same plan in words; `chant`: the same words within an answer."""
    signature: str
    response: StallResponse


StepEvent = (
    StepStarted
    | StepFinished
    | ContextTrimmed
    | PromptShortened
    | ImagesRefused
    | CallAdmitted
    | TextArrived
    | ReasoningArrived
    | ReasoningKept
    | Charged
    | HoldReleased
    | ReplyFinished
    | ToolCalled
    | ToolFinished
    | FileChanged
    | ChangeCommitted
    | Fault
    | Prompted
    | Snapshotted
    | StallDetected
)
"""The events of this module."""
