"""Evidence for an outcome in addition to an exit code: test counts, what was judged, and a confirmation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Literal, get_args

import msgspec

from .text.counts import first_names, plural

_NAMED = 3
"""Files that a line names."""

EvidenceKind = Literal[
    "confirmed",  # in a clean checkout
    "second check",  # that the model never saw
    "without undecided changes",
    "counted",  # by counted tests
    "exit code only",  # or a suspect result that a person accepted
    "predicate or score",
    "not guaranteed",  # it was not judged
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
JudgeWhy = Literal[
    "",  # it passed
    "undecided",  # green in place, red without the undecided changes
    "conditions",  # red without the undecided changes, and in place without caches, old output and processes
    "suspect",  # green, but it may not have tested what the first check tested
    "unknown",  # the view could not be made, or the past of a path is not known
    "moved",  # files that the run changed were changed while the judge ran, twice
    "budget",  # the time that is left is not enough
    "holdout",  # the second check failed
]
"""Why a result is not judged as passed."""


class Confirmed(StrEnum):
    """The result of a confirmation in a clean checkout."""

    PASSED = "passed"
    FAILED = "failed"
    NOT_CONFIRMED = "not confirmed"
    """The confirmation could not be set up; `Confirmation.detail` says why."""


class Confirmation(msgspec.Struct, frozen=True, kw_only=True):
    """One run of a command in a clean checkout of the result, without changes that nobody decided on."""

    result: Confirmed
    command: str
    detail: str = ""
    """Why it failed or could not be set up, as text for people."""
    at: float | None = None
    """Unix seconds. None means that the confirmation was part of the end of the run."""


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
    """Number of tests that ran, with any result, without skipped ones. None means that the test runner does not report
    it."""
    failing: int


SECOND_FAILED = "the second check failed"
"""All that the model gets of the result of `--holdout`."""
FROM_OUTPUT = "tests are counted from the output of the check, to which the code under test can write"
SCORE_FROM_OUTPUT = "the score is a number in the output of its command, to which the measured code can write"


class LookFirst(msgspec.Struct, frozen=True):
    """An option for the next run that also accepts a change of what decides the check, such as a test."""

    option: str
    """What a person who has looked at it can add to the command line: `--scope tests/test_a.py`."""
    accepts: str
    """What the option accepts, as text for people: `the changed test tests/test_a.py`."""


class CheckEvidence(msgspec.Struct, frozen=True, kw_only=True):
    """The newest verdict of one check command."""

    command: str
    exit_code: int | None = None
    """Exit code of the check. None means that it timed out or did not start."""
    passed: bool = False
    before: TestCounts | None = None
    """Counts of the first run. None means that the output counted nothing."""
    after: TestCounts | None = None
    suspect: str = ""
    """Why exit code 0 does not count as a pass. Empty means that the check is not suspect."""
    accepted: bool = False
    """A person accepted the result although it is suspect."""


class Evidence(msgspec.Struct, frozen=True, kw_only=True):
    """Evidence for an outcome (docs/requirements.md 2.3.9)."""

    before: TestCounts | None = None
    """Counts of the baseline check. None means that the output counted nothing."""
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
    """No change is undecided. None means that the result was not judged. Of older versions: guarded files were
    unchanged."""
    guarded_changed: list[str] = []
    """Accepted changes outside of the scope, as sorted paths relative to the workspace."""
    not_guaranteed: list[str] = []
    """Guarantees that this machine could not give, as text for people; for example without a sandbox."""
    confirmation: Confirmation | None = None
    grade: Grade = "none"
    grade_detail: str = ""
    """Why the grade is not higher, as text for people."""
    judged_why: JudgeWhy = ""
    """Why the judge did not let the result pass."""
    rests_on: list[str] = []
    """Paths of undecided changes without which the result does not hold."""
    help: list[str] = []
    """What a person can add to the command line of the next run: `--scope PATH`, `--setup LINE`."""
    look_first: list[LookFirst] = []
    """More of it, which accepts changes of what decides the check: not to be added without a look at them."""
    undecided: list[str] = []
    """Paths of all changes that nobody decided on, at most 50."""
    undecided_count: int = 0
    decided: str = ""
    """Digest of all paths that the run changed, as they were judged: with another one, the verdict is void. Empty means
    that nothing was judged."""
    decided_files: str | None = None
    """Blob of the accepted changes: the files with their content at the end. None means that there are none."""
    opened: int | None = None
    """Number of files that the check opened, or None if it is not known."""
    opened_changed: list[str] = []
    """Which of them the run changed."""
    plant: str = ""
    """What became of the planted tests, as text for people, or empty if none were planted."""
    holdout: str = ""
    """What became of the second check, as text for people, or empty if there is none, or it did not run."""


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
    if evidence.grade == "held_out":
        return "second check"
    if evidence.grade == "judged":
        return "without undecided changes"
    if evidence.guarded_unchanged is None:
        return "not guaranteed"
    if not evidence.checks:
        return "predicate or score"
    return "exit code only" if evidence.after is None or evidence.accepted else "counted"


def evidence_words(evidence: Evidence | None, approved_by: Sequence[str] = ()) -> str:
    """Describe the evidence in one line: `passed also without the 2 changes that nobody decided on: 212 tests ...`.

    `approved_by`: MCP clients that decided in place of a person. Empty means that there is nothing to say.
    """
    return "; ".join(part for part in (result_words(evidence, approved_by), *_more(evidence)) if part)


def _more(evidence: Evidence | None) -> list[str]:
    if evidence is None:
        return []
    opened, undecided = opened_words(evidence), undecided_words(evidence)
    return [f"the check opened {opened}" if opened else "", f"undecided: {undecided}" if undecided else ""]


def result_words(evidence: Evidence | None, approved_by: Sequence[str] = ()) -> str:
    """Describe how the result was proved: its grade, the tests, and what else somebody has to know to trust it."""
    if evidence is None:
        return proof_words(None, approved_by)
    grade, proof = grade_words(evidence), proof_words(evidence, approved_by)
    return f"{grade}: {proof}" if grade and proof else grade or proof


def proof_words(evidence: Evidence | None, approved_by: Sequence[str] = ()) -> str:
    """Describe what was counted and compared: `34 tests as at the start, 3 -> 0 failing`, or empty if nothing was."""
    decided = [f"approved by {first_names(list(approved_by), _NAMED)}, not by a person"] if approved_by else []
    return ", ".join([*(_parts(evidence) if evidence is not None else ()), *decided])


def grade_row(evidence: Evidence) -> tuple[str, str]:
    """Return a label and a text that say the grade in a list of facts. Both are empty: the result is not graded."""
    words = grade_words(evidence)
    if evidence.judged_why:
        return ("judged" if evidence.judged_why in _NOT_JUDGED else "not judged"), words
    match evidence.grade:
        case "none":
            return "", ""
        case "passed" if not evidence.decided:
            return "not judged", words
        case "passed":
            return "less proof", evidence.grade_detail or words
        case "judged":
            return "judged", words
        case "held_out":
            return "held out", words


def grade_words(evidence: Evidence) -> str:
    """Return the grade as a sentence for people, or empty if the result is not graded."""
    if evidence.judged_why:
        return _NOT_JUDGED.get(evidence.judged_why, "passed in the workspace, but could not be judged")
    match evidence.grade:
        case "none":
            return ""
        case "passed" if not evidence.decided:
            detail = f" ({evidence.grade_detail})" if evidence.grade_detail else ""
            return f"passed in the workspace, and not tried without undecided changes{detail}"
        case "passed":
            return f"passed, but with less proof ({evidence.grade_detail})" if evidence.grade_detail else "passed"
        case "judged" | "held_out":
            count = evidence.undecided_count
            what = "the one change" if count == 1 else f"the {count} changes"
            also = f"passed also without {what} that nobody decided on" if count else _NOTHING_LEFT
            return f"{also}, and a second check that the model never saw" if evidence.grade == "held_out" else also


def some_files(names: Sequence[str]) -> str:
    """Return the first names of a list: `a.py, b.py, c.py and 4 more`."""
    return first_names(list(names), _NAMED)


def opened_words(evidence: Evidence) -> str:
    """Return `34 files, 2 changed by this run (a.py, b.py)`, or empty if it is not known what the check opened."""
    if evidence.opened is None:
        return ""
    count, changed = plural(evidence.opened, "file"), evidence.opened_changed
    if not changed:
        return f"{count}, none changed by this run"
    return f"{count}, {len(changed)} changed by this run ({first_names(changed, _NAMED)})"


def undecided_words(evidence: Evidence) -> str:
    """Return how many changes nobody decided on and whether the result needs them, or empty if there are none."""
    if not evidence.undecided_count:
        return ""
    count = plural(evidence.undecided_count, "change")
    if evidence.rests_on:
        return f"{count}; the result needs {first_names(evidence.rests_on, _NAMED)}"
    needed = "" if evidence.judged_why else ", not needed for the result"
    return f"{count}{needed}: {_of_all(evidence)}"


def undecided_help(evidence: Evidence, *, is_staged: bool = False) -> str:
    """Return what a person can do about undecided changes, or empty if there are none. `is_staged`: they are staged."""
    if not evidence.undecided_count:
        return ""
    if is_staged:
        return "what you approve in `rundry apply` as a diff is decided on"
    if not evidence.judged_why:
        return "commit or restore them: until then, no later run in this folder counts them"
    again = f", or start again with {' '.join(evidence.help)}" if evidence.help else ""
    if evidence.rests_on:
        return f"`rundry apply --keep` shows them as a diff and accepts them, and so does a resume in a session{again}"
    return f"start again with {' '.join(evidence.help)}" if evidence.help else ""


def look_first_words(options: Sequence[LookFirst]) -> str:
    """Return `accept the changed test a only if you have looked at it: --scope a`.

    Returns empty if there are no such options.
    """
    if not options:
        return ""
    *others, last = [one.accepts for one in options]
    what, it = (f"{', '.join(others)} and {last}", "them") if others else (last, "it")
    return f"accept {what} only if you have looked at {it}: {' '.join(one.option for one in options)}"


def _of_all(evidence: Evidence, limit: int = 3) -> str:
    shown = evidence.undecided[:limit]
    left = evidence.undecided_count - len(shown)
    return f"{', '.join(shown)}{f' and {left} more' if left else ''}"


def _parts(evidence: Evidence) -> list[str]:
    parts = [*_counted(evidence)]
    if evidence.plant:
        parts.append(evidence.plant)
    elif evidence.grade in ("judged", "held_out"):
        parts.append("no planted test")
    if evidence.holdout and evidence.grade == "judged":
        parts.append(evidence.holdout)
    if SCORE_FROM_OUTPUT in evidence.not_guaranteed:
        parts.append("measured code can print a score")
    if evidence.missing_count:
        parts.append(f"{_tests(evidence.missing_count)} missing")
    if evidence.accepted and not evidence.grade_detail:
        parts.append("suspect check accepted by a person")
    if evidence.guarded_changed:
        what = "accepted outside of the scope" if evidence.decided else "guarded files changed"
        parts.append(f"{what}: {first_names(evidence.guarded_changed, _NAMED)}")
    if evidence.confirmation is not None:
        parts.append(confirmation_words(evidence.confirmation))
    return parts


_NOTHING_LEFT = "passed again in a clean place, and no change is undecided"
_NOT_JUDGED: Mapping[JudgeWhy, str] = {
    "undecided": "passed only with changes that nobody decided on",
    "conditions": "passed in the workspace, but not in a clean place",
    "suspect": "passed, but the result is suspect",
    "holdout": "passed, but the second check failed",
}


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
    return parts if evidence.plant else [*parts, "code under test can print counts"]


def _tests(count: int | None) -> str:
    return f"{count} tests" if count is None else plural(count, "test")
