"""The merge of one item: every kind of change, and a runner that was killed in the middle of it."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest
from fakes.in_process.driven import Driven
from fakes.project import git
from fakes.turns import call
from search.migrate.fixer import Fixer, texts
from search.parallel.conftest import worktrees

from rundry.agent.run.item_trees.merging import Merged, plan_merge
from rundry.agent.workspace.snapshots.objects import blob_id
from rundry.agent.workspace.snapshots.restore import FileVersion
from rundry.agent.workspace.snapshots.snapshots import Change

FILE, SCRIPT, LINK = 0o100644, 0o100755, 0o120000


def was(data: bytes, mode: int = FILE) -> FileVersion:
    return FileVersion(blob_id(data), lambda: data, mode)


def changed(before: bytes | None, after: bytes | None, *modes: int | None) -> Change:
    old, new = modes or (None if before is None else FILE, None if after is None else FILE)
    return Change(path="f", kind="changed", before=before, after=after, before_mode=old, after_mode=new)


def plan(change: Change, now: FileVersion | None):
    base = None if change.before is None else was(change.before, change.before_mode or FILE)
    return plan_merge([change], {"f": base}, {"f": now})


def test_a_file_that_only_the_worktree_changed_is_taken_from_it():
    for change in (changed(b"a\n", b"b\n"), changed(b"a\n", None), changed(None, b"a\n")):
        now = None if change.before is None else was(change.before)
        found = plan(change, now)
        assert (found.files, found.merged, found.conflicts) == (["f"], {}, [])


def test_a_change_that_the_runs_tree_has_already_is_not_written_again():
    assert plan(changed(b"a\n", b"b\n"), was(b"b\n")).files == []
    assert plan(changed(b"a\n", None), None).files == []


def test_changes_of_both_sides_are_joined_by_line_and_keep_the_permissions_of_either():
    found = plan(changed(b"1\n2\n3\n", b"1\n2\nthree\n"), was(b"one\n2\n3\n", SCRIPT))
    assert found.merged == {"f": Merged(b"one\n2\nthree\n", 0o755)}
    found = plan(changed(b"1\n2\n3\n", b"1\n2\nthree\n", FILE, SCRIPT), was(b"one\n2\n3\n"))
    assert found.merged == {"f": Merged(b"one\n2\nthree\n", 0o755)}


@pytest.mark.parametrize(
    ("change", "now", "why"),
    [
        (changed(b"1\n", b"2\n"), was(b"3\n"), "1 of its changes overlap"),
        (changed(b"1\n", b"2\n"), None, "removed from the run's tree"),
        (changed(b"1\n", None), was(b"3\n"), "the item removed it"),
        (changed(None, b"2\n"), was(b"3\n"), "created in the run's tree too"),
        (changed(b"\0a", b"\0b"), was(b"\0c"), "not text"),
        (changed(b"a", b"b", LINK, LINK), was(b"c", LINK), "a link changed on both sides"),
    ],
)
def test_what_cannot_be_joined_is_a_conflict_and_nothing_is_written(change: Change, now: FileVersion | None, why: str):
    found = plan(change, now)
    assert found.files == []
    assert len(found.conflicts) == 1
    assert why in found.conflicts[0]


async def test_new_removed_and_executable_files_of_an_item_are_joined(parallel, place):
    command = "sed -i s/old/new/ a.txt; mkdir -p made; echo x > made/run.sh; chmod +x made/run.sh; rm list.md"
    run = parallel(Fixer(lambda path, nth: call("run_command", command=command)), "a.txt")
    outcome = await run.run()
    assert (outcome.reason, outcome.complete) == ("dry", True), run.story()
    assert stat.S_IMODE((place / "made" / "run.sh").stat().st_mode) & stat.S_IXUSR
    assert not (place / "list.md").exists()
    assert outcome.files_changed == ["a.txt", "list.md", "made/run.sh"]


@pytest.mark.parametrize("is_git", [True, False])
async def test_a_workspace_may_be_a_folder_of_a_repository_or_outside_of_git(tmp_path: Path, parallel, place, is_git):
    below = place / "below" if is_git else tmp_path / "plain"
    below.mkdir()
    for name in ("a", "b"):
        (below / f"{name}.txt").write_text("old\n")
    if is_git:
        git(place, "add", ".")
        git(place, "commit", "-qm", "below")
    spec = parallel().spec
    run = Driven(tmp_path / "state" / "runs", below, Fixer(), task="fix", loop=spec.loop, finder=spec.finder)
    outcome = await run.run()
    assert (outcome.reason, outcome.complete) == ("dry", True), run.story()
    assert set(texts(below).values()) == {"new\n"}
    assert worktrees(place) == []


async def killed_in_a_join(parallel, place: Path) -> Driven:
    """A run that was killed after it recorded the merge of `a.txt`, before it wrote the file."""
    whole = parallel(None, "a.txt")
    await whole.run()
    killed = whole.killed_at("join_started")
    (place / "a.txt").write_text("a: old\n")
    killed.model = Fixer()
    return killed


async def test_a_merge_that_a_killed_runner_had_begun_is_finished_and_not_asked_for_again(parallel, place):
    killed = await killed_in_a_join(parallel, place)
    outcome = await killed.run()
    assert (outcome.reason, outcome.complete) == ("dry", True), killed.story()
    assert texts(place)["a.txt"] == "a: new\n"
    assert not killed.model.turns, "the model is not asked again"
    assert [(e["files"], e["conflicts"]) for e in killed.of("join_finished")] == [(["a.txt"], [])]
    assert outcome.files_changed == ["a.txt"]


async def test_a_file_that_changed_before_the_merge_is_finished_is_left_and_worked_again(parallel, place):
    killed = await killed_in_a_join(parallel, place)
    (place / "a.txt").write_text("mine, old\n")
    outcome = await killed.run()
    assert (outcome.reason, outcome.complete) == ("dry", True), killed.story()
    assert texts(place)["a.txt"] == "mine, new\n"
    assert "someone changed it" in killed.of("join_finished")[0]["conflicts"][0]
    assert killed.model.turns == ["a.txt"]
