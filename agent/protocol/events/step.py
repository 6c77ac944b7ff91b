"""One step: the call, what it streams, the tools it asks for."""

from __future__ import annotations

from typing import Any

from ..messages import ImageRef
from .base import EventBase


class StepStarted(EventBase, frozen=True, kw_only=True):
    number: int


class StepFinished(EventBase, frozen=True, kw_only=True):
    number: int
    seconds: float = 0.0
    """In which a model, a tool or a check of this step ran."""
    world: str | None = None
    """Fingerprint of the workspace after the step."""


class ContextTrimmed(EventBase, frozen=True, kw_only=True):
    dropped_messages: int
    dropped_tokens: int
    window: int
    upto: int = 0
    """Messages of the conversation before this index no longer go to the model, the kept ones excepted."""
    shortened: int = 0
    """Texts that were cut in the middle because even the newest round did not fit."""
    images: int = 0
    """Images that a line of text stands for in this call, because they did not fit."""


class ImagesRefused(EventBase, frozen=True, kw_only=True):
    """The provider refused a call because of its images. A line of text stands for them in later calls."""

    model: str
    shas: list[str] = []
    """The images that this model does not get again; empty: it gets none at all."""


class PromptShortened(EventBase, frozen=True, kw_only=True):
    """The window is small: what of the instructions and the tools the model gets from here on."""

    window: int
    file: str = ""
    """Name of the instructions' file, where it is shortened."""
    kept: int = 0
    """Characters of the instructions that are sent."""
    length: int = 0
    """Characters of the instructions."""
    brief_tools: bool = False
    """Each tool is described in one sentence."""
    tools_left_out: list[str] = []


class CallAdmitted(EventBase, frozen=True, kw_only=True):
    """The call may be made: it was counted and its worst case fits. Comes before the call."""

    prompt_tokens: int
    """Our count, without the margin."""
    max_tokens: int
    worst_usd: float | None
    """None when unpriced."""
    worst_tokens: int = 0
    """Prompt with its margin, and `max_tokens`."""
    model: str = ""
    wrap_up: bool = False


class TextArrived(EventBase, frozen=True, kw_only=True):
    text: str


class ReasoningArrived(EventBase, frozen=True, kw_only=True):
    text: str


class ReasoningKept(EventBase, frozen=True, kw_only=True):
    """The answer has parts that go back to their maker: signatures, encrypted reasoning.

    Comes before `ReplyFinished`.
    """

    maker: str
    sha: str
    """Blob of the parts as JSON."""
    tokens: int = 0
    """What they add to a later prompt, by our own count."""


class Charged(EventBase, frozen=True, kw_only=True):
    tokens_in: int
    tokens_out: int
    tokens_cached: int = 0
    tokens_reasoning: int = 0
    usd: float | None = 0.0
    """None when unpriced."""
    estimated: bool = False
    held_tokens: int = 0
    """What the provider may still bill, up to the admitted worst case. It counts against the limit."""
    held_usd: float = 0.0
    held_until: float | None = None
    """Unix time at which the provider cannot bill more for this call; None: it is held for the whole run."""
    model: str = ""
    prompt_counted: int = 0
    """Our own count of the prompt, from which the margin is learned."""


class HoldReleased(EventBase, frozen=True, kw_only=True):
    """What was held for a call can no longer be billed, and no longer counts against a limit."""

    charge: int
    """Place of its `Charged` in the journal."""
    tokens: int
    usd: float


class ReplyFinished(EventBase, frozen=True, kw_only=True):
    """The model's answer is whole (or was cut: `finish` says how)."""

    finish: str
    """`stop`, `tool_calls`, `length`, `cut`, `empty`, `refusal` or `interrupted`."""
    calls: int = 0


class ToolCalled(EventBase, frozen=True, kw_only=True):
    call_id: str
    tool: str
    arguments: Any
    """The parsed arguments, or the raw text where it is no JSON."""
    repaired: bool = False
    by: str = "model"
    """Or `person`, who has the wheel: then it is no part of the conversation."""


class ToolFinished(EventBase, frozen=True, kw_only=True):
    call_id: str
    tool: str
    ok: bool
    result: str
    """What the model reads. Where it was shortened, the whole is the blob `full`."""
    seconds: float = 0.0
    full: str | None = None
    summary: str | None = None
    """A few words for a folded line: `84 lines`, `exit 1`."""
    by: str = "model"
    """As in `ToolCalled`."""
    disturbed: list[str] = []
    """Guarded paths that were written while the command ran: it does not count as a required action."""


