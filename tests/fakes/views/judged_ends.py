"""Ends of runs with each kind of verdict, and a run before them, for tests and pictures of the end."""

from __future__ import annotations

from rundry.agent import (
    Evidence,
    Judged,
    JudgeStarted,
    Reason,
    ReplyFinished,
    RunEnded,
    StepStarted,
    TextArrived,
    Tokens,
    Undone,
)
from rundry.agent.protocol import CheckEvidence, CheckFinished, LookFirst, TestCounts

CHECK = "pytest -q"
PLANT = "3 planted tests failed as they must"
BEFORE = [
    StepStarted(number=9),
    TextArrived(text="All sums are rounded to cents now, and the tests pass."),
    ReplyFinished(finish="stop", calls=0),
    CheckFinished(
        command=CHECK, passed=True, exit_code=0, timed_out=False, seconds=2.3, ran=34, failing=0, output="34 passed"
    ),
]


def evidence(**fields: object) -> Evidence:
    """Evidence of a judged run, with other fields."""
    base: dict[str, object] = {
        "before": TestCounts(34, 3),
        "after": TestCounts(34, 0),
        "checks": [CheckEvidence(command=CHECK, exit_code=0, passed=True)],
        "guarded_unchanged": True,
        "grade": "judged",
        "decided": "d",
        "opened": 41,
        "opened_changed": ["shop/money.py", "shop/cart.py"],
        "plant": PLANT,
    }
    return Evidence(**(base | fields))  # type: ignore[arg-type]


def ended(reason: Reason, detail: str, found: Evidence, **fields: object) -> RunEnded:
    """The end of a run with this evidence."""
    complete = reason is Reason.DONE
    return RunEnded(
        reason=reason,
        detail=detail,
        complete=complete,
        exit_code=0 if complete else 5,
        steps=9,
        tokens=Tokens(60_000, 1_000),
        usd=0.04,
        seconds=161.0,
        files_changed=["shop/cart.py", "shop/money.py"],
        evidence=found,
        **fields,  # type: ignore[arg-type]
    )


PASSED = f"check passed: {CHECK}"
UNDECIDED = ["build/report.xml", "notes.md", "tests/test_money.py"]
RESTS = "it passes only with changes that nobody decided on: tests/test_money.py"
LOOK_FIRST = LookFirst("--scope tests/test_money.py", "the changed test tests/test_money.py")
SUSPECT = f"suspect: `{CHECK}`: 3 planted tests did not fail"
ENDS = {
    "judged": ended(Reason.DONE, PASSED, evidence()),
    "undecided": ended(Reason.DONE, PASSED, evidence(undecided=UNDECIDED, undecided_count=3)),
    "rests": ended(
        Reason.HANDOFF,
        RESTS,
        evidence(
            grade="passed",
            judged_why="undecided",
            grade_detail=RESTS,
            undecided=UNDECIDED,
            undecided_count=3,
            rests_on=["tests/test_money.py"],
            look_first=[LOOK_FIRST],
            plant="",
            opened=None,
            opened_changed=[],
        ),
    ),
    "in-place": ended(
        Reason.DONE, PASSED, evidence(grade="passed", decided="", plant="", opened=None, opened_changed=[])
    ),
    "suspect": ended(
        Reason.HANDOFF, SUSPECT, evidence(grade="passed", judged_why="suspect", grade_detail=SUSPECT, plant="")
    ),
    "void": ended(Reason.DONE, PASSED, evidence(undecided=UNDECIDED, undecided_count=3)),
}
VOID = Undone(changes=2, files=["shop/cart.py", "shop/money.py"], kept=[])
JUDGING = JudgeStarted(checks=[CHECK], undecided_count=3)
JUDGED = Judged(grade="judged", passed=True, undecided=UNDECIDED, undecided_count=3, plant=PLANT, seconds=4.1)
RED = Judged(
    grade="passed",
    passed=False,
    why="undecided",
    detail=RESTS,
    look_first=[LOOK_FIRST],
    output="1 failed, 33 passed",
    seconds=4.1,
)
