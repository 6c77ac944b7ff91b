"""A suspect check in the loops with passes: the pass stays open until a person decides (docs/requirements.md 2.3.6)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from fakes.in_process.simulated_hours import subjects
from fakes.project import CHECK, FIX_BOTH, changed_files
from fakes.rundry import Home, Ran
from fakes.server import ScriptedServer
from fakes.turns import edit, finish, say

LEAVES = edit("calc/core.py", '"""Sums."""', '"""Sums."""\nimport os\n\nos._exit(0)')
BACK = edit("calc/core.py", "import os\n\nos._exit(0)\n", "")
SCORE = "expr $(wc -l < calc/core.py) + 10 '*' $(grep -c 'a + b' calc/core.py)"
IMPROVE = ["--score", SCORE, "--goal", "max"]
LOOPS = {"interval": ["--every", "1h"], "improve": IMPROVE}


@pytest.fixture(params=LOOPS)
def loop(request: pytest.FixtureRequest) -> list[str]:
    return LOOPS[request.param]


def start(home: Home, project: Path, server: ScriptedServer, *argv: str) -> Ran:
    return home.run(
        "run", "fix the suite", "--headless", "--json", "--until", CHECK, "--gate", "auto",
        "--model", "fake", "--api-base", server.base_url, *argv, cwd=project,
    )  # fmt: skip


def handed_over(home: Home, project: Path, server: ScriptedServer, *argv: str) -> tuple[str, str]:
    """The run and the digest of its suspect result."""
    ran = start(home, project, server, *argv)
    assert (ran.exit_code, ran.outcome["reason"]) == (5, "handoff"), ran
    assert ran.outcome["detail"].startswith(f"suspect check: `{CHECK}`: it printed no count of tests")
    assert ran.of("pass_finished") == [] and ran.of("patch_kept") == []
    assert changed_files(project) == [], "it waits in its layer"
    (waiting,) = json.loads(home.run("handoffs", "--json", cwd=project).stdout)
    digest = waiting["suspect"]["digest"]
    assert waiting["take_up"] == f"rundry approve {waiting['run_id']} --digest {digest[:12]}"
    return waiting["run_id"], digest


def test_a_pass_with_a_suspect_check_waits_and_an_approval_from_a_script_keeps_it(
    home: Home, project: Path, loop: list[str]
):
    with ScriptedServer([LEAVES, say("never asked for")]) as server:
        run_id, digest = handed_over(home, project, server, *loop, "--steps", "1")
        ran = home.run("approve", run_id, "--digest", digest[:12], "--json", cwd=project)
    assert (ran.exit_code, ran.outcome["reason"]) == (3, "budget"), ran
    (kept,) = ran.of("pass_finished")
    assert kept["verdict"] == "kept" and kept["files"] == ["calc/core.py"]
    assert subjects(project)[0].startswith("rundry pass 1") and changed_files(project) == []
    assert ran.outcome["evidence"]["accepted"] is True


def test_a_rejected_pass_continues_with_the_reason_and_is_kept_once_its_tests_run(
    home: Home, project: Path, loop: list[str]
):
    more = edit("calc/core.py", '"""Sums."""', '"""Sums."""\n\n# Adds and averages.\n')
    with ScriptedServer([LEAVES, BACK, more, FIX_BOTH]) as server:
        run_id, digest = handed_over(home, project, server, *loop, "--steps", "4")
        ran = home.run("reject", run_id, "--digest", digest, "--reason", "do not exit", "--json", cwd=project)
        told = server.requests[1].text
    assert "do not exit" in told and "this is not a pass" in told
    assert [one["verdict"] for one in ran.of("pass_finished")] == ["kept"], ran
    assert "os._exit" not in (project / "calc/core.py").read_text()


def test_a_rejected_pass_without_a_step_left_is_rolled_back_and_its_patch_is_kept(
    home: Home, project: Path, loop: list[str]
):
    with ScriptedServer([LEAVES, say("never asked for")]) as server:
        run_id, digest = handed_over(home, project, server, *loop, "--pass-steps", "1", "--steps", "1")
        ran = home.run("reject", run_id, "--digest", digest, "--json", cwd=project)
    assert ran.exit_code == 3, ran
    (back,) = ran.of("pass_finished")
    assert back["verdict"] == "reverted" and "suspect check" in back["why"]
    assert len(ran.of("patch_kept")) == 1 and changed_files(project) == []


def test_a_check_that_was_green_is_asked_about_only_when_the_pass_is_over(home: Home, project: Path):
    done = finish("stopped early", "calc/core.py")
    with ScriptedServer([FIX_BOTH, LEAVES, say("looked"), done, say("never asked for")]) as server:
        ran = start(home, project, server, *IMPROVE, "--steps", "9")
        told = server.requests[2].text
    assert (ran.exit_code, ran.outcome["reason"]) == (5, "handoff"), ran
    assert "this is not a pass" in told
    assert ran.outcome["passes"] == 2 and len(ran.of("pass_finished")) == 1


def test_a_run_whose_steps_end_in_a_suspect_pass_asks_instead_of_reverting_it(home: Home, project: Path):
    with ScriptedServer([FIX_BOTH, LEAVES, say("never asked for")]) as server:
        ran = start(home, project, server, *IMPROVE, "--steps", "2")
        assert (ran.exit_code, ran.outcome["reason"]) == (5, "handoff"), ran
        (waiting,) = json.loads(home.run("handoffs", "--json", cwd=project).stdout)
        digest = waiting["suspect"]["digest"]
        found = home.run("approve", waiting["run_id"], "--digest", digest, "--json", cwd=project)
    assert (found.exit_code, found.outcome["reason"]) == (3, "budget"), found
    assert [one["verdict"] for one in found.of("pass_finished")] == ["kept"]


def test_on_a_terminal_the_person_is_asked_and_the_accepted_pass_is_committed(home: Home, project: Path):
    argv = ["--every", "1h", "--until", CHECK, "--gate", "auto", "--model", "fake", "--steps", "1"]
    with (
        ScriptedServer([LEAVES, say("never asked for")]) as server,
        home.screen("run", "fix the suite", *argv, "--api-base", server.base_url, cwd=project) as terminal,
    ):
        terminal.wait_for("Accept the result")
        assert subjects(project) == ["A red suite"]
        terminal.send("1\r")
        terminal.wait_for("kept")
        assert subjects(project)[0].startswith("rundry pass 1")
