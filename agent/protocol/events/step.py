"""Events of one step: the model call, the streamed answer and the tool calls."""

from __future__ import annotations

from typing import Any

from ..messages import ImageRef
from .base import EventBase


class StepStarted(EventBase, frozen=True, kw_only=True):
    number: int


class StepFinished(EventBase, frozen=True, kw_only=True):
    number: int
    seconds: float = 0.0
    """Seconds in which a model, a tool or a check of this step ran."""
    world: str | None = None
    """Fingerprint of the workspace after the step."""


class ContextTrimmed(EventBase, frozen=True, kw_only=True):
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
    """Images that are not sent to this model again; empty: it gets no images at all."""


class PromptShortened(EventBase, frozen=True, kw_only=True):
    """The context window is small, so the model gets shortened instructions or tool descriptions from now on."""

    window: int
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
    """Worst-case cost; None: unknown price."""
    worst_tokens: int = 0
    """Tokens of the prompt with its margin, plus `max_tokens`."""
    model: str = ""
    wrap_up: bool = False


class TextArrived(EventBase, frozen=True, kw_only=True):
    text: str


class ReasoningArrived(EventBase, frozen=True, kw_only=True):
    text: str


class ReasoningKept(EventBase, frozen=True, kw_only=True):
    """The answer has parts that must be sent back to their maker: signatures, encrypted reasoning.

    Comes before `ReplyFinished`.
    """

    maker: str
    sha: str
    """Blob of the parts as JSON."""
    tokens: int = 0
    """Tokens that they add to a later prompt, as counted by this program."""


class Charged(EventBase, frozen=True, kw_only=True):
    tokens_in: int
    tokens_out: int
    tokens_cached: int = 0
    tokens_reasoning: int = 0
    usd: float | None = 0.0
    """Cost of the call; None: unknown price."""
    estimated: bool = False
    held_tokens: int = 0
    """Tokens that the provider may still bill, up to the admitted worst case. They count against the limit."""
    held_usd: float = 0.0
    held_until: float | None = None
    """Unix time after which the provider cannot bill more for this call; None: held for the whole run."""
    model: str = ""
    prompt_counted: int = 0
    """Tokens of the prompt as counted by this program, from which it learns the margin."""


class HoldReleased(EventBase, frozen=True, kw_only=True):
    """The amount held for a call can no longer be billed and no longer counts against a limit."""

    charge: int
    """Number of its `Charged` event in the journal."""
    tokens: int
    usd: float


class ReplyFinished(EventBase, frozen=True, kw_only=True):
    """The model's answer is complete or was cut off; `finish` says which."""

    finish: str
    """`stop`, `tool_calls`, `length`, `cut`, `empty`, `refusal` or `interrupted`."""
    calls: int = 0


class ToolCalled(EventBase, frozen=True, kw_only=True):
    call_id: str
    tool: str
    arguments: Any
    """The parsed arguments, or the raw text if it is not JSON."""
    repaired: bool = False
    by: str = "model"
    """`model`, or `person` for a person in control; then the call is not part of the conversation."""


class ToolFinished(EventBase, frozen=True, kw_only=True):
    call_id: str
    tool: str
    ok: bool
    result: str
    """The result that is sent to the model. If it was shortened, the blob `full` has all of it."""
    seconds: float = 0.0
    full: str | None = None
    summary: str | None = None
    """A short text for a folded line: `84 lines`, `exit 1`."""
    by: str = "model"
    """As in `ToolCalled`."""
    disturbed: list[str] = []
    """Guarded paths that were written while the command ran. It then does not count as a required action."""


class FileChanged(EventBase, frozen=True, kw_only=True):
    path: str
    """Relative to the workspace."""
    by: str
    """`model`, `command`, `background`, `person`, `restore` or `undo`."""
    before: str | None
    """Blob of the old content; None: the file did not exist, or is too large to store."""
    after: str | None
    added: int = 0
    removed: int = 0
    command: str | None = None
    """With `background`: the command that is running."""


class ChangeCommitted(EventBase, frozen=True, kw_only=True):
    """An edit of the model became its own git commit, or failed to; each reason is reported once."""

    path: str
    commit: str | None = None
    why_not: str = ""
    note: str = ""
    """Output of a hook that ran after the commit."""


