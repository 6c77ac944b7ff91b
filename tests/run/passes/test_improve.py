"""A score that has to move: kept if better, otherwise rolled back, until it no longer changes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fakes.clock import ManualClock
from fakes.in_process.driven import Driven
from fakes.in_process.simulated_hours import make_repository, subjects, through_hours, tree_of
from fakes.project import changed_files, git
from fakes.turns import call, finish, say

from rundry.agent.journal.journal import Journal
from rundry.agent.protocol import Better, Budget, ImproveSpec, LoopKind, Predicates

Make = Callable[..., Driven]


def write(number: object):
    return call("write_file", path="score.txt", content=f"{number}\n")


DONE = finish("tried it", "score.txt")


@pytest.fixture
def improving(driven: Make, work: Path) -> Make:
    """An improve run whose score is the number in a file."""
    (work / "score.txt").write_text("5\n")

    def make(*turns: Any, score: str = "cat score.txt", bounded: bool = True, steps: int = 40, **more: Any) -> Driven:
        told = {name: more.pop(name) for name in ("goal", "patience", "min_delta", "repeat") if name in more}
        spec = ImproveSpec(score=score, bounded=bounded, **told)
        return driven(*turns, loop=LoopKind.IMPROVE, improve=spec, budget=Budget(steps=steps), **more)

    return make


def scores(run: Driven) -> list[tuple[float, float, bool, int]]:
    return [(e["score"], e["best"], e["kept"], e["stale_passes"]) for e in run.of("score_measured")]


async def test_what_is_better_is_kept_the_rest_is_rolled_back_and_it_ends_on_the_plateau(improving: Make, work: Path):
    tries = [turn for number in (7, 6, 6.5, 9, 8, 1, 8.5) for turn in (write(number), DONE)]
    run = improving(*tries)
    outcome = await through_hours(run, ManualClock())
    assert (outcome.reason, outcome.complete, outcome.exit_code) == ("plateau", True, 0)
    assert scores(run) == [
        (5, 5, True, 0), (7, 7, True, 0), (6, 7, False, 1), (6.5, 7, False, 2),
        (9, 9, True, 0), (8, 9, False, 1), (1, 9, False, 2), (8.5, 9, False, 3),
    ]  # fmt: skip
    assert (work / "score.txt").read_text() == "9\n" and outcome.files_changed == ["score.txt"]
    assert "best 9" in outcome.detail and outcome.passes == 7
    kept = run.of("patch_kept")
    journal = Journal.open(run.path)
    assert b"+6" in journal.blobs.load(kept[0]["patch"])
    journal.close()
    assert "The score is 7 now" in run.heard(2) and "higher is better" in run.heard(2)
    run.assert_legal()


async def test_outside_of_git_it_is_known_what_a_command_of_a_pass_replaced(improving: Make, work: Path):
    run = improving(call("run_command", command="echo 7 > score.txt"), DONE, patience=1, steps=2)
    await through_hours(run, ManualClock())
    assert (work / "score.txt").read_text() == "7\n"
    changed = next(e for e in run.of("file_changed") if e["path"] == "score.txt")
    journal = Journal.open(run.path)
    assert journal.blobs.load(changed["before"]) == b"5\n"
    journal.close()


async def test_the_lower_score_wins_where_it_is_asked_for(improving: Make, work: Path):
    run = improving(write(4.5), DONE, write(6), DONE, goal=Better.MIN, patience=1)
    await through_hours(run, ManualClock())
    assert scores(run) == [(5, 5, True, 0), (4.5, 4.5, True, 0), (6, 4.5, False, 1)]
    assert (work / "score.txt").read_text() == "4.5\n"


async def test_any_better_result_is_kept_and_min_delta_counts_for_the_plateau_alone(improving: Make, work: Path):
    run = improving(*[t for n in (5.3, 5.6, 5.7, 5.8) for t in (write(n), DONE)], min_delta=0.5, patience=2)
    outcome = await through_hours(run, ManualClock())
    assert scores(run) == [
        (5, 5, True, 0), (5.3, 5.3, True, 1), (5.6, 5.6, True, 0), (5.7, 5.7, True, 1), (5.8, 5.8, True, 2)
    ]  # fmt: skip
    assert outcome.reason == "plateau" and (work / "score.txt").read_text() == "5.8\n"
    assert "not improved by more than 0.5 for 2 passes: best 5.8" in outcome.detail


COUNTED = "n=$(cat $TMPDIR/ran 2>/dev/null || echo 0); echo $((n + 1)) > $TMPDIR/ran; "
"""Of a score command: how often it ran before."""


async def test_repeated_measurements_compare_medians_and_show_their_noise(improving: Make, work: Path):
    make_repository(work)
    noisy = (
        COUNTED + "s=$(cat score.txt); case $((n % 3)) in 0) echo $s;; 1) echo $((s + 2));; 2) echo $((s + 90));; esac"
    )
    run = improving(write(6), DONE, write(60), DONE, write(5), DONE, score=noisy, repeat=3, patience=1)
    await through_hours(run, ManualClock())
    measured = run.of("score_measured")
    assert [(e["score"], e["noise"], e["within_noise"], e["kept"]) for e in measured] == [
        (7, 2, False, True), (8, 2, True, True), (62, 2, False, True), (7, 2, False, False)
    ]  # fmt: skip
    assert measured[0]["values"] == [5, 7, 95]
    assert run.of("pass_finished")[0]["why"] == "score 8, before 7 (within noise)"


async def test_in_a_clean_repository_what_is_kept_is_committed(improving: Make, work: Path):
    make_repository(work)
    await through_hours(improving(write(7), DONE, write(1), DONE, patience=1), ManualClock())
    assert subjects(work) == ["rundry pass 1: tried it", "First"] and changed_files(work) == []


async def test_where_it_may_not_commit_what_is_kept_stands_in_the_tree(improving: Make, work: Path):
    make_repository(work, "main")
    await through_hours(improving(write(7), DONE, say("a"), say("b"), patience=1), ManualClock())
    assert subjects(work) == ["First"] and (work / "score.txt").read_text() == "7\n"


async def test_in_a_dirty_tree_only_what_the_pass_changed_is_committed(improving: Make, work: Path):
    make_repository(work)
    (work / "mine.txt").write_text("mine\n")
    git(work, "add", "mine.txt")
    await through_hours(improving(write(7), DONE, say("a"), say("b"), patience=1), ManualClock())
    assert subjects(work) == ["rundry pass 1: tried it", "First"]
    assert git(work, "status", "--porcelain") == "A  mine.txt\n"


async def test_that_nothing_is_committed_is_reported_with_the_reason(improving: Make, work: Path):
    run = improving(write(7), DONE, patience=1, steps=2)
    await through_hours(run, ManualClock())
    assert any("not committed" in note and "git" in note for note in run.of("run_started")[0]["notes"])
    assert run.of("pass_finished")[0]["why"].endswith("; not committed")


async def test_what_git_will_not_take_is_kept_and_not_committed_and_the_best_score_is_true(improving: Make, work: Path):
    (work / ".gitattributes").write_text("*.txt filter=lfs\n")
    make_repository(work)
    await through_hours(run := improving(write(7), DONE, write(6), DONE, patience=1), ManualClock())
    assert (work / "score.txt").read_text() == "7\n" and subjects(work) == ["First"]
    assert "not committed: score.txt goes through the git filter `lfs`" in run.of("pass_finished")[0]["why"]


@pytest.mark.parametrize(
    ("score", "said"),
    [
        ("true", "printed nothing"),
        ("echo none", "printed no number on its last line: 'none'"),
        ("echo 3; echo NaN", "printed NaN"),
        ("echo inf", "printed an infinite number"),
        ("echo 3; exit 4", "failed (exit code 4)"),
        ("no-such-program-here", "failed (exit code 127)"),
    ],
)
async def test_a_score_that_is_none_is_refused_before_anything_is_changed(
    improving: Make, work: Path, score: str, said: str
):
    before = tree_of(work)
    outcome = await improving(write(7), score=score).run()
    assert (outcome.reason, outcome.exit_code, outcome.steps) == ("refused", 2, 0)
    assert said in outcome.detail and tree_of(work) == before


async def test_passes_that_cannot_be_measured_are_rolled_back_and_end_with_an_error(improving: Make, work: Path):
    run = improving(write("nan"), DONE, write("six"), DONE, patience=2)
    outcome = await through_hours(run, ManualClock())
    assert (outcome.reason, outcome.complete, outcome.retryable, outcome.exit_code) == ("error", False, True, 75)
    assert "could not be measured in 2 passes in a row" in outcome.detail
    assert (work / "score.txt").read_text() == "5\n"
    assert [(e["verdict"], e["why"].partition(":")[0]) for e in run.of("pass_finished")] == [
        ("unmeasured", "the score could not be measured")
    ] * 2
    failed = run.of("score_not_measured")
    assert [event["in_a_row"] for event in failed] == [1, 2]
    assert "printed NaN" in failed[0]["why"] and "printed no number" in failed[1]["why"]
    assert run.outcome["files_changed"] == []


@pytest.mark.parametrize(
    ("score", "said"),
    [
        ("exit 3", "failed (exit code 3)"),
        ("echo 1e999", "printed an infinite number"),
        ("sleep 60", "timed out after 1 s"),
        ("true", "printed nothing"),
    ],
)
async def test_each_way_to_have_no_measurement_is_not_stale(improving: Make, work: Path, score: str, said: str):
    command = f"grep -q bad score.txt || {{ cat score.txt; exit; }}; {score}"
    run = improving(write("bad"), DONE, write(4), DONE, score=command, patience=1, predicates=Predicates(timeout=1.0))
    outcome = await through_hours(run, ManualClock())
    assert outcome.reason == "error" and said in outcome.detail
    assert [e["stale_passes"] for e in run.of("score_measured")] == [0]


async def test_a_run_that_could_not_measure_is_resumed_and_continues_to_its_plateau(improving: Make, work: Path):
    run = improving(write("nan"), DONE, write(4), DONE, patience=1)
    assert (await through_hours(run, ManualClock())).reason == "error"
    assert (await through_hours(run, ManualClock())).reason == "plateau"


async def test_passes_that_change_nothing_are_not_a_change_and_are_not_measured(improving: Make):
    run = improving(say("nothing to do"), patience=2)
    outcome = await through_hours(run, ManualClock())
    assert outcome.reason == "plateau" and len(run.of("score_measured")) == 1
    assert [event["verdict"] for event in run.of("pass_finished")] == ["unchanged", "unchanged"]


@pytest.mark.parametrize("unset", ["not asked for", "none"])
async def test_without_an_explicit_finite_budget_there_is_no_pass(improving: Make, unset: str):
    run = improving(write(7), bounded=unset == "none")
    if unset == "none":
        nothing = Budget(steps=None, tokens=None, usd=None, seconds=None)
        run = Driven(run.folder, Path(run.spec.workspace), run.model, loop=LoopKind.IMPROVE,
                     improve=run.spec.improve, budget=nothing)  # fmt: skip
    outcome = await run.run()
    assert (outcome.reason, outcome.exit_code) == ("refused", 2) and "budget" in outcome.detail
    assert run.model.requests == [] and not run.of("pass_started", "score_measured")


async def test_a_budget_that_ends_in_a_pass_rolls_back_what_is_not_better(improving: Make, work: Path):
    run = improving(write(3), write(2), steps=1)
    outcome = await through_hours(run, ManualClock())
    assert outcome.reason == "budget" and (work / "score.txt").read_text() == "5\n"


async def test_a_better_change_under_a_red_check_is_rolled_back(improving: Make, work: Path):
    run = improving(write(7), DONE, patience=1, until=["! grep -q 7 score.txt"], steps=3)
    await through_hours(run, ManualClock())
    assert (work / "score.txt").read_text() == "5\n"
    assert "fails (exit code 1)" in run.of("pass_finished")[0]["why"]


async def test_a_changed_script_that_prints_the_score_does_not_make_it_better(improving: Make, work: Path):
    (work / "bench.sh").write_text("cat score.txt\n")
    cheat = call("write_file", path="bench.sh", content="echo 100\n")
    run = improving(cheat, DONE, score="bash bench.sh", patience=1, scope=["score.txt"])
    await through_hours(run, ManualClock())
    assert (work / "bench.sh").read_text() == "cat score.txt\n"
    assert [score for score, *_ in scores(run)] == [5, 5]
