"""The merge of one item: every kind of change, and a runner that was killed in the middle of it."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest
from fakes.blobs_in_memory import BlobsInMemory
from fakes.in_process.driven import Driven
from fakes.project import git
from fakes.turns import call
from search.migrate.fixer import Fixer, texts
from search.parallel.conftest import worktrees

from rundry.agent.layers.effect_classes import ClassedEffect, Group
from rundry.agent.layers.layer import Layer
from rundry.agent.layers.layer_effects import Effect, Side, Type
from rundry.agent.layers.run_layers import Listed
from rundry.agent.run.units.merge_item import MergePlan, Replaced, plan_merge


class Sides:
    """A file in the run's tree and in the layer of an item, and what a merge of another item replaced there."""

    def __init__(self, tmp_path: Path) -> None:
        self.ws = tmp_path / "ws"
        self.ws.mkdir()
        self.layer = Layer(tmp_path / "layer", self.ws)
        self.layer.stamp_ns = self.layer.next_tick("stamp")
        self.blobs = BlobsInMemory()

    def side(self, data: bytes | None, *, runs: bool = False, kind: Type = "file", ctime: int = 1) -> Side | None:
        if data is None:
            return None
        digest = self.blobs.keep(data)
        return Side(type=kind, digest=digest, size=len(data), executable=runs, inode=1, ctime_ns=ctime)

    def plan(
        self, base: Side | None, now: Side | None, after: Side | None, *, is_known: bool = True, conflict: str = "late"
    ) -> MergePlan:
        for place, side in ((self.ws, now), (self.layer.upper, after)):
            if side is not None:
                (place / "f").write_bytes(self.blobs[side.digest])
        effect = Effect(path="f", kind="changed", before=now, after=after, conflict=conflict)
        listed = Listed([Group("ordinary", "", (ClassedEffect(effect, "", True),))], [], {}, [])
        replaced = {"f": [Replaced(self.layer.stamp_ns + 1, base)]} if is_known else {}
        return plan_merge(listed, self.layer, replaced, self.blobs)


@pytest.fixture
def sides(tmp_path: Path) -> Sides:
    return Sides(tmp_path)


def effects(plan: MergePlan) -> list[Effect]:
    return [entry.effect for group in plan.listed.groups for entry in group.entries]


def test_what_only_the_item_changed_is_applied_as_it_is(sides: Sides):
    found = sides.plan(None, sides.side(b"a\n"), sides.side(b"b\n"), is_known=False, conflict="")
    assert (found.merged, found.conflicts) == ([], []) and len(effects(found)) == 1


def test_changes_of_both_sides_are_joined_by_line_and_keep_the_permissions_of_either(sides: Sides):
    base, after = sides.side(b"1\n2\n3\n"), sides.side(b"1\n2\nthree\n")
    found = sides.plan(base, sides.side(b"one\n2\n3\n", runs=True), after)
    (effect,) = effects(found)
    assert found.merged == ["f"] and found.listed.contents["f"] == b"one\n2\nthree\n"
    assert effect.after is not None and effect.after.executable and not effect.conflict
    found = sides.plan(base, sides.side(b"one\n2\n3\n"), sides.side(b"1\n2\nthree\n", runs=True))
    after = effects(found)[0].after
    assert after is not None and after.executable


@pytest.mark.parametrize(
    ("base", "now", "after", "why"),
    [
        (b"1\n", b"3\n", b"2\n", "1 of its changes overlap"),
        (b"1\n", None, b"2\n", "removed from the run's tree"),
        (b"1\n", b"3\n", None, "the item removed it"),
        (None, b"3\n", b"2\n", "created in the run's tree too"),
        (b"\0a", b"\0c", b"\0b", "not text"),
    ],
)
def test_what_cannot_be_joined_is_a_conflict(
    sides: Sides, base: bytes | None, now: bytes | None, after: bytes | None, why: str
):
    found = sides.plan(sides.side(base), sides.side(now), sides.side(after))
    assert len(found.conflicts) == 1 and why in found.conflicts[0] and not effects(found)


def test_links_that_changed_on_both_sides_and_what_the_user_changed_are_conflicts(sides: Sides):
    link = sides.side(b"c", kind="link")
    found = sides.plan(sides.side(b"a", kind="link"), sides.side(b"b"), link)
    assert "a link changed on both sides" in found.conflicts[0]
    late = sides.side(b"1\n2\n", ctime=sides.layer.stamp_ns)
    found = sides.plan(late, sides.side(b"one\n2\n"), sides.side(b"1\ntwo\n"))
    assert found.conflicts == ["f: late"], "nobody knows what the item saw"


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
    """A run that was killed after it recorded the merge of `a.txt`; its order is gone, and nothing was written."""
    whole = parallel(None, "a.txt")
    await whole.run()
    killed = whole.killed_at("join_started")
    (place / "a.txt").write_text("a: old\n")
    killed.model = Fixer()
    return killed


async def test_a_merge_that_was_killed_before_its_order_is_worked_again(parallel, place):
    killed = await killed_in_a_join(parallel, place)
    outcome = await killed.run()
    assert (outcome.reason, outcome.complete) == ("dry", True), killed.story()
    assert texts(place)["a.txt"] == "a: new\n" and killed.model.turns == ["a.txt"]
    first = killed.of("join_finished")[0]
    assert first["files"] == [] and "killed before" in first["conflicts"][0]
