"""`rundry review --fix`: find, repair in a layer, find again; nothing is applied without a decision."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from fakes.nested.ended import ended
from fakes.reviewing import Reviewer, committed, found, git
from fakes.rundry import Home, Ran
from fakes.turns import Turn, call, say

from rundry.tui.control.end_words import end_line

BEFORE = "def last(items):\n    return items[len(items) - 1]\n"
AFTER = "def last(items):\n    return items[len(items)]\n"
CHECK = "python3 -m unittest -q"
TEST = """\
import unittest
import till

class Tests(unittest.TestCase):
    def test_it_has_the_function(self):
        self.assertTrue(callable(till.last))
"""
BUG = found("the index is one too large", "till.py:2")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = committed(tmp_path / "project", {"till.py": BEFORE, "test_till.py": TEST})
    (folder / "till.py").write_text(AFTER)
    return folder


class Repairing(Reviewer):
    """Finds the bug as long as the diff has it, and repairs it."""

    def _report(self, lens: str, prompt: str) -> Turn:
        has_bug = "+     return items[len(items)]\n" in prompt
        self.lenses = {"logic": [BUG] if has_bug else []}
        return super()._report(lens, prompt)


def repairs(task: str, messages: list[dict[str, Any]]) -> Turn:
    turns = [
        call("read_file", path="till.py"),
        call("write_file", path="till.py", content=BEFORE + "\n\nFIXED = True\n"),
        call("finish", answer="repaired", citations=["till.py:2"]),
    ]
    return turns[min(2, sum(message.get("role") == "tool" for message in messages))]


def apply(home: Home, folder: Path, child: str) -> Ran:
    shown = home.run("apply", child, "--json", cwd=folder)
    digest = json.loads(shown.stdout)["digest"]
    return home.run("apply", child, "--digest", digest, cwd=folder)


def waiting(home: Home, folder: Path, run: str) -> list[dict[str, Any]]:
    return [each for each in json.loads(home.run("handoffs", "--json", cwd=folder).stdout) if each["run_id"] == run]


def review(home: Home, server: Reviewer, folder: Path, *argv: str) -> Ran:
    base = ["--model", "fake", "--api-base", server.base_url, "--headless", "--json", "--dry-passes", "1"]
    return home.run("review", "--fix", "--until", CHECK, "--tokens", "3M", *base, *argv, cwd=folder)


def test_a_confirmed_finding_is_repaired_and_the_search_after_it_is_dry(home: Home, project: Path):
    with Repairing({}, fixes=repairs) as server:
        ran = review(home, server, project, "--gate", "auto")
    assert (ran.exit_code, ran.outcome["reason"], ran.outcome["complete"]) == (0, "dry", True), ran
    assert "FIXED" in (project / "till.py").read_text()
    children = [(each["about"] != "", each["reason"]) for each in ran.outcome["children"]]
    assert children == [(False, "dry"), (True, "done"), (False, "dry")]
    assert ran.outcome["detail"] == "search 2, after the last repair, confirmed nothing; 1 finding repaired"
    limits = [each["budget"] for each in ran.of("child_started")]
    assert [(each["steps"], each["seconds"]) for each in limits] == [(None, None)] * 3, "nobody set these"
    assert limits[0]["tokens"] == 1_500_000
    run, *started = (ran.of("run_started")[0], *ran.of("child_started"))
    refused = home.run("export", run["run_id"], "--format", "sarif", cwd=project)
    assert refused.exit_code == 2, refused
    assert f"export one of them: {started[2]['run_id']}, {started[0]['run_id']}" in refused.stderr, refused
    assert home.run("export", started[0]["run_id"], "--format", "sarif", cwd=project).exit_code == 0
    assert [child["files_changed"] for child in ran.outcome["children"]] == [[], ["till.py"], []]
    assert end_line(ended(ran)).endswith("; 1 file changed by child runs")


def test_without_somebody_to_decide_a_repair_stays_staged_until_it_is_applied_and_the_review_resumed(
    home: Home, project: Path
):
    with Repairing({}, fixes=repairs) as server:
        ran = review(home, server, project)
        assert (ran.exit_code, ran.outcome["reason"]) == (5, "handoff"), ran
        run, child = ran.of("run_started")[0]["run_id"], ran.of("child_started")[1]["run_id"]
        assert f"`rundry apply {child}` decides, `rundry resume {run}` continues" in ran.outcome["detail"]
        assert (project / "till.py").read_text() == AFTER
        (opened,) = ran.of("handoff_opened")
        assert opened["suggested_action"].startswith(f"Decide on the staged repair with `rundry apply {child}`")
        (waits,) = waiting(home, project, run)
        assert (waits["take_up"], "`rundry apply" in waits["suggested_action"]) == (f"rundry apply {child}", True)
        applied = apply(home, project, child)
        assert [each["take_up"] for each in waiting(home, project, run)] == [f"rundry resume {run}"]
        assert applied.exit_code == 0 and "FIXED" in (project / "till.py").read_text(), applied
        again = home.run("resume", run, "--headless", "--json", cwd=project)
    assert (again.exit_code, again.outcome["reason"]) == (0, "dry"), again
    assert [each["reason"] for each in again.outcome["children"]] == ["dry", "done", "dry"]
    assert [child["files_changed"] for child in again.outcome["children"]] == [[], ["till.py"], []]


def test_a_finding_that_is_found_again_is_not_repaired_twice(home: Home, project: Path):
    def touches(task: str, messages: list[dict[str, Any]]) -> Turn:
        turns = [
            call("read_file", path="till.py"),
            call("write_file", path="till.py", content=AFTER + "\n\nTRIED = True\n"),
            call("finish", answer="repaired", citations=["till.py:2"]),
        ]
        return turns[min(2, sum(message.get("role") == "tool" for message in messages))]

    with Repairing({}, fixes=touches) as server:
        ran = review(home, server, project, "--gate", "auto")
    assert (ran.exit_code, ran.outcome["reason"]) == (6, "partial"), ran
    assert ran.outcome["detail"] == "1 finding repaired, 1 not: the index is one too large"
    assert [each["reason"] for each in ran.outcome["children"]] == ["dry", "done", "dry"]


def test_a_repair_that_does_not_pass_the_suite_is_not_applied(home: Home, project: Path):
    def breaks(task: str, messages: list[dict[str, Any]]) -> Turn:
        turns = [
            call("read_file", path="till.py"),
            call("write_file", path="till.py", content="last = None\n"),
            say("I cannot repair it."),
        ]
        return turns[min(2, sum(message.get("role") == "tool" for message in messages))]

    with Repairing({}, fixes=breaks) as server:
        ran = review(home, server, project, "--gate", "auto")
    assert (ran.exit_code, ran.outcome["reason"]) == (6, "partial"), ran
    assert (project / "till.py").read_text() == AFTER
    assert [each["reason"] for each in ran.outcome["children"]] == ["dry", "stagnation"]


def test_a_change_without_defects_is_dry_after_one_search(home: Home, project: Path):
    (project / "till.py").write_text(BEFORE + "\n\nVERSION = 1\n")
    with Repairing({}, fixes=repairs) as server:
        ran = review(home, server, project, "--gate", "auto")
    assert (ran.exit_code, ran.outcome["reason"]) == (0, "dry"), ran
    assert ran.outcome["detail"] == "nothing confirmed; 0 findings repaired"


def test_searches_and_repairs_share_one_budget(home: Home, project: Path):
    with Repairing({}, fixes=repairs) as server:
        ran = review(home, server, project, "--gate", "auto", "--steps", "9")
    assert (ran.exit_code, ran.outcome["reason"]) == (3, "budget"), ran
    assert ran.outcome["steps"] <= 9 and (project / "till.py").read_text() == AFTER


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["--until", "true"], "needs an explicit budget"),
        (["--usd", "1"], "--fix needs a check for the repairs: add --until CMD"),
        (["--until", "sh -c {title}", "--usd", "1"], "{title} cannot be used there"),
        (["--until", "true", "--usd", "1", "--patch", "x.diff"], "--patch with --fix"),
        (["--until", "true", "--usd", "1", "--commit"], "--commit with --fix"),
        (["--until", "true", "--usd", "1", "--gate", "read"], "--gate read with --fix"),
        (["--until", "true", "--usd", "1", "--diff", "HEAD~1..HEAD"], "--fix repairs in the workspace"),
    ],
)
def test_what_a_repair_cannot_work_with_is_refused_in_one_line(home: Home, project: Path, argv: list[str], said: str):
    git(project, "commit", "-qam", "two")
    (project / "till.py").write_text("")
    ran = home.run("review", "--fix", "--model", "fake", "--headless", *argv, cwd=project)
    assert (ran.exit_code, len(ran.stderr.splitlines())) == (2, 1), ran
    assert said in ran.stderr and not home.journals()


def test_the_last_line_counts_steps_because_a_run_with_child_runs_has_no_passes(home: Home, project: Path):
    (project / "till.py").write_text(BEFORE + "\n\nVERSION = 1\n")
    with Repairing({}, fixes=repairs) as server:
        base = ["--model", "fake", "--api-base", server.base_url, "--headless", "--dry-passes", "1", "--gate", "auto"]
        ran = home.run("review", "--fix", "--until", CHECK, "--tokens", "3M", *base, cwd=project)
    assert ran.exit_code == 0 and re.search(r"-> dry after [1-9]\d* steps: nothing confirmed", ran.stderr), ran
