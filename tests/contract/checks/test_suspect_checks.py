"""A check that is green because its tests did not run is never `done` (docs/requirements.md 2.3.6, 2.3.9)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from fakes.project import CHECK, FIX_BOTH, git
from fakes.rundry import Home, Ran
from fakes.server import ScriptedServer
from fakes.turns import Turn, edit, say
from fakes.wire import text_of


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
    assert evidence["guarded_changed"] == []
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


def test_an_honest_run_is_done_with_its_evidence_in_two_lines(home: Home, project: Path):
    with ScriptedServer([FIX_BOTH]) as server:
        ran = start(home, project, server, CHECK)
    assert ran.exit_code == 0, ran
    *_, judged, evidence, opened, way_on, last = ran.stderr.strip().splitlines()
    assert last.startswith("-> done after 1 step")
    place = "passed again in a clean place, and no change is undecided"
    said = (
        "3 tests as at the start, 2 -> 0 failing, "
        "2 planted tests and 3 tests with another expected value failed as they must"
    )
    assert (judged, evidence) == (f"judged: {place}", f"evidence: {said}")
    assert way_on.startswith("continue with: rundry resume")
    assert opened == "opened: 4 files, 1 changed by this run (calc/core.py)"
    (line,) = json.loads(home.run("runs", "--json", cwd=project).stdout)
    shown = f"{place}: {said}; the check opened 4 files, 1 changed by this run (calc/core.py)"
    assert (line["evidence"], line["evidence_kind"]) == (shown, "without undecided changes")


def test_a_report_counts_complete_runs_by_the_evidence_of_their_end(home: Home, project: Path):
    only_code = 'python3 -c "import calc.core as c; assert c.add(1, 1) == 2"'
    for argv in ([CHECK, "--confirm"], [CHECK], [only_code], [only_code, "--guard", "none"]):
        git(project, "checkout", "-q", ".")
        with ScriptedServer([FIX_BOTH]) as server:
            assert start(home, project, server, *argv).exit_code == 0
    shown = home.run("report", cwd=project).stdout
    git(project, "checkout", "-q", ".")
    goal(home, project, LEAVES)
    told = json.loads(home.run("report", "--json", cwd=project).stdout)
    kinds = {"confirmed": 1, "without undecided changes": 2}  # the newest result was changed since it was judged
    assert told["evidenced"] == [{"kind": kind, "runs": runs} for kind, runs in kinds.items()]
    listed = json.loads(home.run("runs", "--json", cwd=project).stdout)
    assert [bool(line["changed_since"]) for line in listed] == [False, True, False, False, False]
    assert "complete runs, by evidence\n     1x  confirmed\n     2x  without undecided changes\n" in shown


def test_a_check_that_counts_nothing_says_that_only_its_exit_code_is_known(home: Home, project: Path):
    check = 'python3 -c "import calc.core as c; assert c.add(1, 1) == 2"'
    with ScriptedServer([FIX_BOTH]) as server:
        ran = start(home, project, server, check)
    assert ran.exit_code == 0, ran
    assert "judged: passed again in a clean place, and no change is undecided\n" in ran.stderr
    assert "evidence: exit code 0, no tests counted, no planted test\n" in ran.stderr


def handed_over(home: Home, project: Path, server: ScriptedServer) -> tuple[str, str]:
    """The run and the digest of its suspect result."""
    ran = start(home, project, server, CHECK)
    (waiting,) = json.loads(home.run("handoffs", "--json", cwd=project).stdout)
    digest = waiting["suspect"]["digest"]
    assert waiting["take_up"] == f"rundry approve {waiting['run_id']} --digest {digest[:12]}"
    assert f"`{waiting['take_up']}`" in ran.stderr, ran
    assert waiting["suspect"]["command"] == CHECK
    listed = home.run("handoffs", cwd=project).stdout
    assert f"digest   {digest[:12]}  suspect check: {CHECK}" in listed
    return waiting["run_id"], digest


def test_a_script_accepts_a_suspect_result_by_its_digest_and_the_outcome_says_that_a_person_did(
    home: Home, project: Path
):
    with ScriptedServer([LEAVES, say("never asked for")]) as server:
        run_id, digest = handed_over(home, project, server)
        for wrong, named in ((["--digest", "0" * 12], digest[:12]), ([], digest[:12])):
            refused = home.run("approve", run_id, *wrong, cwd=project)
            assert (refused.exit_code, named in refused.stderr) == (2, True), refused
        ran = home.run("approve", run_id, "--digest", digest[:12], "--json", cwd=project)
        assert len(server.requests) == 1
    assert (ran.exit_code, ran.outcome["reason"]) == (0, "done"), ran
    assert ran.outcome["evidence"]["accepted"] is True
    assert [check["accepted"] for check in ran.outcome["evidence"]["checks"]] == [True]
    assert home.run("handoffs", "--json", cwd=project).stdout.strip() == "[]"


def test_a_result_that_changed_since_is_not_accepted_by_the_old_digest(home: Home, project: Path):
    with ScriptedServer([LEAVES, say("never asked for")]) as server:
        run_id, digest = handed_over(home, project, server)
        core = project / "calc/core.py"
        core.write_text(core.read_text().replace("os._exit(0)", 'raise __import__("unittest").SkipTest("no")'))
        ran = home.run("approve", run_id, "--digest", digest, "--json", cwd=project)
        assert len(server.requests) == 1
    assert (ran.exit_code, ran.outcome["reason"]) == (5, "handoff"), ran
    assert ran.of("check_accepted") == []
    (now,) = json.loads(home.run("handoffs", "--json", cwd=project).stdout)
    assert now["suspect"]["digest"] != digest


def test_a_rejected_suspect_result_lets_the_model_continue_with_the_reason(home: Home, project: Path):
    back = edit("calc/core.py", "import os\n\nos._exit(0)\n", "")
    with ScriptedServer([LEAVES, back, FIX_BOTH]) as server:
        run_id, digest = handed_over(home, project, server)
        ran = home.run("reject", run_id, "--digest", digest, "--reason", "do not exit", "--json", cwd=project)
        told = server.requests[1].text
    assert ran.exit_code == 0, ran
    assert "do not exit" in told and "this is not a pass" in told
    assert ran.outcome["evidence"]["accepted"] is False


def test_on_a_terminal_the_suspect_result_is_shown_before_it_is_accepted(home: Home, project: Path):
    with ScriptedServer([LEAVES, say("never asked for")]) as server:
        run_id, digest = handed_over(home, project, server)
        with home.screen("approve", run_id, "--headless", cwd=project, columns=80) as terminal:
            terminal.wait_for("Approve this result? [y/N]")
            assert digest[:12] in terminal.text() and "it printed no count of tests" in terminal.text()
            terminal.send("y\r")
            terminal.wait_for("done")
            assert terminal.wait_for_exit() == 0


def test_the_resumed_model_reads_which_tests_are_missing(home: Home, project: Path):
    back = edit("calc/core.py", "import os\n\nos._exit(0)\n", "")
    with ScriptedServer([LEAVES, back, FIX_BOTH]) as server:
        ran = start(home, project, server, CHECK, "--json")
        assert ran.exit_code == 5, ran
        resumed = home.run("resume", ran.events[0]["run_id"], "--headless", "--json", cwd=project)
        assert resumed.exit_code == 0, resumed
        told = [text_of(message) for message in server.requests[1].messages]
    assert "this is not a pass: it printed no count of tests" in told[-1]
    assert resumed.outcome["evidence"]["after"] == {"ran": 3, "failing": 0}


PIPED = "python3 -m unittest 2>&1 | tail -3"


def test_a_first_result_that_contradicts_itself_is_suspect_and_the_pipe_is_named(home: Home, project: Path):
    with ScriptedServer([FIX_BOTH]) as server:
        ran = start(home, project, server, PIPED)
        assert server.requests == []
    assert ran.exit_code == 5, ran
    assert f"check `{PIPED}`: its exit code is that of the last command in the pipe" in ran.stderr
    last = ran.stderr.strip().splitlines()[-1]
    assert "suspect check" in last and "its exit code is 0, but it counts 2 failing" in last, ran
    (line,) = json.loads(home.run("runs", "--json", cwd=project).stdout)
    assert (line["reason"], line["complete"]) == ("handoff", False)


def test_a_check_that_is_suspect_at_first_is_done_once_its_tests_pass(home: Home, project: Path):
    with ScriptedServer([FIX_BOTH]) as server:
        first = start(home, project, server, PIPED, "--json")
        run_id = first.events[0]["run_id"]
        argv = ["resume", run_id, "--hint", "fix the tests", "--headless", "--json"]
        ran = home.run(*argv, "--model", "fake", "--api-base", server.base_url, cwd=project)
    assert (ran.exit_code, ran.outcome["reason"]) == (0, "done"), ran
    assert ran.outcome["evidence"]["before"] == {"ran": 3, "failing": 2}
    assert ran.outcome["evidence"]["after"] == {"ran": 3, "failing": 0}


def test_a_check_that_runs_no_test_is_suspect_again_and_again(home: Home, project: Path):
    check = "python3 -m unittest -k nothing_has_this_name 2>&1 | tail -3"
    with ScriptedServer([FIX_BOTH]) as server:
        first = start(home, project, server, check, "--json")
        assert (first.exit_code, first.outcome["steps"]) == (5, 0), first
        assert "no test ran" in first.outcome["detail"]
        argv = ["resume", first.events[0]["run_id"], "--hint", "fix the tests", "--headless", "--json"]
        ran = home.run(*argv, "--model", "fake", "--api-base", server.base_url, cwd=project)
    assert (ran.exit_code, ran.outcome["reason"]) == (5, "handoff"), ran
    assert "no test ran" in ran.outcome["detail"]