class Snapshotted(EventBase, frozen=True, kw_only=True):
    """The workspace differs from the last snapshot. Comes before the events that describe the change."""

    world: str | None
    """Its tree in the store next to the journal; None: from now on the workspace is too large to store."""


class Fault(EventBase, frozen=True, kw_only=True):
    kind: str
    """`rate-limit`, `server`, `timeout`, `stalled`, `cut`, `context`, `auth`, `bad-reply`, `tool-json`, ..."""
    text: str
    retry_in: float | None = None
    """Seconds until the next attempt; None: no further attempt."""
    trace: str | None = None
    """The traceback, for a fault in this program (kind `program`)."""


class Prompted(EventBase, frozen=True, kw_only=True):
    """The program sent a message to the model."""

    kind: str
    """`task`, `check`, `nudge`, `hint`, `review`, `wrap_up`, `instructions`, `shell`, `undo`, `wheel`,
    `background`, `compact` or `note`."""
    text: str
    images: list[ImageRef] = []
    """The person's images, in the task of a pass."""


class StallDetected(EventBase, frozen=True, kw_only=True):
    kind: str
    signature: str
    response: str
    """`hint`, `handoff` or `stop`."""


class CheckStarted(EventBase, frozen=True, kw_only=True):
    command: str


class GuardSealed(EventBase, frozen=True, kw_only=True):
    """The content of everything that affects verdicts was recorded: a verdict counts only with this content."""

    seal: str
    """Blob of the approved digests of all guarded paths."""
    files: int
    not_held: list[str] = []
    """What a command could do here because nothing prevents it, one line each."""


class GuardApproved(EventBase, frozen=True, kw_only=True):
    """A person kept a change of a guarded path: this is its approved content from now on."""

    path: str
    kind: str
    """`absent`, `file`, `link`."""
    digest: str = ""
    mode: int = 0
    size: int = 0


class CheckFinished(EventBase, frozen=True, kw_only=True):
    command: str
    passed: bool
    exit_code: int | None
    timed_out: bool
    failing: int | None
    output: str
    """Beginning and end of the output, limited in length."""
    seconds: float = 0.0
    error: str | None = None
    """Why the check could not be started, if so."""
    baseline: bool = False
    uncounted: str | None = None
    """Why the verdict does not count, if so; then `passed` is false."""
    ran: int | None = None
    """Number of tests that ran, if the output counts them."""
    counted: str | None = None
    """Blob of everything that the output counts, including test names."""
    suspect: str | None = None
    """Why exit code 0 does not count as a pass, if so; then `passed` is false."""
    missing: list[str] = []
    """Names of tests that ran before but did not run now, at most 50."""
    missing_count: int = 0


class CheckAccepted(EventBase, frozen=True, kw_only=True):
    """A person accepted the result of a suspect check; it counts as passed."""

    command: str
    by: str = "person"


class PredicateJudged(EventBase, frozen=True, kw_only=True):
    """The program evaluated a success predicate other than a command."""

    name: str
    """Name as on the command line: `until-file out.txt`."""
    passed: bool
    detail: str
    answer: str | None = None
    """Digest of the judged answer, if the verdict is about an answer. The verdict counts only for this answer."""
    not_guaranteed: list[str] = []
    """What could not be ruled out about the verdict, as text for people."""


class ScoreMeasured(EventBase, frozen=True, kw_only=True):
    score: float
    best: float
    kept: bool
    stale_passes: int
    number: int = 0
    """Number of the pass; 0: the baseline."""
    command: str = ""
    seconds: float = 0.0
    values: list[float] = []
    """The measurements, if there were several; `score` is their median."""
    noise: float | None = None
    """Median absolute deviation of `values`; None: there was one measurement."""
    within_noise: bool = False
    """The difference to the best earlier score is not larger than the larger noise of the two."""
    tries: int = 1
    """Number of candidates in the pass."""
    candidate: int = 0
    """Number of the try with this score, from 1; 0: the pass has no tries."""


class ScoreNotMeasured(EventBase, frozen=True, kw_only=True):
    """The score command of a pass printed no usable number, so the pass counts neither as better nor as stale."""

    number: int
    why: str
    """The reason, as the end of a sentence that starts with "the command": timeout, exit code, no number, NaN."""
    in_a_row: int
    """Number of passes in a row without a measurement, including this one."""
    command: str = ""
    seconds: float = 0.0
