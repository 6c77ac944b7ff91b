"""`--tries N` by the real command: several candidates a pass in a real repository, over real HTTP."""

from __future__ import annotations

import dataclasses
import signal
from pathlib import Path

import pytest
from fakes.in_process.simulated_hours import applies, subjects, tree_of
from fakes.models.tries import rule, writes
from fakes.project import changed_files, git
from fakes.rundry import Home, Ran
from fakes.server import Rule, ScriptedServer
from fakes.turns import Call, call, calls, say

from rundry.agent.journal.journal import Journal

SCORE = ["--score", "cat score.txt", "--scope", "score.txt", "--patience", "1"]
AUTO = ["--gate", "auto", "--headless"]


@pytest.fixture
def scored(project: Path) -> Path:
    """The project with a score in a file, committed."""
    (project / "score.txt").write_text("5\n")
    git(project, "add", ".")
    git(project, "commit", "-qm", "A score")
    return project


def argv(server: ScriptedServer, *more: str) -> list[str]:
    return ["run", "raise the score", "--model", "fake", "--api-base", server.base_url, *AUTO, *SCORE, *more]


def three(*contents: object, number: int = 1) -> list[Rule]:
    return [rule(number, place, writes("score.txt", content)) for place, content in enumerate(contents, 1)]


def worktrees_of(home: Home, project: Path) -> list[str]:
    """Paths of worktrees that git knows besides the project, and what is left of them on the disk."""
    known = [line for line in git(project, "worktree", "list").splitlines()[1:] if line]
    folder = home.journals()[0].parent.parent / "worktrees"
    return known + ([str(path) for path in folder.iterdir()] if folder.exists() else [])


def test_three_candidates_and_the_best_one_is_committed(home: Home, scored: Path):
    with ScriptedServer(rules=three(6, 9, 7), then=say("nothing more")) as server:
        ran = home.run(*argv(server, "--tries", "3", "--steps", "12", "--json"), cwd=scored)
    assert (ran.exit_code, ran.outcome["reason"]) == (0, "plateau"), ran.story()
    finished = ran.of("pass_finished")[0]
    assert (finished["verdict"], finished["candidate"], finished["tries"]) == ("kept", 2, 3)
    assert subjects(scored)[:2] == ["rundry pass 1: wrote 9", "A score"]
    assert (scored / "score.txt").read_text() == "9\n" and changed_files(scored) == []
    assert {e["work"] for e in ran.of("charged") if e["work"]} >= {"try:1.1", "try:1.2", "try:1.3"}
    assert ran.of("run_started")[0]["improve"]["tries"] == 3
    assert worktrees_of(home, scored) == []


def test_the_patches_of_the_others_apply_to_the_start_of_the_pass(home: Home, scored: Path):
    with ScriptedServer(rules=three(6, 9, 7), then=say("nothing more")) as server:
        ran = home.run(*argv(server, "--tries", "3", "--steps", "12", "--json"), cwd=scored)
    git(scored, "reset", "-q", "--hard", "HEAD~1")
    journal = Journal.open(home.journals()[0])
    patches = [journal.blobs.load(e["patch"]) for e in ran.of("try_finished") if e["number"] == 1]
    journal.close()
    assert len(patches) == 3 and all(applies(scored, patch) for patch in patches)


def test_lines_name_the_try(home: Home, scored: Path):
    with ScriptedServer(rules=three(6, 9, 7), then=say("nothing more")) as server:
        ran = home.run(*argv(server, "--tries", "3", "--steps", "12"), cwd=scored)
    lines = ran.stderr.splitlines()
    steps = [line for line in lines if line.startswith("step")]
    assert any("try 2 of 3: write score.txt" in line for line in steps), ran
    assert any(line.startswith("try 3 of 3: score 7") for line in lines), ran
    assert any(line.startswith("pass 1, try 2 of 3: score 9, best 9  kept") for line in lines), ran


def test_where_none_is_better_the_tree_stays_byte_for_byte(home: Home, scored: Path):
    before = tree_of(scored)
    with ScriptedServer(rules=three(1, 2, 3)) as server:
        ran = home.run(*argv(server, "--tries", "3", "--steps", "12", "--json"), cwd=scored)
    assert ran.outcome["reason"] == "plateau" and tree_of(scored) == before, ran.story()
    assert subjects(scored)[0] == "A score" and changed_files(scored) == []
    assert worktrees_of(home, scored) == []


