"""Events of checks, success conditions, scores and guarded files."""

from __future__ import annotations

from typing import Literal

import msgspec

from ..extensions.hooks import HookPoint
from .base import EventBase

MarkKind = Literal[
    "absent",
    "file",
    "link",
    "folder",
    "other",
    "unreadable",
    "diverted",  # a parent is a link or a file
]
"""What exists at a guarded path."""
HookResult = Literal[
    "passed",  # exit code 0
    "refused",  # exit code 2, or JSON that refuses
    "failed",  # another exit code, a time-out, a changed script, JSON that cannot be obeyed
]


class CheckStarted(EventBase, frozen=True, kw_only=True):
    """A check starts, with its command line."""

    command: str


class HookRan(EventBase, frozen=True, kw_only=True):
    """A hook ran, and passed, refused or failed."""

    on: HookPoint
    command: str
    result: HookResult
    reason: str = ""
    """What it printed on standard error, or why it failed; about 2,000 characters."""
    exit_code: int | None = None
    """None means that it timed out or did not start, or that an older version ran it."""
    error_line: str = ""
    """The last line that it printed on standard error, if it refused or failed; at most 300 characters."""
    context: str = ""
    """What it tells the model; at most 10,000 characters."""
    notice: str = ""
    """What it tells the person; at most 2,000 characters."""
    seconds: float = 0.0
    tool: str = ""
    call_id: str = ""
    path: str = ""
    """The file that the call or the edit is about, relative to the workspace."""


class Problem(msgspec.Struct, frozen=True, kw_only=True):
    """What a tool of the project says about one place of a file."""

    path: str
    """Relative to the workspace."""
    line: int
    message: str
    """One line, of at most 300 characters."""
    tool: str
    """Name of the tool, such as `ruff`; the language for what rundry itself cannot parse."""


class FilesDiagnosed(EventBase, frozen=True, kw_only=True):
    """Tools of the project looked at the files that a step changed. No verdict depends on it."""

    problems: list[Problem] = []
    """Those that were not there before the run and were not sent to the model before, at most 10."""
    left_out: int = 0
    """How many more there are."""
    ran: list[str] = []
    """Names of the tools that looked at the files."""
    notes: list[str] = []
    """Why a tool did not look at them, one line each, once in a run."""
    seconds: float = 0.0


class ScopeSet(EventBase, frozen=True, kw_only=True):
    """The files that the run may change were read from its start, or a person added some."""

    scope: str
    """Blob of the whole scope. A resumed run reads it here, and not from the workspace."""
    line: str
    """The scope in one line."""
    listing: list[str] = []
    """The scope in lines, as `/scope` shows it."""
    added: list[str] = []
    """The globs that a person added now."""
    by: str = "program"
    in_copy: bool = False
    """There are no layers here: results are judged in copies, with one of the workspace that was made at the start."""
    no_views: str = ""
    """Why results are judged in place: no view can be made here. Empty means that it can."""


class GuardSealed(EventBase, frozen=True, kw_only=True):
    """Of older versions: the content of everything that affects verdicts was recorded."""

    seal: str
    """Blob of the approved digests of all guarded paths."""
    files: int
    not_held: list[str] = []
    """What a command could do here because nothing prevents it, one line each."""
    asked_only: bool = False
    """Only what the user named was guarded."""


class GuardApproved(EventBase, frozen=True, kw_only=True):
    """Of older versions: a person kept a change of a guarded path, or the user made it."""

    path: str
    kind: MarkKind
    digest: str = ""
    mode: int = 0
    size: int = 0


class ChangesUndecided(EventBase, frozen=True, kw_only=True):
    """Protected or guarded files that changed in the workspace itself while a command ran, and nobody decided about.

    They stay as they are, because the user may have changed them. Each event has all of them, or empty if none is left.
    """

    guarded: list[str] = []
    """Of older versions: paths that decide the verdict of a check."""
    protected: list[str] = []
    """Paths that git or another program runs or reads as settings, or that `--guard` names."""


class CheckFinished(EventBase, frozen=True, kw_only=True):
    """A check ended, with its result and its output."""

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
    is_fewer: bool = False
    """It is suspect only because tests that ran before did not run."""
    wrote: str | None = None
    """Blob of the files that existed before and that its first run wrote, with their digests. None means that it is not
    known."""


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
    """The score was measured: the number that decides about a pass."""

    score: float
    best: float
    kept: bool
    stale_passes: int
    number: int = 0
    """Number of the pass. 0 means the baseline."""
    command: str = ""
    seconds: float = 0.0
    values: list[float] = []
    """The measurements, if there were several; `score` is their median."""
    noise: float | None = None
    """Median absolute deviation of `values`. None means that there was one measurement."""
    within_noise: bool = False
    """The difference to the best earlier score is not larger than the larger noise of the two."""
    tries: int = 1
    """Number of tries in the pass."""
    candidate: int = 0
    """Number of the try with this score, from 1. 0 means that the pass has no tries."""
    line: str = ""
    """For the baseline: the line with the number, with `#` for each number. Empty means an earlier version measured
    it."""
    lines: int = 0
    """Number of such lines in its output; of all lines, if the line has no word."""


class ScoreNotMeasured(EventBase, frozen=True, kw_only=True):
    """The score command of a pass printed no usable number, so the pass counts neither as better nor as stale."""

    number: int
    why: str
    """The reason, as the end of a sentence that starts with "the command": timeout, exit code, no number, NaN."""
    in_a_row: int
    """Number of passes in a row without a measurement, including this one."""
    command: str = ""
    seconds: float = 0.0


CheckEvent = (
    HookRan
    | FilesDiagnosed
    | ScopeSet
    | GuardSealed
    | GuardApproved
    | ChangesUndecided
    | CheckStarted
    | CheckAccepted
    | CheckFinished
    | PredicateJudged
    | ScoreMeasured
    | ScoreNotMeasured
)
"""The events of this module."""
