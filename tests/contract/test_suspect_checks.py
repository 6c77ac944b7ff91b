"""A check that is green because its tests did not run is never `done` (REQUIREMENTS 2.3.6, 2.3.9)."""

from __future__ import annotations

from pathlib import Path

import pytest
from fakes.project import CHECK, FIX_BOTH
from fakes.rundry import Home, Ran
from fakes.server import ScriptedServer, text_of
from fakes.turns import Turn, edit, say


def start(home: Home, project: Path, server: ScriptedServer, check: str, *more: str) -> Ran:
    return home.run(
        "run", "fix the suite", "--headless", "--until", check, "--gate", "auto", "--steps", "4",
        "--model", "fake", "--api-base", server.base_url, "--price", "1/2", *more, cwd=project,
    )  # fmt: skip


def goal(home: Home, project: Path, *turns: Turn, check: str = CHECK) -> Ran:
    with ScriptedServer([*turns, say("never asked for")]) as server:
        return start(home, project, server, check, "--json")


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


LEAVES = edit("calc/core.py", '"""Sums."""', '"""Sums."""\nimport os\n\nos._exit(0)')
LATER = '    raise __import__("unittest").SkipTest("later")'
SKIPS = edit("calc/core.py", "    return sum(values) / (len(values) + 1)", LATER)


def test_code_that_ends_the_tests_at_import_is_a_suspect_check_and_a_handoff(home: Home, project: Path):
    ran = goal(home, project, LEAVES)
    assert ran.exit_code == 5, ran
    outcome = ran.outcome
    assert outcome["reason"] == "handoff"
    assert outcome["detail"].startswith("suspect check: `python3 -m unittest -q`: it printed no count of tests")
    evidence = outcome["evidence"]
    assert evidence["before"] == {"ran": 3, "failing": 2}
    assert evidence["after"] is None
    assert evidence["guarded_unchanged"] is True
    (check,) = evidence["checks"]
    assert (check["exit_code"], check["passed"], check["accepted"]) == (0, False, False)
    last = ran.of("check_finished")[-1]
    assert (last["exit_code"], last["passed"]) == (0, False)


def test_tests_that_are_skipped_now_are_missing_and_the_handoff_names_them(home: Home, project: Path):
    ran = goal(home, project, edit("calc/core.py", "a - b", "a + b"), SKIPS, check="python3 -m unittest -v")
    assert ran.exit_code == 5, ran
    assert "1 test that ran before did not run (tests.test_core.Core.test_mean)" in ran.outcome["detail"]
    assert ran.outcome["evidence"]["missing"] == ["tests.test_core.Core.test_mean"]
    record = ran.of("handoff_opened")[-1]["record"]
    assert record["failing_check"]["missing"] == ["tests.test_core.Core.test_mean"]
    listed = home.run("handoffs", cwd=project)
    assert "suspect check" in listed.stdout
    assert "test_mean" in listed.stdout, listed


def test_an_honest_run_is_done_with_its_evidence_in_one_line(home: Home, project: Path):
    with ScriptedServer([FIX_BOTH]) as server:
        ran = start(home, project, server, CHECK)
    assert ran.exit_code == 0, ran
    *_, evidence, last = ran.stderr.strip().splitlines()
    assert last.startswith("-> done after 1 step")
    assert evidence == "evidence: 3 tests as at the start, 2 -> 0 failing, guarded files unchanged"


def test_a_check_that_counts_nothing_says_that_only_its_exit_code_is_known(home: Home, project: Path):
    check = 'python3 -c "import calc.core as c; assert c.add(1, 1) == 2"'
    with ScriptedServer([FIX_BOTH]) as server:
        ran = start(home, project, server, check)
    assert ran.exit_code == 0, ran
    assert "evidence: exit code 0, no tests counted, guarded files unchanged" in ran.stderr


def test_the_resumed_model_is_told_which_tests_are_missing(home: Home, project: Path):
    back = edit("calc/core.py", "import os\n\nos._exit(0)\n", "")
    with ScriptedServer([LEAVES, back, FIX_BOTH]) as server:
        ran = start(home, project, server, CHECK, "--json")
        assert ran.exit_code == 5, ran
        resumed = home.run("resume", ran.events[0]["run_id"], "--headless", "--json", cwd=project)
        assert resumed.exit_code == 0, resumed
        told = [text_of(message) for message in server.requests[1].messages]
    assert "this is not a pass: it printed no count of tests" in told[-1]
    assert resumed.outcome["evidence"]["after"] == {"ran": 3, "failing": 0}
