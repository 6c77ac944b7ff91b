"""Events about the judge: whether a green result rests on changes that nobody decided on (decision 0040)."""

from __future__ import annotations

from typing import Literal

import msgspec

from ..evidence import Grade, JudgeWhy, LookFirst, TestCounts
from .base import EventBase

Prepared = Literal["plant", "holdout", "setup"]
"""What runs before the first call: a check with planted tests, the second check, or the setup."""


class JudgePreparing(EventBase, frozen=True, kw_only=True):
    """Before the first call, a command begins to run in a view: the judge needs to know what it does there.

    `plant_prepared`, `holdout_prepared` or `setup_prepared` says how it ended.
    """

    what: Prepared
    command: str


class PlantPrepared(EventBase, frozen=True, kw_only=True):
    """Before the first call, planted tests were tried on the user's own code."""

    command: str
    """Command line of the check."""
    plan: str | None = None
    """Blob of the tests that the check reported as failed. The model never gets it. None means that none can be
    planted."""
    seconds: float = 0.0
    """Duration of the check with the planted tests, or 0 if it did not run."""
    first_seconds: float | None = None
    """Duration of the check without them, of a run that does not check its goal before the first call."""


class HoldoutPrepared(EventBase, frozen=True, kw_only=True):
    """Before the first call, the second check (`--holdout`) ran, so that its tests are counted."""

    known: list[str] = []
    """Its files that are in HEAD, the index or the history, where the model can read them. At most 50."""
    counted: str | None = None
    """Blob of the counted tests. The model never gets it. None means that it counted nothing, or did not run."""
    problem: str = ""
    """Why it could not be started. Empty means that it ran."""
    seconds: float = 0.0


class SetupPrepared(EventBase, frozen=True, kw_only=True):
    """The setup (`--setup`) ran in a view, before the first call or in a judge: later views have what it made."""

    command: str
    absent: list[str] = []
    """Ignored folders of the workspace that a view does not have."""
    kept: list[str] = []
    """Ignored folders that the command made."""
    opened: str | None = None
    """Blob of the files that the command opened. None means that it is not known, or the setup failed."""
    problem: str = ""
    """Why it failed. Empty means that it exited with 0."""
    changed: dict[str, str] = {}
    """Accepted changes outside of the scope with which it ran again, and the digest of each, or empty if it is
    deleted."""
    seconds: float = 0.0


class JudgePlanned(EventBase, frozen=True, kw_only=True):
    """Before the first call: what the judge will run, and how long that took now."""

    line: str
    """As text for people."""


class JudgeStarted(EventBase, frozen=True, kw_only=True):
    """The judge starts: the checks run once more, without the changes that nobody decided on."""

    checks: list[str]
    """Command lines, and names of other predicates."""
    undecided_count: int = 0


class Judged(EventBase, frozen=True, kw_only=True):
    """The judge ended, with its grade and what the result rests on."""

    grade: Grade
    passed: bool
    """The run can end as `done`."""
    why: JudgeWhy = ""
    detail: str = ""
    """Why it did not pass, or what the grade lacks, as text for people."""
    help: list[str] = []
    """What a person can add to the command line of the next run: `--scope PATH`, `--setup LINE`."""
    look_first: list[LookFirst] = []
    """More of it, which accepts changes of what decides the check: not to be added without a look at them."""
    output: str = ""
    """Output of the check that was red: beginning and end, limited in length."""
    output_digest: str = ""
    """Digest of that output without durations, addresses and temporary names."""
    undecided: list[str] = []
    """Paths of changes that nobody decided on, at most 50."""
    undecided_count: int = 0
    undecided_digest: str = ""
    """Digest of all of them with their present content."""
    rests_on: list[str] = []
    """Of these, the ones that a person is asked about, because the result rests on one of them. All of them."""
    asks_all: bool = False
    """`rests_on` are all undecided changes, not only those that the check opened."""
    suspect: list[str] = []
    """Why the result is suspect, one line each."""
    decided: str = ""
    """Digest of the present content of all paths that the run changed: with another one, the verdict is void."""
    outside: list[str] = []
    """Accepted changes outside of the scope: a person approved them, or added them to the scope. At most 50."""
    decided_files: str | None = None
    """Blob of the accepted changes: the files with their content now. None means that there are none."""
    opened: int | None = None
    """Number of files that the check opened, or None if it is not known."""
    opened_changed: list[str] = []
    """Which of them the run changed."""
    plant: str = ""
    """What became of the planted tests, as text for people, or empty if none were planted."""
    counts: dict[str, TestCounts] = {}
    """Command to the tests that ran in the view, of checks that ran fewer tests in the workspace than at first."""
    holdout: str = ""
    """What became of the second check, as text for people, or empty if there is none, or it did not run."""
    seconds: float = 0.0


class AcceptedPath(msgspec.Struct, frozen=True, kw_only=True):
    """A path whose present content a person accepted."""

    path: str
    digest: str
    """SHA-256 of the bytes or of the target of a link, or empty if it does not exist, or it is a folder."""
    seen: bool = True
    """The person saw what changed, and not only the name."""


class UndecidedAccepted(EventBase, frozen=True, kw_only=True):
    """A person accepted changes that the result rests on: the present content of these paths counts as decided on."""

    paths: list[AcceptedPath]
    by: str = "person"


class UndecidedRejected(EventBase, frozen=True, kw_only=True):
    """A person rejected changes that the result rests on: they stay as they are, and undecided."""

    digest: str
    """`Judged.undecided_digest` of the judgement."""
    reason: str = ""
    by: str = "person"


class JudgementAccepted(EventBase, frozen=True, kw_only=True):
    """A person accepted the result although the judge found it suspect: its grade is `passed`."""

    by: str = "person"


JudgeEvent = (
    JudgePreparing
    | PlantPrepared
    | HoldoutPrepared
    | SetupPrepared
    | JudgePlanned
    | JudgeStarted
    | Judged
    | UndecidedAccepted
    | UndecidedRejected
    | JudgementAccepted
)
"""The events of this module."""
