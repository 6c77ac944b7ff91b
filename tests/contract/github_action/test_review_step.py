"""The step with the input `diff`: green only if the review is dry, nothing confirmed is left, and that was reported."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from contract.github_action.action_step import GitHub, Step, make_step
from fakes.reviewing import Reviewer, committed, found, git, reviewer
from fakes.rundry import RUNDRY

BEFORE = "def total(prices):\n    return sum(prices)\n"
AFTER = "def total(prices):\n    return sum(prices[:-1])\n"
BUG = found("the last price is `left` out, @everyone", "till.py:2")

STARTED = {"type": "run_started", "run_id": "run-1"}
CUT = {"type": "diff_cut", "files": 1, "parts": 1, "left_out": []}
LOOKED = {"type": "work_finished", "kind": "lens", "about": "logic", "ok": True}
REPORTED = {"type": "finding_reported", "key": "k", "title": "t", "relation": "changed"}
CONFIRMED = {"type": "finding_judged", "key": "k", "verdict": "confirmed", "by": "sceptics", "duplicate_of": None}
REFUTED = {**CONFIRMED, "verdict": "refuted"}
DRY = {"type": "run_ended", "reason": "dry", "complete": True, "detail": "nothing new", "answer": None}
CLEAN = (STARTED, CUT, LOOKED, REPORTED, REFUTED, DRY)


@pytest.fixture
def step(tmp_path: Path) -> Step:
    """A step of a pull request that changes a function; the branch is checked out."""
    project = committed(tmp_path / "project", {"till.py": BEFORE})
    git(project, "switch", "-qc", "branch")
    (project / "till.py").write_text(AFTER)
    git(project, "commit", "-qam", "two")
    return make_step(tmp_path / "step", project).set(task="", check="", diff="main...HEAD", steps="100")


def run(step: Step, server: Reviewer) -> int:
    with server:
        return step.set(command=str(RUNDRY), api_base=server.base_url, model="fake").run()


@pytest.mark.long
def test_a_dry_review_without_findings_is_green_and_reported(step: Step, github: GitHub):
    step.pull_request(github)
    assert run(step, reviewer({"logic": [BUG]}, refutes=[BUG["title"]])) == 0, step.done
    assert (step.outputs["verdict"], step.outputs["reason"]) == ("done", "dry")
    (posted,) = github.comments.values()
    assert "**rundry: done.** The review is dry, and no confirmed finding is left." in posted
    assert step.outputs["run"] in posted and posted == step.summary


@pytest.mark.long
def test_a_confirmed_finding_is_red_and_in_the_report(step: Step, github: GitHub):
    (step.project / "package-lock.json").write_text("{}\n")
    git(step.project, "add", "package-lock.json")
    git(step.project, "commit", "-qm", "three")
    step.pull_request(github)
    assert run(step, reviewer({"logic": [BUG]})) == 1, step.done
    assert "its review confirmed findings (exit code 7)" in step.sentence
    assert "verdict" not in step.outputs
    (posted,) = github.comments.values()
    assert "- `the last price is 'left' out, @everyone (till.py:2)`" in posted, posted
    assert "- not reviewed: `package-lock.json (" in posted


def test_the_events_of_a_clean_review_are_green(step: Step):
    assert step.stand_in(*CLEAN).run() == 0, step.done
    words, _, text = step.seen
    assert words[:3] == ["review", "--headless", "--diff=main...HEAD"] and text == ""
    assert "--gate" not in words and step.outputs["verdict"] == "done"


OTHERS: dict[str, tuple[tuple[dict[str, Any], ...], str]] = {
    "an unknown end": ((STARTED, CUT, LOOKED), "no end in its events"),
    "done": ((STARTED, CUT, LOOKED, {**DRY, "reason": "done"}), "ended with done"),
    "not complete": ((STARTED, CUT, LOOKED, {**DRY, "complete": False}), "ended with dry"),
    "no diff": ((STARTED, LOOKED, DRY), "no file of the diff was shown"),
    "nothing of the diff": ((STARTED, {**CUT, "files": 0}, LOOKED, DRY), "no file of the diff was shown"),
    "no look": ((STARTED, CUT, DRY), "no lens looked"),
    "a failed look": ((STARTED, CUT, {**LOOKED, "ok": False}, DRY), "no lens looked"),
    "a confirmed finding": ((STARTED, CUT, LOOKED, REPORTED, CONFIRMED, DRY), "confirmed 1 finding(s)"),
    "no verdict": ((STARTED, CUT, LOOKED, REPORTED, DRY), "confirmed 1 finding(s)"),
    "reopened": (
        (STARTED, CUT, LOOKED, REPORTED, REFUTED, {"type": "finding_reopened", "key": "k"}, DRY),
        "confirmed 1 finding(s)",
    ),
}


@pytest.mark.parametrize("case", OTHERS)
def test_an_exit_code_of_0_alone_is_not_a_clean_review(step: Step, case: str):
    events, words = OTHERS[case]
    assert step.stand_in(*events).run() == 1
    assert words in step.sentence
    assert "verdict" not in step.outputs


@pytest.mark.parametrize("change", [{"relation": "outside"}, {"relation": "changed"}])
def test_findings_outside_of_the_diff_and_duplicates_do_not_count(step: Step, change: dict[str, str]):
    is_outside = change["relation"] == "outside"
    judged = CONFIRMED if is_outside else {**REFUTED, "duplicate_of": "other"}
    assert step.stand_in(STARTED, CUT, LOOKED, {**REPORTED, **change}, judged, DRY).run() == 0, step.done


def test_events_of_a_task_are_not_a_review(step: Step):
    done = {"type": "run_ended", "reason": "done", "complete": True, "detail": "check passed"}
    assert step.stand_in(STARTED, {"type": "check_finished"}, done).run() == 1
    assert "ended with done" in step.sentence


@pytest.mark.parametrize("inputs", [{"task": "Fix it."}, {"check": "make test"}])
def test_a_diff_with_a_task_or_a_check_is_red_before_the_run(step: Step, inputs: dict[str, str]):
    assert step.stand_in(*CLEAN).set(**inputs).run() == 1
    assert f"`diff` and `{next(iter(inputs))}` exclude each other" in step.sentence
    assert not step.read("seen.json")


@pytest.mark.parametrize("exit_code", [3, 6, 7])
def test_other_ends_of_a_review_are_red_and_reported(step: Step, github: GitHub, exit_code: int):
    assert step.pull_request(github).stand_in(*CLEAN, exit_code=exit_code).run() == 1
    assert f"(exit code {exit_code})" in step.sentence
    assert len(github.comments) == 1


def test_a_review_that_is_not_posted_is_red(step: Step, github: GitHub):
    github.vanish = True
    assert step.pull_request(github).stand_in(*CLEAN).set(post_time="2").run() == 1
    assert "was not posted and read back" in step.sentence


@pytest.mark.parametrize("diff", ["--output=x", "nowhere...HEAD"])
def test_a_range_that_does_not_exist_is_red_before_the_run(step: Step, diff: str):
    assert step.set(diff=diff, command=str(RUNDRY), api_base="http://127.0.0.1:9/v1").run() == 1
    assert "refused before it began (exit code 2)" in step.sentence


def test_many_findings_are_cut_and_counted(step: Step, github: GitHub):
    answer = "\n".join(f"- finding {number} {'x' * 2_000}" for number in range(300))
    events = (*CLEAN[:-1], {**DRY, "answer": answer})
    assert step.pull_request(github).stand_in(*events, exit_code=7).run() == 1
    (posted,) = github.comments.values()
    assert "more: the journal has all" in posted and len(posted) < 65_000
