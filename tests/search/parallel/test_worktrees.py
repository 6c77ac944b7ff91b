"""migrate with worktrees: several files at the same time, and their changes are joined."""

from __future__ import annotations

import sys

from fakes.project import git
from fakes.turns import Call, Turn, call, calls, edit
from search.migrate.fixer import Fixer, done, texts
from search.parallel.conftest import NAMES, worktrees

from rundry.agent.protocol import Budget, GateMode, GatePolicy, ModelFault


def both(path: str, line: str, now: str) -> Turn:
    """Fix the file, and replace a line of the list in the same answer."""
    fix = Call("edit_file", {"path": path, "edits": [{"old_text": "old", "new_text": "new"}]})
    return calls(fix, Call("edit_file", {"path": "list.md", "edits": [{"old_text": line, "new_text": now}]}))


async def test_each_file_is_fixed_in_a_worktree_and_joined(parallel, place):
    model = Fixer()
    run = parallel(model)
    outcome = await run.run()
    assert (outcome.reason, outcome.complete, outcome.exit_code) == ("dry", True, 0), run.story()
    assert set(texts(place).values()) == {*(f"{name}: new\n" for name in NAMES), "new\n"}
    assert sorted(done(run)) == [f"{name}.txt" for name in NAMES]
    assert outcome.steps == len(NAMES)
    assert outcome.files_changed == [f"{name}.txt" for name in NAMES]
    assert {e["tree"] for e in run.of("worktree_started")} == {1, 2, 3}
    assert all(len(request.messages) == 2 for request in model.requests), "each file has a conversation of its own"
    assert worktrees(place) == []
    assert git(place, "status", "--porcelain").split() == [x for name in NAMES for x in ("M", f"{name}.txt")]


async def test_changes_of_different_lines_of_one_file_are_merged(parallel, place):
    run = parallel(Fixer(lambda path, nth: both(path, f"- {path[0]}\n", f"- {path[0]} is done\n")))
    outcome = await run.run()
    assert (outcome.reason, outcome.complete) == ("dry", True), run.story()
    assert (place / "list.md").read_text() == "".join(f"- {name} is done\n\n" for name in NAMES)
    assert outcome.steps == len(NAMES), run.story()
    assert [path for e in run.of("join_finished") for path in e["merged"]], "some were merged by line"


async def test_a_conflict_is_worked_again_on_the_joined_tree(parallel, place):
    (place / "list.md").write_text("done:\n")

    def fix(path: str, nth: int) -> Turn:
        return call("run_command", command=f"sed -i s/old/new/ {path}; sed -i 's/^done:.*/& {path[0]}/' list.md")

    model = Fixer(fix)
    run = parallel(model)
    outcome = await run.run()
    assert (outcome.reason, outcome.complete) == ("dry", True), run.story()
    line = (place / "list.md").read_text()
    assert line.startswith("done: "), run.story()
    assert sorted(line.split()[1:]) == [*NAMES], "each change was made once, on top of the others"
    conflicts = [line for e in run.of("join_finished") for line in e["conflicts"]]
    assert conflicts
    assert all(line.startswith("list.md: ") for line in conflicts)
    told = [message.text for request in model.requests for message in request.messages]
    assert any("could not be merged" in text for text in told)


async def test_the_check_of_an_item_passes_on_the_joined_tree_before_it_is_done(parallel, place):
    """In its own worktree each change passes; in the run's tree only one of them may stand in the list."""
    (place / "count.sh").write_text('grep -q new "$1" && test "$(ls taken | wc -l)" -le 2\n')
    git(place, "add", ".")
    git(place, "commit", "-q", "-m", "count")

    def fix(path: str, nth: int) -> Turn:
        name = path[0]
        if nth == 1:
            return call("run_command", command=f"sed -i s/old/new/ {path}; mkdir -p taken; touch taken/{name}")
        return call("run_command", command="rm -r taken")

    run = parallel(Fixer(fix), "a.txt", "b.txt", "c.txt", check="sh count.sh {file}", retries=3)
    outcome = await run.run()
    assert (outcome.reason, outcome.complete) == ("dry", True), run.story()
    failed = [e for e in run.of("check_finished") if (e["work"] or "").startswith("item:") and not e["passed"]]
    assert len(failed) > 3, "a check failed in the run's tree after the merge"


async def test_an_edit_of_a_person_meanwhile_is_merged_and_never_overwritten(parallel, place):
    def fix(path: str, nth: int) -> Turn:
        if path == "a.txt" and nth == 1:
            (place / "a.txt").write_text("mine, old\n")
        return call("run_command", command=f"sed -i s/old/new/ {path}")

    run = parallel(Fixer(fix))
    outcome = await run.run()
    assert (outcome.reason, outcome.complete) == ("dry", True), run.story()
    assert texts(place)["a.txt"] == "mine, new\n"


async def test_a_file_that_cannot_be_fixed_stays_as_it_was_and_its_patch_is_kept(parallel, place):
    model = Fixer(lambda path, nth: edit(path, "old", "wrong" if path == "b.txt" else "new"))
    run = parallel(model, item_steps=1, retries=0)
    outcome = await run.run()
    assert (outcome.reason, outcome.complete, outcome.exit_code) == ("dry", False, 6), run.story()
    assert outcome.failed_items == [str(place / "b.txt")]
    assert texts(place)["b.txt"] == "b: old\n"
    kept = [e["patch"] for e in run.of("worktree_finished") if e["patch"]]
    assert len(kept) == 1
    assert "after 1 step the check still fails" in run.of("item_failed")[0]["error"]


async def test_the_limit_of_steps_holds_for_all_worktrees_together(parallel, place):
    run = parallel(budget=Budget(steps=4))
    outcome = await run.run()
    assert (outcome.reason, outcome.complete, outcome.exit_code) == ("budget", False, 3), run.story()
    assert outcome.steps == 4
    assert len(done(run)) <= 4
    assert worktrees(place) == []


async def test_items_that_pass_only_with_what_one_did_to_the_check_are_a_hand_off(parallel, place):
    script = place / "test_check.py"
    script.write_text("import pathlib, sys\nsys.exit('new' not in pathlib.Path(sys.argv[1]).read_text())\n")
    git(place, "add", ".")
    git(place, "commit", "-q", "-m", "check")

    def fix(path: str, nth: int) -> Turn:
        if nth == 1:
            return call("run_command", command="echo 'raise SystemExit(0)' > test_check.py")
        return edit(path, "old", "new")

    gate = GatePolicy(mode=GateMode.AUTO, unsandboxed_ok=True)
    check = f"{sys.executable} test_check.py {{file}}"
    run = parallel(Fixer(fix), "a.txt", "b.txt", check=check, gate=gate.mode)
    outcome = await run.run()
    assert (outcome.reason, outcome.exit_code) == ("handoff", 5), run.story()
    assert "test_check.py" in outcome.detail


async def test_a_model_that_is_gone_ends_the_run_and_leaves_no_worktree(parallel, place):
    run = parallel(Fixer(lambda path, nth: ModelFault("auth", "the key was refused", retryable=False)))
    outcome = await run.run()
    assert outcome.reason == "error", run.story()
    assert "the key was refused" in outcome.detail
    assert not run.of("item_failed")
    assert worktrees(place) == []
