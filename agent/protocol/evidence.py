"""Evidence for an outcome in addition to an exit code: test counts, guarded files, and a confirmation."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Literal, get_args

import msgspec

from .text.counts import plural

EvidenceKind = Literal[
    "confirmed",  # in a clean checkout
    "counted",  # by counted tests
    "exit code only",  # or a suspect result that a person accepted
    "predicate or score",
    "not guaranteed",  # no file was guarded
    "no check",
]
"""How an outcome is proved, strongest first."""
EVIDENCE_KINDS: tuple[EvidenceKind, ...] = get_args(EvidenceKind)


Grade = Literal[
    "none",  # nothing was checked
    "passed",  # in the workspace
    "judged",  # in a view without the changes that nobody decided on, and with planted tests where there are any
    "held_out",  # and by a check that the model never saw
]
"""How much a verdict is independent of what the run could change, weakest first."""
GRADES: tuple[Grade, ...] = get_args(Grade)


class Confirmed(StrEnum):
    """The result of a confirmation in a clean checkout."""

    PASSED = "passed"
    FAILED = "failed"
    NOT_CONFIRMED = "not confirmed"
    """The confirmation could not be set up; `Confirmation.detail` says why."""


class Confirmation(msgspec.Struct, frozen=True, kw_only=True):
    """One run of a command in a clean checkout of the result, with the guarded files as they were at the start."""

    result: Confirmed
    command: str
    detail: str = ""
    """Why it failed or could not be set up, as text for people."""
    at: float | None = None
    """Unix seconds; None: the confirmation was part of the end of the run."""


def confirmation_words(confirmation: Confirmation) -> str:
    """Describe the confirmation for people: `confirmed in a clean checkout`, or why it is not confirmed."""
    match confirmation.result:
        case Confirmed.PASSED:
            return "confirmed in a clean checkout"
        case Confirmed.FAILED:
            return f"fails in a clean checkout: {confirmation.detail}"
        case Confirmed.NOT_CONFIRMED:
            return f"not confirmed: {confirmation.detail}"


class TestCounts(msgspec.Struct, frozen=True):
    """Test counts from the output of a check, summed over all checks of the run."""

    __test__ = False

    ran: int | None
    """Number of tests that ran, with any result, without skipped ones. None: the test runner does not report it."""
    failing: int


class CheckEvidence(msgspec.Struct, frozen=True, kw_only=True):
    """The newest verdict of one check command."""

    command: str
    exit_code: int | None = None
    """Exit code of the check; None: it timed out or did not start."""
    passed: bool = False
    before: TestCounts | None = None
    """Counts of the first run; None: the output counted nothing."""
    after: TestCounts | None = None
    suspect: str = ""
    """Why exit code 0 does not count as a pass; empty: the check is not suspect."""
    accepted: bool = False
    """A person accepted the result although it is suspect."""


class Evidence(msgspec.Struct, frozen=True, kw_only=True):
    """Evidence for an outcome (docs/requirements.md 2.3.9)."""

    before: TestCounts | None = None
    """Counts of the baseline check; None: the output counted nothing."""
    after: TestCounts | None = None
    """Counts of the last check."""
    missing: list[str] = []
    """Tests that ran at the baseline but not in the last check, at most 50 names per check."""
    missing_count: int = 0
    """Number of all missing tests."""
    checks: list[CheckEvidence] = []
    """The check commands, in the order of the command line."""
    accepted: bool = False
    """A person accepted a suspect check."""
    guarded_unchanged: bool | None = None
    """Guarded files have the same digests as at the start. None: nothing was guarded."""
    guarded_changed: list[str] = []
    """Guarded files that a person allowed to change, as sorted paths relative to the workspace."""
    not_guaranteed: list[str] = []
    """Guarantees that this machine could not give, as text for people; for example without a sandbox."""
    confirmation: Confirmation | None = None
    grade: Grade = "none"
    grade_detail: str = ""
    """Why the grade is not higher, as text for people."""
    undecided: list[str] = []
    """Paths of changes that nobody decided on and that the verdict does not rest on, at most 50."""
    undecided_count: int = 0
    decided: str = ""
    """Digest of all paths that the run changed, as they were judged: with another one, the verdict is void. Empty:
    nothing was judged."""
    opened: int | None = None
    """Number of files that the check opened; None: it is not known."""
    opened_changed: list[str] = []
    """Which of them the run changed."""
    plant: str = ""
    """What became of the planted tests, as text for people; empty: none were planted."""


def evidence_kind(evidence: Evidence | None, verified: Confirmed | None = None) -> EvidenceKind:
    """Return the strongest of `EVIDENCE_KINDS` that applies to the end of a run.

    `verified`: result of the newest `rundry verify` since then.
    """
    if verified is Confirmed.PASSED:
        return "confirmed"
    if evidence is None:
        return "no check"
    if evidence.confirmation is not None and evidence.confirmation.result is Confirmed.PASSED:
        return "confirmed"
    if evidence.guarded_unchanged is None:
        return "not guaranteed"
    if not evidence.checks:
        return "predicate or score"
    return "exit code only" if evidence.after is None or evidence.accepted else "counted"


def evidence_words(evidence: Evidence | None, approved_by: Sequence[str] = ()) -> str:
    """Describe the evidence in one line: `212 tests as at the start, 14 -> 0 failing, guarded files unchanged`.

    `approved_by`: MCP clients that decided in place of a person. Empty: there is nothing to say.
    """
    decided = [f"approved by {_listed(list(approved_by))}, not by a person"] if approved_by else []
    return ", ".join([*([] if evidence is None else _parts(evidence)), *decided])


def _parts(evidence: Evidence) -> list[str]:
    parts = [*_counted(evidence)]
    if evidence.missing_count:
        parts.append(f"{_tests(evidence.missing_count)} missing")
    if evidence.accepted:
        parts.append("suspect check accepted by a person")
    if evidence.guarded_changed:
        parts.append(f"guarded files changed: {_listed(evidence.guarded_changed)}")
    elif evidence.guarded_unchanged is not None:
        parts.append("guarded files unchanged" if evidence.guarded_unchanged else "guarded files changed")
    else:
        parts.append("no file was guarded")
    if evidence.confirmation is not None:
        parts.append(confirmation_words(evidence.confirmation))
    return parts


def _counted(evidence: Evidence) -> list[str]:
    before, after = evidence.before, evidence.after
    if after is None:
        codes = [check.exit_code for check in evidence.checks]
        exits = [] if None in codes or not codes else [f"exit code {', '.join(map(str, codes))}"]
        earlier = f", {_tests(before.ran)} at the start" if before is not None and before.ran else ""
        return [*exits, f"no tests counted{earlier}"] if evidence.checks else []
    parts: list[str] = []
    if after.ran is not None:
        earlier = "" if before is None or before.ran is None else f", {before.ran} at the start"
        same = before is not None and before.ran == after.ran
        parts.append(f"{_tests(after.ran)}{' as at the start' if same else earlier}")
    changed = before is not None and before.failing != after.failing
    parts.append(f"{before.failing} -> {after.failing} failing" if before and changed else f"{after.failing} failing")
    return parts


def _tests(count: int | None) -> str:
    return f"{count} tests" if count is None else plural(count, "test")


def _listed(paths: list[str], most: int = 3) -> str:
    more = f" and {len(paths) - most} more" if len(paths) > most else ""
    return f"{', '.join(paths[:most])}{more}"