def test_a_candidate_that_fails_to_measure_leaves_the_choice_to_the_others(home: Home, scored: Path):
    with ScriptedServer(rules=three("nan", 6, "none"), then=say("nothing more")) as server:
        ran = home.run(*argv(server, "--tries", "3", "--steps", "12", "--json"), cwd=scored)
    assert ran.of("pass_finished")[0]["candidate"] == 2 and (scored / "score.txt").read_text() == "6\n", ran.story()
    assert [e["not_measured"] for e in ran.of("try_measured")[:3]] == [True, False, True]


def test_a_candidate_that_changes_the_score_script_does_not_win(home: Home, scored: Path):
    (scored / "bench.sh").write_text("cat score.txt\n")
    git(scored, "add", ".")
    git(scored, "commit", "-qm", "A script")
    cheat = calls(
        Call("write_file", {"path": "bench.sh", "content": "echo 100\n"}),
        Call("run_command", {"command": "printf 'echo 100\\n' > bench.sh"}),
        Call("finish", {"answer": "cheated", "citations": ["bench.sh"]}),
    )
    rules = [rule(1, 1, cheat), rule(1, 2, writes("score.txt", 6))]
    with ScriptedServer(rules=rules, then=say("nothing more")) as server:
        more = ["--score", "bash bench.sh", "--tries", "2", "--steps", "12", "--json"]
        ran = home.run(*argv(server, *more), cwd=scored)
    assert ran.of("pass_finished")[0]["candidate"] == 2, ran.story()
    assert (scored / "bench.sh").read_text() == "cat score.txt\n" and (scored / "score.txt").read_text() == "6\n"


@pytest.mark.parametrize("steps", [1, 4, 5])
def test_the_step_budget_holds_with_tries_in_parallel(home: Home, scored: Path, steps: int):
    look = call("list_files")
    rules = [rule(1, place, look) for place in (1, 2, 3)]
    with ScriptedServer(rules=rules, then=say("done")) as server:
        ran = home.run(*argv(server, "--tries", "3", "--steps", str(steps), "--json"), cwd=scored)
    assert (ran.outcome["reason"], ran.outcome["steps"]) == ("budget", steps), ran.story()
    assert len([e for e in ran.of("call_admitted") if not e["wrap_up"]]) == steps


def test_the_token_budget_is_never_overrun_by_tries_in_parallel(home: Home, scored: Path):
    rules = [rule(1, place, call("list_files")) for place in (1, 2, 3)]
    with ScriptedServer(rules=rules, then=say("done")) as server:
        ran = home.run(*argv(server, "--tries", "3", "--tokens", "15000", "--json"), cwd=scored)
        billed = sum(r.usage.get("total_tokens", 0) for r in server.requests)
    assert ran.outcome["reason"] == "budget" and 0 < billed <= 15_000, ran.story()
    assert len({e["work"] for e in ran.of("call_admitted")} - {None}) > 1


def kill_in_mid_pass(home: Home, server: ScriptedServer, scored: Path, *more: str) -> Ran:
    """Kill -9 once try 1 has ended and try 2 waits for its answer in the middle of its work."""
    with home.start(*argv(server, "--tries", "2", "--steps", "20", "--json", *more), cwd=scored) as running:
        running.wait_event("try_finished", candidate=1)
        server.wait_requests(3)  # the first two of try 2: its file is written
        running.signal(signal.SIGKILL)
        return running.finish()


def half_done() -> list[Rule]:
    """Try 1 ends with 6; try 2 writes 8, and its next answer does not come."""
    half = call("write_file", path="score.txt", content="8\n")
    held = dataclasses.replace(say("thinking about it"), hold_after=0)
    is_second = Rule(r"Pass 1\..*You are try 2 of(?s:.*)\"role\": \"tool\"", held)
    return [is_second, rule(1, 1, writes("score.txt", 6)), rule(1, 2, half)]


