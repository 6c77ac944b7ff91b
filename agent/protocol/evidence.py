"""What supports an outcome besides an exit code: test counts, guarded files, and a confirmation."""

from __future__ import annotations

from enum import StrEnum

import msgspec

CONFIRMED, COUNTED, EXIT_CODE_ONLY = "confirmed", "counted", "exit code only"
NOT_A_CHECK, NOT_GUARANTEED, NO_CHECK = "predicate or score", "not guaranteed", "no check"
EVIDENCE_KINDS = (CONFIRMED, COUNTED, EXIT_CODE_ONLY, NOT_A_CHECK, NOT_GUARANTEED, NO_CHECK)
"""In a clean checkout; by tests that ran; by the exit code, or a suspect result that a person accepted; by something
else than a check; without guarded files; by nothing."""


class Confirmed(StrEnum):
    """What a confirmation in a clean checkout of the result said."""

    PASSED = "passed"
    FAILED = "failed"
    NOT_CONFIRMED = "not confirmed"
    """It could not be set up; `Confirmation.detail` says why."""


class Confirmation(msgspec.Struct, frozen=True, kw_only=True):
    """One run of a command in a clean checkout of the result, with the guarded files of the start."""

    result: Confirmed
    command: str
    detail: str = ""
    """For people: why it failed or could not be set up."""
    at: float | None = None
    """Unix seconds; None where the confirmation belongs to the end itself."""


def confirmation_words(confirmation: Confirmation) -> str:
    """For people: `confirmed in a clean checkout`, or why not."""
    match confirmation.result:
        case Confirmed.PASSED:
            return "confirmed in a clean checkout"
        case Confirmed.FAILED:
            return f"fails in a clean checkout: {confirmation.detail}"
        case Confirmed.NOT_CONFIRMED:
            return f"not confirmed: {confirmation.detail}"


class TestCounts(msgspec.Struct, frozen=True):
    """What a check's output counts, summed over all checks of the run."""

    __test__ = False

    ran: int | None
    """Tests that ran, whatever their result; skipped ones are not counted. None: the runner does not say."""
    failing: int


class CheckEvidence(msgspec.Struct, frozen=True, kw_only=True):
    """The newest verdict of one check command."""

    command: str
    exit_code: int | None = None
    """None: it timed out or did not start."""
    passed: bool = False
    before: TestCounts | None = None
    """At its first run; None where its output counted nothing."""
    after: TestCounts | None = None
    suspect: str = ""
    """Why exit code 0 was not taken for a pass; empty: it was not suspect."""
    accepted: bool = False
    """A person accepted the result although it is suspect."""


class Evidence(msgspec.Struct, frozen=True, kw_only=True):
    """What supports an outcome (docs/requirements.md 2.3.9)."""

    before: TestCounts | None = None
    """At the baseline check; None where its output counted nothing."""
    after: TestCounts | None = None
    """At the last check."""
    missing: list[str] = []
    """Names of tests that ran at the baseline and not at the last check, at most 50 of each check."""
    missing_count: int = 0
    """How many there are."""
    checks: list[CheckEvidence] = []
    """Each check command, in the order of the command line."""
    accepted: bool = False
    """A person accepted a suspect check."""
    guarded_unchanged: bool | None = None
    """Guarded files have the digests of the start. None: nothing was guarded."""
    guarded_changed: list[str] = []
    """Guarded files that a person allowed to change, relative to the workspace and sorted."""
    not_guaranteed: list[str] = []
    """Promises that could not be kept here, for people; for example without a sandbox."""
    confirmation: Confirmation | None = None


def evidence_kind(evidence: Evidence | None, verified: Confirmed | None = None) -> str:
    """How well the end of a run is evidenced: one of `EVIDENCE_KINDS`, the strongest that holds.

    `verified`: what the newest `rundry verify` since then said.
    """
    if verified is Confirmed.PASSED:
        return CONFIRMED
    if evidence is None:
        return NO_CHECK
    if evidence.confirmation is not None and evidence.confirmation.result is Confirmed.PASSED:
        return CONFIRMED
    if evidence.guarded_unchanged is None:
        return NOT_GUARANTEED
    if not evidence.checks:
        return NOT_A_CHECK
    return EXIT_CODE_ONLY if evidence.after is None or evidence.accepted else COUNTED


def evidence_words(evidence: Evidence) -> str:
    """One line for people: `212 tests as at the start, 14 -> 0 failing, guarded files unchanged`."""
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
    return ", ".join(parts)


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
    return "1 test" if count == 1 else f"{count} tests"


def _listed(paths: list[str], most: int = 3) -> str:
    more = f" and {len(paths) - most} more" if len(paths) > most else ""
    return f"{', '.join(paths[:most])}{more}"
