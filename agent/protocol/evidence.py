"""What supports an outcome besides an exit code: test counts, guarded files, and a confirmation."""

from __future__ import annotations

from enum import StrEnum

import msgspec


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

    ran: int
    """Tests that ran, whatever their result; skipped ones are not counted."""
    failing: int


class Evidence(msgspec.Struct, frozen=True, kw_only=True):
    """What supports an outcome (REQUIREMENTS 2.3.9)."""

    before: TestCounts | None = None
    """At the baseline check; None where its output counted nothing."""
    after: TestCounts | None = None
    """At the last check."""
    missing: list[str] = []
    """Names of tests that ran at the baseline and not at the last check."""
    guarded_unchanged: bool | None = None
    """Guarded files have the digests of the start. None: nothing was guarded."""
    guarded_changed: list[str] = []
    """Guarded files that a person allowed to change, relative to the workspace and sorted."""
    not_guaranteed: list[str] = []
    """Promises that could not be kept here, for people; for example without a sandbox."""
    confirmation: Confirmation | None = None
