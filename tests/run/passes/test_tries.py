"""Several tries of each pass of `improve`, each with files of its own: the best one is applied."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fakes.clock import ManualClock
from fakes.in_process.driven import Driven
from fakes.in_process.simulated_hours import make_repository, subjects, through_hours
from fakes.models.tries import TryingModel, writes
from fakes.project import changed_files, git
from fakes.turns import Call, call, calls, finish, say

from rundry.agent.journal.journal import Journal
from rundry.agent.protocol import Better, Budget, ImproveSpec, LoopKind, Predicates

Make = Callable[..., Driven]


@pytest.fixture
def trying(tmp_path: Path, work: Path) -> Make:
    """An improve run with tries, whose score is the number in a file."""
    (work / "score.txt").write_text("5\n")
    runs = tmp_path / "state" / "runs"
    runs.mkdir(mode=0o700, parents=True)

    def make(scripts: Any, *, score: str = "cat score.txt", steps: int = 40, **more: Any) -> Driven:
        told = {name: more.pop(name) for name in ("goal", "patience", "repeat", "concurrency", "tries") if name in more}
        wanted: dict[str, Any] = {"score": score, "bounded": True, "tries": 3, "patience": 1, **told}
        spec = ImproveSpec(**wanted)
        model = TryingModel(scripts)
        return Driven(runs, work, model, loop=LoopKind.IMPROVE, improve=spec, budget=Budget(steps=steps), **more)

    return make


def worktrees(run: Driven) -> list[Path]:
    return sorted((run.folder.parent / "worktrees").rglob("*")) if (run.folder.parent / "worktrees").exists() else []


@pytest.mark.parametrize("git_is_there", [True, False])
async def test_the_best_of_three_tries_is_kept_and_the_others_are_patches(trying: Make, work: Path, git_is_there: bool):
    if git_is_there:
        make_repository(work)
    run = trying({(1, 1): [writes("score.txt", 6)], (1, 2): [writes("score.txt", 9)], (1, 3): [writes("score.txt", 7)]})
    outcome = await through_hours(run, ManualClock())
    assert (work / "score.txt").read_text() == "9\n", run.story()
    assert (outcome.reason, outcome.files_changed) == ("plateau", ["score.txt"])
    finished = run.of("pass_finished")[0]
    assert (finished["verdict"], finished["candidate"], finished["tries"], finished["files"]) == (
        "kept", 2, 3, ["score.txt"],
    )  # fmt: skip
    assert finished["why"].startswith("try 2 of 3: score 9, before 5") and finished["said"] == "wrote 9"
    measured = {e["candidate"]: e["score"] for e in run.of("try_measured")}
    assert measured == {1: 6, 2: 9, 3: 7}
    kept = run.of("score_measured")[1]
    assert (kept["score"], kept["candidate"], kept["tries"], kept["kept"]) == (9, 2, 3, True)
    journal = Journal.open(run.path)
    patches = {e["candidate"]: journal.blobs.load(e["patch"]) for e in run.of("try_finished") if e["number"] == 1}
    journal.close()
    assert {name: f"+{score}".encode() in patches[name] for name, score in ((1, 6), (2, 9), (3, 7))} == {
        1: True, 2: True, 3: True,
    }  # fmt: skip
    assert worktrees(run) == [] and len(run.of("try_started")) == 6
    if git_is_there:
        assert subjects(work) == ["rundry pass 1: wrote 9", "First"] and changed_files(work) == []
        assert git(work, "worktree", "list").count("\n") == 1
    run.assert_legal()


async def test_events_of_a_try_have_its_name_and_it_is_reported_that_it_is_one_of_several(trying: Make, work: Path):
    run = trying({(1, n): [writes("score.txt", 5 + n)] for n in (1, 2, 3)})
    await through_hours(run, ManualClock())
    works = {e["work"] for e in run.of("step_started", "tool_called", "call_admitted", "proposal_opened")}
    assert {"try:1.1", "try:1.2", "try:1.3"} <= works and None not in works
    asked = [m.text for request in run.model.requests for m in request.messages if "You are try" in m.text]
    assert {text for text in asked if "You are try 2 of 3" in text and "Pass 1." in text}
    systems = {request.messages[0].text for request in run.model.requests[:3]}
    assert len(systems) == 1 and str(work) in systems.pop()


async def test_the_lowest_wins_where_the_goal_is_min_and_the_first_of_equal_ones(trying: Make, work: Path):
    scripts = {(1, 1): [writes("score.txt", 4)], (1, 2): [writes("score.txt", 3)], (1, 3): [writes("score.txt", "3.0")]}
    run = trying(scripts, goal=Better.MIN)
    await through_hours(run, ManualClock())
    assert (work / "score.txt").read_text() == "3\n" and run.of("pass_finished")[0]["candidate"] == 2


async def test_where_no_try_is_better_nothing_is_kept_and_the_pass_is_stale(trying: Make, work: Path):
    make_repository(work)
    run = trying({(1, n): [writes("score.txt", n)] for n in (1, 2, 3)})
    outcome = await through_hours(run, ManualClock())
    assert (outcome.reason, (work / "score.txt").read_text()) == ("plateau", "5\n")
    finished = run.of("pass_finished")[0]
    assert (finished["verdict"], finished["candidate"]) == ("reverted", 0)
    assert finished["why"].startswith("no try was better than 5: try 1 of 3: score 1; try 2 of 3: score 2")
    measured = run.of("score_measured")[1]
    assert (measured["score"], measured["kept"], measured["stale_passes"], measured["candidate"]) == (3, False, 1, 3)
    assert outcome.files_changed == [] and subjects(work) == ["First"] and run.of("file_changed")[0]["work"] is not None


async def test_a_try_that_cannot_be_measured_does_not_win_and_does_not_end_the_pass(trying: Make, work: Path):
    run = trying({(1, 1): [writes("score.txt", "nan")], (1, 2): [writes("score.txt", 6)], (1, 3): [say("no idea")]})
    await through_hours(run, ManualClock())
    assert (work / "score.txt").read_text() == "6\n" and run.of("pass_finished")[0]["candidate"] == 2
    failed = run.of("try_measured")[0]
    assert (failed["candidate"], failed["score"], failed["not_measured"]) == (1, None, True)
    assert "printed NaN" in failed["why"] and not run.of("score_not_measured")


async def test_where_no_try_can_be_measured_the_pass_is_unmeasured_and_not_stale(trying: Make, work: Path):
    run = trying({(1, 1): [writes("score.txt", "nan")], (1, 2): [writes("score.txt", "six")], (1, 3): [say("no")]})
    outcome = await through_hours(run, ManualClock())
    assert (outcome.reason, outcome.retryable, outcome.exit_code) == ("error", True, 75), run.story()
    assert run.of("pass_finished")[0]["verdict"] == "unmeasured"
    assert [e["in_a_row"] for e in run.of("score_not_measured")] == [1]
    assert len(run.of("score_measured")) == 1 and (work / "score.txt").read_text() == "5\n"


async def test_tries_that_change_nothing_are_not_measured(trying: Make):
    run = trying({})
    outcome = await through_hours(run, ManualClock())
    assert outcome.reason == "plateau" and not run.of("try_measured")
    assert [e["verdict"] for e in run.of("pass_finished")] == ["unchanged"]


async def test_a_better_try_under_a_red_check_is_not_chosen(trying: Make, work: Path):
    scripts = {(1, 1): [writes("score.txt", 9)], (1, 2): [writes("score.txt", 7)], (1, 3): [say("no")]}
    run = trying(scripts, predicates=Predicates(until=["! grep -q 9 score.txt"]), patience=2)
    await through_hours(run, ManualClock())
    assert (work / "score.txt").read_text() == "7\n", run.story()
    assert "fails (exit code 1)" in run.of("try_measured")[0]["why"]


async def test_a_try_that_changes_the_score_script_does_not_win(trying: Make, work: Path):
    (work / "bench.sh").write_text("cat score.txt\n")
    make_repository(work)
    cheat = calls(
        Call("write_file", {"path": "bench.sh", "content": "echo 100\n"}),
        Call("run_command", {"command": "echo 'echo 100' > bench.sh"}),
        Call("finish", {"answer": "cheated", "citations": ["score.txt"]}),
    )
    run = trying(
        {(1, 1): [cheat], (1, 2): [writes("score.txt", 6)], (1, 3): [say("no")]},
        score="bash bench.sh",
        scope=["score.txt"],
    )
    await through_hours(run, ManualClock())
    assert (work / "bench.sh").read_text() == "cat score.txt\n" and (work / "score.txt").read_text() == "6\n"
    assert run.of("pass_finished")[0]["candidate"] == 2


async def test_steps_are_shared_and_never_overrun_by_tries(trying: Make):
    look = call("read_file", path="score.txt")
    run = trying({(1, n): [look, call("read_file", path="a.txt"), call("list_files")] for n in (1, 2, 3)}, steps=5)
    outcome = await through_hours(run, ManualClock())
    assert (outcome.reason, outcome.steps) == ("budget", 5), run.story()
    assert len(run.model.requests) <= 6  # the last words of the run take no step


async def test_what_is_better_when_the_budget_ends_is_kept(trying: Make, work: Path):
    run = trying({(1, 1): [writes("score.txt", 8)], (1, 2): [writes("score.txt", 6)]}, tries=2, steps=2)
    outcome = await through_hours(run, ManualClock())
    assert outcome.reason == "budget" and (work / "score.txt").read_text() == "8\n", run.story()


async def test_no_more_tries_run_at_once_than_concurrency_says(trying: Make):
    run = trying({(1, n): [writes("score.txt", n)] for n in (1, 2, 3)}, concurrency=1)
    await through_hours(run, ManualClock())
    of_pass = [e for e in run.of("try_started", "try_finished") if e["number"] == 1]
    assert [e["type"] for e in of_pass] == ["try_started", "try_finished"] * 3


async def test_a_try_sees_what_is_not_committed_and_leaves_it_alone(trying: Make, work: Path):
    make_repository(work)
    (work / "a.txt").write_text("mine, not committed\n")
    (work / "new.txt").write_text("not known to git\n")
    look = calls(Call("read_file", {"path": "a.txt"}), Call("read_file", {"path": "new.txt"}))
    run = trying({(1, 1): [look, writes("score.txt", 6)]}, tries=2)
    await through_hours(run, ManualClock())
    seen = "".join(e["result"] for e in run.of("tool_finished") if e["work"] == "try:1.1")
    assert "mine, not committed" in seen and "not known to git" in seen
    assert (work / "a.txt").read_text() == "mine, not committed\n" and (work / "score.txt").read_text() == "6\n"
    assert run.of("pass_finished")[0]["files"] == ["score.txt"]
    assert subjects(work) == ["rundry pass 1: wrote 6", "First"] and changed_files(work) == ["a.txt", "new.txt"]


async def test_a_branch_that_a_try_made_is_rolled_back(trying: Make, work: Path):
    make_repository(work)
    branch = call("run_command", command="git branch stray")
    run = trying({(1, 1): [branch, finish("made a branch", "score.txt")], (1, 2): [say("no")]}, tries=2)
    await through_hours(run, ManualClock())
    assert "stray" not in git(work, "branch", "--list"), run.story()


async def test_the_journal_of_a_run_with_tries_folds_to_what_the_runner_knew(trying: Make, work: Path):
    run = trying({(1, 1): [writes("score.txt", 6)], (1, 2): [writes("score.txt", 9)]}, tries=2)
    await through_hours(run, ManualClock())
    facts = run.facts()
    assert facts.pass_facts is not None and facts.pass_facts.best == 9 and facts.files_changed == ["score.txt"]
    assert facts.spent.steps == len(run.of("step_started")) and not facts.open_steps and not facts.admitted
