"""Collect the evidence of an outcome from the facts (docs/requirements.md 2.3.9)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from ...protocol import (
    FROM_OUTPUT,
    SCORE_FROM_OUTPUT,
    CheckEvidence,
    Confirmation,
    Evidence,
    RunSpec,
    TestCounts,
)
from ...state.facts.verdicts import counts_of

if TYPE_CHECKING:
    from ...sandbox.sandbox import Sandbox
    from ...state.facts.run_facts import RunFacts

_MOST_RESTING = 50
"""Paths that the evidence lists of what the result rests on."""
NO_GUARD = "`--guard none`: files that the check depends on could change without approval"
UNHELD = "without a sandbox and with `--guard none`, commands can change everything that the verdict depends on"
UNHELD_OUTSIDE = (
    "without a sandbox, commands can change what the check depends on outside of the workspace, and it is not noticed"
)
EXIT_CODE_ONLY = "`{}` counts no tests: only its exit code is known"


def evidence_of(facts: RunFacts, not_held: Sequence[str] = ()) -> Evidence | None:
    """Return the evidence, or None if the run has neither a predicate nor a score.

    `not_held`: what could not be guaranteed here.
    """
    if facts.verdicts.confirmation is None and not is_decided(facts.spec):
        return None
    verdicts, wanted = facts.verdicts, facts.spec.predicates
    found = [check for command in wanted.until if (check := verdicts.checks.get(command)) is not None]
    checks = [
        CheckEvidence(
            command=check.command,
            exit_code=check.exit_code,
            passed=check.passed,
            before=verdicts.starts.get(check.command),
            after=counts_of(check),
            suspect=check.suspect or "",
            accepted=check.command in verdicts.accepted,
        )
        for check in found
    ]
    evidence = Evidence(
        before=_sum(check.before for check in checks),
        after=_sum(check.after for check in checks),
        missing=[name for check in found for name in check.missing],
        missing_count=sum(check.missing_count for check in found),
        checks=checks,
        accepted=any(check.accepted for check in checks) or bool(facts.finder and facts.finder.suspects.accepted),
        not_guaranteed=_not_guaranteed(facts, not_held, checks),
        confirmation=_confirmation(facts),
    )
    return _with_judgement(evidence, facts)


def _with_judgement(evidence: Evidence, facts: RunFacts) -> Evidence:
    """Add what the judge found. A run without one has the grade `passed` if its checks hold in the workspace."""
    verdicts = facts.verdicts
    judged = verdicts.judgement if verdicts.is_judged and not verdicts.suspects else None
    if facts.spec.loop.traits.commits_passes:  # a later pass may have been dropped
        judged = verdicts.kept
    if judged is None:
        passed = [*(check.passed for check in evidence.checks), *(one.passed for one in verdicts.predicates.values())]
        return replace(evidence, grade="passed" if passed and all(passed) else "none")
    return replace(
        evidence,
        guarded_unchanged=not judged.undecided_count,
        guarded_changed=judged.outside,
        grade=judged.grade,
        grade_detail=judged.detail,
        undecided=judged.undecided,
        undecided_count=judged.undecided_count,
        decided=judged.decided,
        opened=judged.opened,
        opened_changed=judged.opened_changed,
        plant=judged.plant,
        holdout=judged.holdout,
        judged_why=judged.why,
        rests_on=judged.rests_on[:_MOST_RESTING],
        help=judged.help,
        look_first=judged.look_first,
        decided_files=judged.decided_files,
    )


def not_held_here(spec: RunSpec, sandbox: Sandbox) -> list[str]:
    """Return the notes to show before a run without a sandbox: what commands can change that its verdict depends on."""
    if sandbox.kind is not None or not is_decided(spec):
        return []
    return [UNHELD if "none" in spec.predicates.guard else UNHELD_OUTSIDE]


def is_decided(spec: RunSpec) -> bool:
    """Return whether a check, another predicate or a score decides when the run is done."""
    finder_check = spec.finder is not None and spec.finder.check is not None
    if spec.fix is not None or spec.review is not None:  # its predicates are those of its child runs
        return False
    return spec.predicates.exist or spec.improve is not None or finder_check


def _confirmation(facts: RunFacts) -> Confirmation | None:
    """Return the result of the newest confirmation, or None if there was none."""
    found = facts.verdicts.confirmation
    return Confirmation(result=found.result, command=found.command, detail=found.detail) if found is not None else None


def _sum(counts: Iterable[TestCounts | None]) -> TestCounts | None:
    found = [one for one in counts if one is not None]
    if not found:
        return None
    ran = [one.ran for one in found if one.ran is not None]
    return TestCounts(sum(ran) if ran else None, sum(one.failing for one in found))


def _not_guaranteed(facts: RunFacts, not_held: Sequence[str], checks: list[CheckEvidence]) -> list[str]:
    lines = [*not_held]
    if "none" in facts.spec.predicates.guard:
        lines.append(NO_GUARD)
    lines += facts.verdicts.not_guaranteed
    if any(check.after is not None for check in checks):
        lines.append(FROM_OUTPUT)
    if facts.spec.improve is not None:
        lines.append(SCORE_FROM_OUTPUT)
    lines += [EXIT_CODE_ONLY.format(check.command) for check in checks if check.before is None and check.after is None]
    return lines
