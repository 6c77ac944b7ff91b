"""`rundry review`, the installed command: what it reviews, what it refuses, its exit codes and its exports."""

from __future__ import annotations

from pathlib import Path

import pytest
from fakes.reviewing import committed, found, git, reviewer
from fakes.rundry import Home, Ran
from fakes.server import ScriptedServer

BEFORE = """\
def total(prices):
    result = 0
    for at in range(len(prices)):
        result += prices[at]
    return result


def first(prices):
    return prices[0]
"""
AFTER = BEFORE.replace("range(len(prices))", "range(len(prices) - 1)")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    other = "import till\nprint(till.first([]))\n"
    return committed(tmp_path / "project", {"till.py": BEFORE, "other.py": other})


def review(home: Home, server: ScriptedServer, folder: Path, *argv: str, stdin: str | None = None) -> Ran:
    base = ["--model", "fake", "--api-base", server.base_url, "--headless", "--json", "--dry-passes", "1"]
    return home.run("review", *base, *argv, cwd=folder, stdin=stdin)


BUG = found("the last price is left out", "till.py:3", "range ends one too early")
ELSEWHERE = found("an empty list has no first price", "till.py:9")
CALLER = found("the sum of the caller is too small", "other.py:2", "because of till.py:3")
FAR = found("the caller passes an empty list", "other.py:1")


def test_the_working_tree_is_reviewed_until_dry_and_a_confirmed_finding_has_an_exit_code(home: Home, project: Path):
    (project / "till.py").write_text(AFTER)
    (project / "new.py").write_text("print('new')\n")
    with reviewer({"logic": [BUG]}) as server:
        ran = review(home, server, project)
    assert (ran.exit_code, ran.outcome["reason"], ran.outcome["complete"]) == (7, "dry", True), ran
    assert ran.outcome["findings"] == {"confirmed": 1, "refuted": 0}
    (cut,) = ran.of("diff_cut")
    assert (cut["files"], cut["parts"], cut["left_out"]) == (2, 1, [])
    (reported,) = ran.of("finding_reported")
    assert (reported["evidence"], reported["relation"]) == ("till.py:3", "changed")
    prompts = [request.body["messages"][1]["content"] for request in server.requests]
    first = next(text for text in prompts if "<diff>" in text)
    assert "     3 +     for at in range(len(prices) - 1):" in first and "file new.py, added" in first
    assert git(project, "status", "--porcelain") == "M till.py\n?? new.py"