class FileChanged(EventBase, frozen=True, kw_only=True):
    path: str
    """Relative to the workspace."""
    by: str
    """`model`, `command`, `background`, `person`, `restore` or `undo`."""
    before: str | None
    """Blob of the old bytes; None: the file did not exist (or is too large to keep)."""
    after: str | None
    added: int = 0
    removed: int = 0
    command: str | None = None
    """By `background`: what runs there."""


class ChangeCommitted(EventBase, frozen=True, kw_only=True):
    """An edit of the model became a git commit of its own, or why it did not: each reason is said once."""

    path: str
    commit: str | None = None
    why_not: str = ""
    note: str = ""
    """What a hook that runs after the commit reports."""


class Snapshotted(EventBase, frozen=True, kw_only=True):
    """The workspace was looked at, and is not what it was the last time. Comes before what is said of the change."""

    world: str | None
    """Its tree in the store beside the journal; None: from here on it is too large to be kept."""


class Fault(EventBase, frozen=True, kw_only=True):
    kind: str
    """`rate-limit`, `server`, `timeout`, `stalled`, `cut`, `context`, `auth`, `bad-reply`, `tool-json`, ..."""
    text: str
    retry_in: float | None = None
    """Seconds until the next attempt; None: there is none."""
    trace: str | None = None
    """The traceback of a fault of the program itself (kind `program`)."""


class Prompted(EventBase, frozen=True, kw_only=True):
    """The program told the model something."""

    kind: str
    """`task`, `check`, `nudge`, `hint`, `review`, `wrap_up`, `instructions`, `shell`, `undo`, `wheel`,
    `background`, `compact` or `note`."""
    text: str
    images: list[ImageRef] = []
    """Of the person's, in the task of a pass."""


class StallDetected(EventBase, frozen=True, kw_only=True):
    kind: str
    signature: str
    response: str
    """`hint`, `handoff` or `stop`."""


class CheckStarted(EventBase, frozen=True, kw_only=True):
    command: str


class GuardSealed(EventBase, frozen=True, kw_only=True):
    """The content of everything that decides is on record: verdicts count only on it."""

    seal: str
    """Blob of the approved marks of all guarded paths."""
    files: int
    not_held: list[str] = []
    """What nothing keeps a command from doing here, a line each."""


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
    """Head and tail, bounded."""
    seconds: float = 0.0
    error: str | None = None
    """Why it could not be started, if so."""
    baseline: bool = False
    uncounted: str | None = None
    """Why the verdict does not count, if so; `passed` is false then."""
    ran: int | None = None
    """Tests that ran, where the output counts them."""
    counted: str | None = None
    """Blob of all that the output counts, with the names of tests."""
    suspect: str | None = None
    """Why exit code 0 is not taken for a pass, if so; `passed` is false then."""
    missing: list[str] = []
    """Names of tests that ran before and not now, at most 50."""
    missing_count: int = 0


class CheckAccepted(EventBase, frozen=True, kw_only=True):
    """A person accepted the result of a suspect check: it has passed."""

    command: str
    by: str = "person"


class PredicateJudged(EventBase, frozen=True, kw_only=True):
    """A success predicate other than a command was asked."""

    name: str
    """As on the command line: `until-file out.txt`."""
    passed: bool
    detail: str
    answer: str | None = None
    """Digest of the answer that was judged, where the verdict is about it. It counts for this answer only."""
    not_guaranteed: list[str] = []
    """What could not be ruled out about the verdict, for people."""


class ScoreMeasured(EventBase, frozen=True, kw_only=True):
    score: float
    best: float
    kept: bool
    stale_passes: int
    number: int = 0
    """The pass; 0: the baseline."""
    command: str = ""
    seconds: float = 0.0
    values: list[float] = []
    """Each measurement, where there was more than one; `score` is their median."""
    noise: float | None = None
    """Median absolute deviation of `values`; None: it was measured once."""
    within_noise: bool = False
    """The score differs from the best one before it by no more than the larger noise of both."""
    tries: int = 1
    """Candidates of the pass."""
    candidate: int = 0
    """The try that has this score, from 1; 0: the pass has no tries."""


class ScoreNotMeasured(EventBase, frozen=True, kw_only=True):
    """The score command of a pass gave no usable number, so the pass is neither better nor stale."""

    number: int
    why: str
    """Time-out, exit code, no number, NaN or infinite: as a sentence that follows "the command"."""
    in_a_row: int
    """Passes in a row without a measurement, this one included."""
    command: str = ""
    seconds: float = 0.0
