"""`--score CMD --pass-loop goal`: each pass of an improve run is a goal run, and the score decides what is kept."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest
from fakes.project import git
from fakes.rundry import Home, Ran, Running
from fakes.server import Rule, ScriptedServer
from fakes.turns import Call, Turn, call, calls, say

SCORE = ["--score", "cat score.txt", "--pass-loop", "goal", "--scope", "score.txt"]


def writes(number: object) -> Turn:
    return calls(
        Call("write_file", {"path": "score.txt", "content": f"{number}\n"}),
        Call("finish", {"answer": f"wrote {number}", "citations": ["score.txt"]}),
    )


def in_passes(*turns: Turn) -> list[Rule]:
    """A model that answers by the pass that its first message names."""
    return [Rule(f"Pass {number}. ", turn) for number, turn in enumerate(turns, 1)]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "project"
    made.mkdir()
    (made / "score.txt").write_text("5\n")
    (made / "ok.sh").write_text("exit 0\n")
    git(made, "init", "-q", "-b", "work")
    git(made, "add", ".")
    git(made, "commit", "-qm", "A score")
    return made


def begin(home: Home, server: ScriptedServer, folder: Path, *more: str) -> Running:
    argv = ["run", "raise the score", "--model", "fake", "--api-base", server.base_url, "--gate", "auto"]
    return home.start(*argv, "--headless", "--json", *SCORE, *(more or ("--steps", "40")), cwd=folder)


def verdicts(ran: Ran) -> list[str]:
    return [event["verdict"] for event in ran.of("pass_finished")]


def test_the_score_decides_whether_the_pass_of_a_child_run_is_kept(home: Home, folder: Path):
    with (
        ScriptedServer(rules=in_passes(writes(7), writes(6), writes(8), writes(2), writes(1))) as server,
        begin(home, server, folder, "--steps", "40", "--patience", "2") as running,
    ):
        ran = running.finish()
    assert verdicts(ran) == ["kept", "reverted", "kept", "reverted", "reverted"], ran.story()
    assert (ran.exit_code, ran.outcome["reason"]) == (0, "plateau") and (folder / "score.txt").read_text() == "8\n"
    assert [event["said"] for event in ran.of("pass_finished")][:2] == ["wrote 7", "wrote 6"]
    assert [child["reason"] for child in ran.outcome["children"]] == ["answered"] * 5
    assert len(home.journals()) == 6 and ran.outcome["steps"] == 5
    log = git(folder, "log", "--format=%s").splitlines()
    assert log == ["rundry pass 3: wrote 8", "rundry pass 1: wrote 7", "A score"]
    assert git(folder, "status", "--porcelain") == ""


def test_a_check_that_passes_at_the_start_of_a_pass_does_not_end_its_run_before_it_works(home: Home, folder: Path):
    rules = [Rule("wrote it", call("finish", answer="done", citations=["score.txt"])), *in_passes(writes(7))]
    with ScriptedServer(rules=rules) as server:
        argv = ["--steps", "20", "--patience", "1", "--until", "bash ok.sh"]
        with begin(home, server, folder, *argv) as running:
            ran = running.finish()
    assert verdicts(ran)[0] == "kept", ran.story()
    child = ran.outcome["children"][0]
    assert (child["reason"], child["steps"]) == ("done", 1) and "already met" not in child["detail"]


def test_a_run_whose_result_breaks_the_check_is_not_kept_whatever_its_score(home: Home, folder: Path):
    with ScriptedServer(rules=in_passes(writes(9))) as server:
        argv = ["--steps", "4", "--patience", "1", "--until", "! grep -q 9 score.txt"]
        with begin(home, server, folder, *argv) as running:
            ran = running.finish()
    assert "reverted" in verdicts(ran) and "kept" not in verdicts(ran), ran.story()
    assert (folder / "score.txt").read_text() == "5\n"
    assert git(folder, "status", "--porcelain") == ""


def test_a_model_may_not_change_the_file_that_prints_the_score(home: Home, folder: Path):
    (folder / "score.sh").write_text("cat score.txt\n")
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "A script")
    with ScriptedServer(rules=[Rule("Pass ", call("write_file", path="score.sh", content="echo 99\n"))]) as server:
        argv = ["run", "raise the score", "--model", "fake", "--api-base", server.base_url, "--gate", "auto"]
        options = [
            "--score",
            "bash score.sh",
            "--pass-loop",
            "goal",
            "--scope",
            "score.txt",
            "--patience",
            "1",
            "--steps",
            "3",
        ]
        ran = home.run(*argv, *options, "--headless", "--json", cwd=folder)
    assert "kept" not in verdicts(ran), ran.story()
    assert (folder / "score.sh").read_text() == "cat score.txt\n"


def test_passes_never_exceed_the_budget_of_the_run_and_end_it_with_one_reason(home: Home, folder: Path):
    reads = [Rule("Pass ", call("read_file", path="score.txt"))]
    with ScriptedServer(rules=reads) as server:
        with begin(home, server, folder, "--tokens", "40000", "--window", "500", "--patience", "9") as running:
            ran = running.finish()
        billed = sum(int(record.usage.get("total_tokens", 0)) for record in server.requests)
    assert (ran.exit_code, ran.outcome["reason"]) == (3, "budget"), ran.story()
    assert 0 < billed <= 40_000 and len(ran.of("child_started")) > 1
    assert len(ran.of("run_ended")) == 1


def test_a_lower_limit_of_the_run_ends_the_pass_that_works(home: Home, folder: Path):
    with (
        ScriptedServer(rules=[Rule("Pass ", call("read_file", path="score.txt"))]) as server,
        begin(home, server, folder, "--tokens", "2M", "--window", "500", "--pass-steps", "500") as running,
    ):
        run_id = running.wait_event("run_started")["run_id"]
        running.wait_event("child_spent")
        assert home.run("ctl", run_id, "limit", "tokens=100", cwd=folder).exit_code == 0
        ran = running.finish()
    assert (ran.exit_code, ran.outcome["reason"]) == (3, "budget"), ran.story()
    assert f"of the parent run {run_id}" in ran.outcome["children"][0]["detail"]
    assert len(ran.of("child_started")) == 1


def test_a_stop_ends_the_run_of_the_pass_and_a_resume_starts_the_next_one(home: Home, folder: Path):
    held, summing = Rule("Pass 2. ", Turn(tokens=200, hold_after=3)), Rule("The run ends here", say("I stopped."))
    with ScriptedServer(rules=[summing, *in_passes(writes(7)), held, Rule("Pass ", writes(1))]) as server:
        with begin(home, server, folder, "--steps", "40", "--patience", "2") as running:
            run_id = running.wait_event("run_started")["run_id"]
            running.wait_event("child_started", number=2)
            server.wait_requests(2)
            assert home.run("ctl", run_id, "stop", cwd=folder).exit_code == 0
            ran = running.finish()
        assert (ran.exit_code, ran.outcome["reason"]) == (130, "user"), ran.story()
        assert [child["reason"] for child in ran.outcome["children"]] == ["answered", "user"]
        assert len(server.requests) == 3, "the child sums up; its parent has no conversation to sum up"
        again = home.run("resume", run_id, "--headless", "--json", cwd=folder)
    assert (again.exit_code, again.outcome["reason"]) == (0, "plateau"), again.story()
    assert [event["number"] for event in again.of("child_started")] == [3], again.story()
    assert (folder / "score.txt").read_text() == "7\n"


def test_a_pause_of_the_run_pauses_the_run_of_the_pass(home: Home, folder: Path):
    held = Rule("Pass 1. ", Turn(tokens=200, hold_after=3))
    with (
        ScriptedServer(rules=[held, Rule("Pass ", writes(1))]) as server,
        begin(home, server, folder, "--steps", "40", "--patience", "1") as running,
    ):
        run_id = running.wait_event("run_started")["run_id"]
        child = running.wait_event("child_started", number=1)["run_id"]
        server.wait_requests(1)
        assert home.run("ctl", run_id, "pause", "--now", cwd=folder).exit_code == 0
        running.wait_event("paused")
        server.rules = in_passes(writes(7), writes(1))
        assert home.run("ctl", run_id, "unpause", cwd=folder).exit_code == 0
        ran = running.finish()
    assert verdicts(ran) == ["kept", "reverted"], ran.story()
    lines = home.run("export", child, "--format", "jsonl", cwd=folder).stdout
    assert '"type":"paused"' in lines and '"type":"unpaused"' in lines


def test_after_kill_9_the_run_of_the_open_pass_continues(home: Home, folder: Path):
    held = Rule("Pass 2. ", Turn(tokens=200, hold_after=3))
    with ScriptedServer(rules=[*in_passes(writes(7)), held]) as server:
        with begin(home, server, folder, "--steps", "40", "--patience", "1") as running:
            second = running.wait_event("child_started", number=2)["run_id"]
            server.wait_requests(2)
            running.signal(signal.SIGKILL)
            running.finish()
        server.rules = in_passes(writes(7), writes(8), writes(1))
        ran = home.run("resume", "--headless", "--json", "--from", "0", cwd=folder)
    assert (ran.exit_code, ran.outcome["reason"]) == (0, "plateau"), ran.story()
    assert verdicts(ran) == ["kept", "kept", "reverted"]
    assert ran.outcome["children"][1]["run_id"] == second and len(ran.outcome["children"]) == 3
    assert (folder / "score.txt").read_text() == "8\n"


def test_a_run_that_waits_for_a_person_hands_the_pass_over_and_is_continued(home: Home, folder: Path):
    with ScriptedServer(rules=in_passes(writes(7), writes(1))) as server:
        options = ["--gate", "ask", "--on-ask", "handoff", "--steps", "40", "--patience", "1"]
        with begin(home, server, folder, *options) as running:
            ran = running.finish()
        assert (ran.exit_code, ran.outcome["reason"]) == (5, "handoff"), ran.story()
        child = ran.outcome["children"][0]["run_id"]
        assert child in ran.outcome["detail"] and not ran.of("pass_finished")
        run_id = ran.events[0]["run_id"]
        again = home.run("resume", run_id, "--gate", "edits", "--headless", "--json", cwd=folder)
    assert verdicts(again) == ["kept", "reverted"], again.story()
    assert again.outcome["children"][0]["run_id"] == child and again.outcome["reason"] == "plateau"


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--score", "cat score.txt", "--pass-loop", "goal"], "explicit budget"),
        (["--score", "cat score.txt", "--pass-loop", "goal", "--steps", "none"], "explicit budget"),
        (["--score", "cat score.txt", "--pass-loop", "paced", "--steps", "9"], "write goal"),
        (["--score", "cat score.txt", "--pass-loop", "goal", "--steps", "9", "--tries", "2"], "leave --tries 2 out"),
        (["--score", "cat score.txt", "--pass-loop", "goal", "--steps", "9", "--require", "read_file"], "--until CMD"),
        (["--until", "bash ok.sh", "--pass-loop", "goal", "--steps", "9"], "give --score CMD"),
        (["--every", "5m", "--pass-loop", "goal", "--steps", "9"], "give --score CMD"),
    ],
)
def test_passes_that_cannot_be_runs_are_refused_in_one_line(home: Home, folder: Path, more: list[str], said: str):
    argv = ["run", "raise it", "--model", "fake", "--api-base", "http://127.0.0.1:9", *more, "--headless"]
    ran = home.run(*argv, cwd=folder)
    assert ran.exit_code == 2 and said in ran.stderr and len(ran.stderr.splitlines()) == 1, ran
    assert not home.journals()