def test_a_run_killed_in_mid_pass_is_resumed_cleans_up_and_works_the_pass_again(home: Home, scored: Path):
    with ScriptedServer(rules=half_done()) as server:
        kill_in_mid_pass(home, server, scored)
    assert home.kept_layers("try") and changed_files(scored) == []
    with ScriptedServer(rules=three(6, 9), then=say("nothing more"), port=server.port) as server:
        ran = home.run("resume", "--headless", "--json", cwd=scored)
    lost = [e for e in ran.of("try_finished") if e["lost"]]
    assert [(e["candidate"], e["files"]) for e in lost] == [(2, ["score.txt"])], ran.story()
    journal = Journal.open(home.journals()[0])
    assert b"+8" in journal.blobs.load(lost[0]["patch"])
    journal.close()
    assert ran.of("pass_finished")[0]["candidate"] == 2 and (scored / "score.txt").read_text() == "9\n"
    assert subjects(scored)[:2] == ["rundry pass 1: wrote 9", "A score"] and changed_files(scored) == []
    assert home.kept_layers("try") == [] and worktrees_of(home, scored) == []
    assert (ran.exit_code, ran.outcome["reason"]) == (0, "plateau")


def test_what_a_killed_try_wrote_stays_and_is_named_if_it_cannot_be_read(home: Home, scored: Path):
    with ScriptedServer(rules=half_done()) as server:
        kill_in_mid_pass(home, server, scored)
    (place,) = [one for one in home.kept_layers("try") if (one / "u/score.txt").read_text() == "8\n"]
    (place / "record").write_bytes(b"damaged")
    with ScriptedServer(rules=three(6, 9), then=say("nothing more"), port=server.port) as server:
        ran = home.run("resume", "--headless", "--json", cwd=scored)
    (lost,) = [e for e in ran.of("try_finished") if e["lost"]]
    assert lost["patch"] is None and f"its changes stay in {place}" in lost["why"], ran.story()
    assert home.kept_layers("try") == [place] and (place / "u/score.txt").read_text() == "8\n"
    assert ran.outcome["reason"] == "plateau"


def test_a_run_killed_while_the_best_is_measured_again_is_resumed_with_it(home: Home, scored: Path):
    rules = three(6, 9)
    (scored / ".git/info/exclude").write_text("hold\n")
    slow = "sleep 1; grep -q 9 score.txt && test -e hold && sleep 60; cat score.txt"
    with ScriptedServer(rules=rules, then=say("nothing more")) as server:
        more = ["--score", slow, "--tries", "2", "--steps", "20", "--json"]
        with home.start(*argv(server, *more), cwd=scored) as running:
            running.wait_event("try_chosen")
            (scored / "hold").touch()
            running.signal(signal.SIGKILL)
            running.finish()
        assert (scored / "score.txt").read_text() == "5\n", "nothing is applied before the verdict"
        ran = home.run("resume", "--headless", "--json", "--check-timeout", "1s", cwd=scored)
    assert ran.of("pass_finished")[0]["number"] == 1 and ran.of("pass_finished")[0]["verdict"] == "unmeasured"
    assert (scored / "score.txt").read_text() == "5\n" and changed_files(scored) == [], ran.story()
    assert not [e for e in ran.of("try_started") if e["number"] == 1]


@pytest.mark.parametrize("tries", ["0", "17", "x", "1.5"])
def test_a_number_of_tries_that_cannot_be_is_a_usage_error(home: Home, scored: Path, tries: str):
    ran = home.run("run", "x", "--model", "fake", "--headless", *SCORE, "--steps", "3", "--tries", tries, cwd=scored)
    assert ran.exit_code == 2 and "--tries" in ran.stderr and not home.journals(), ran


def test_tries_without_a_score_are_a_usage_error(home: Home, scored: Path):
    ran = home.run("run", "x", "--model", "fake", "--headless", "--tries", "3", cwd=scored)
    assert ran.exit_code == 2 and "--score" in ran.stderr and not home.journals(), ran


def test_the_config_sets_the_number_of_tries(home: Home, scored: Path):
    home.config_file.parent.mkdir(parents=True, exist_ok=True)
    home.config_file.write_text("[improve]\ntries = 2\n")
    with ScriptedServer(rules=three(6, 7), then=say("nothing more")) as server:
        ran = home.run(*argv(server, "--steps", "9", "--json"), cwd=scored)
    assert ran.of("pass_finished")[0]["tries"] == 2 and (scored / "score.txt").read_text() == "7\n", ran.story()
