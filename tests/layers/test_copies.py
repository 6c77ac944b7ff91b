"""A copy for a unit equals the workspace each time it is refreshed, and tells what the unit changed in it."""

from __future__ import annotations

import asyncio
import os
import random
import shutil
import subprocess
from pathlib import Path

import msgspec
import pytest

from rundry.agent.host.processes.processes import run_process
from rundry.agent.layers.direct_comparison import read_tree
from rundry.agent.layers.layer import LayerMoment
from rundry.agent.layers.layer_effects import Effect, TooMuch
from rundry.agent.layers.watching import Watch, limits_at
from rundry.agent.layers.workspace_copies import Copies, CopyLayer, size_of

from .conftest import AsUser, apart, mount
from .test_direct import aged
from .test_judge import grow, seen


def sh(folder: Path, script: str) -> None:
    subprocess.run(["sh", "-ec", script], cwd=folder, check=True)


def copy_of(ws: Path, folder: Path) -> CopyLayer:
    return CopyLayer(folder, ws, Copies(folder.with_name(f"{folder.name}-spare"), at_workspace=False))


def effects(copy: CopyLayer) -> list[Effect]:
    copy.seal(0)
    return copy.effects()[0]


def check_random(folder: Path, seeds: range) -> None:
    for seed in seeds:
        chance = random.Random(seed)
        ws = folder / f"ws-{seed}"
        ws.mkdir()
        grow(ws, chance)
        copies = Copies(folder / f"spare-{seed}", at_workspace=False)
        for number in range(4):
            copy = CopyLayer(folder / f"copy-{seed}-{number}", ws, copies).mount(None)
            before = seen(ws)
            assert seen(copy.tree) == before, seed
            assert effects(copy) == []
            grow(copy.tree, chance)
            assert seen(ws) == before, seed
            check_effects(copy, ws)
            grow(ws, chance)
            copy.drop()
            assert not copy.folder.exists()
        copies.close()
        assert not (folder / f"spare-{seed}").exists()


def check_effects(copy: CopyLayer, ws: Path) -> None:
    """Compare with a reading of both folders byte by byte."""
    tops = [{line.split(" ", 1)[0] for line in seen(top)} for top in (ws, copy.tree)]
    paths = {os.fsencode(path.relative_to(top)) for top in (ws, copy.tree) for path in top.rglob("*")}
    files = [os.fsdecode(path) for path in paths]
    here, there = (read_tree(top, digested=files).entries for top in (ws, copy.tree))
    wanted = {
        os.fsdecode(path)
        for path in paths
        if (path in here) != (path in there)
        or (here[path].side.type, here[path].side.digest, here[path].side.executable)
        != (there[path].side.type, there[path].side.digest, there[path].side.executable)
    }
    found = {one.path: one for one in effects(copy)}
    assert wanted == set(found), tops
    for name in wanted:
        one, path = found[name], os.fsencode(name)
        assert (one.before is None, one.after is None) == (path not in here, path not in there)
        assert one.before is None or one.before.digest == here[path].side.digest
        assert not one.conflict


def test_a_copy_equals_the_workspace_after_each_refresh_and_its_effects_are_complete(tmp_path: Path):
    check_random(tmp_path, range(5, 10))


def test_a_copy_of_an_ordinary_user_equals_the_workspace_after_each_refresh(as_user: AsUser):
    as_user(lambda folder: check_random(folder, range(50, 52)))


def test_only_what_differs_is_copied_again(tmp_path: Path):
    ws = tmp_path / "ws"
    ws.mkdir()
    sh(ws, "mkdir -p a/b; for i in 1 2 3 4 5 6 7 8 9; do echo $i > a/b/$i; done; printf x > big")
    aged(ws)
    copies = Copies(tmp_path / "spare", at_workspace=False)
    copy = CopyLayer(tmp_path / "copy", ws, copies).mount(None)
    kept = (copy.tree / "a/b/1").stat().st_ino
    sh(ws, "echo new > a/b/2; rm a/b/3; echo more > a/b/more")
    sh(copy.tree, "echo mine > a/b/4; rm a/b/5; echo mine > a/mine")
    copy.drop()
    copy = CopyLayer(tmp_path / "again", ws, copies).mount(None)
    assert (copy.tree / "a/b/1").stat().st_ino == kept
    assert sorted(os.listdir(copy.tree / "a/b")) == ["1", "2", "4", "5", "6", "7", "8", "9", "more"]
    assert (copy.tree / "a/b/4").read_text() == "4\n" and os.listdir(copy.tree / "a") == ["b"]
    assert size_of(ws, tmp_path)[:2] == (12, 24)


def test_what_the_user_changed_meanwhile_is_a_conflict_and_seen_where_nothing_was_written(tmp_path: Path):
    ws = tmp_path / "ws"
    ws.mkdir()
    sh(ws, "echo 1 > one; echo 2 > two; echo 3 > three; echo 4 > four; mkdir d; echo 5 > d/five")
    copy = copy_of(ws, tmp_path / "copy").mount(None)
    sh(copy.tree, "echo mine > one; rm two; echo mine > new; echo mine > d/six")
    sh(ws, "echo theirs > one; echo theirs > new; echo theirs > four; echo theirs > d/seven; rm three")
    copy.mount_again(None, 0)
    assert (copy.tree / "four").read_text() == (copy.tree / "d/seven").read_text() == "theirs\n"
    assert (copy.tree / "one").read_text() == "mine\n" and not (copy.tree / "three").exists()
    said = {one.path: one.conflict for one in effects(copy)}
    late = "it changed while the command ran"
    assert said == {"one": late, "two": "", "new": late, "d/six": ""}


def test_each_mark_in_a_copy_tells_what_was_written_since(tmp_path: Path):
    ws = tmp_path / "ws"
    ws.mkdir()
    sh(ws, "echo 1 > one; echo 2 > two")
    copy = copy_of(ws, tmp_path / "copy").mount(None)

    def written(moment: LayerMoment) -> set[str]:
        return {one.path for one in copy.effects(since=moment)[0]}

    sh(copy.tree, "echo mine > one")
    first = copy.moment("moment")
    sh(copy.tree, "rm two")
    second = copy.moment("moment")
    sh(copy.tree, "echo mine > three")
    assert (written(first), written(second)) == ({"two", "three"}, {"three"})
    copy.drop()


def test_a_copy_that_was_left_is_used_again(tmp_path: Path):
    ws = tmp_path / "ws"
    ws.mkdir()
    sh(ws, "echo 1 > one; echo 2 > two")
    copy = copy_of(ws, tmp_path / "copy").mount(None)
    sh(copy.tree, "echo mine > one")
    copy.unmount()
    sh(ws, "echo theirs > two")
    copies = Copies(tmp_path / "spare", at_workspace=False)
    again = CopyLayer(copy.folder, ws, copies, is_left=True)
    again.stamp_ns = copy.stamp_ns
    again.mount_again(None, 1)
    assert (again.tree / "two").read_text() == "theirs\n"
    assert {one.path: one.conflict for one in effects(again)} == {"one": ""}


def test_links_and_rights_that_a_unit_left_lead_nowhere_and_hinder_nothing(as_user: AsUser):
    def act(folder: Path) -> None:
        ws, outside = folder / "ws", folder / "outside"
        for one in (ws, outside):
            one.mkdir()
        sh(outside, "mkdir in; echo kept > in/kept")
        sh(ws, "mkdir -p in/deep; echo 1 > in/deep/one; echo 2 > in/two")
        copies = Copies(folder / "spare", at_workspace=False)
        copy = CopyLayer(folder / "copy", ws, copies).mount(None)
        sh(copy.tree, f"mv in moved; ln -s {outside}/in in; chmod 000 moved/deep moved; mkfifo fifo; chmod 500 .")
        assert {one.path for one in effects(copy)} >= {"in", "moved", "moved/deep/one", "in/two", "in/deep/one"}
        copy.drop()
        copy = CopyLayer(folder / "again", ws, copies).mount(None)
        assert seen(copy.tree) == seen(ws)
        assert os.listdir(outside / "in") == ["kept"]
        copy.drop()

    as_user(act)


def test_a_command_that_fills_the_disk_with_a_copy_is_killed_and_nothing_of_it_is_left():
    def act(folder: Path) -> None:
        mount("-t", "tmpfs", "-o", "size=400m", "none", str(folder))
        ws = folder / "ws"
        ws.mkdir()
        (ws / "present").write_bytes(bytes(60_000_000))
        copies = Copies(folder / "spare", at_workspace=False)
        copy = CopyLayer(folder / "copy", ws, copies).mount(None)

        def run(script: str) -> tuple[str, int | None]:
            watch = copy.watch()
            argv, env = ["sh", "-c", script], {"PATH": "/usr/bin:/bin"}
            done = asyncio.run(run_process(argv, cwd=copy.tree, env=env, timeout=100, on_start=watch.begin))
            watch.end()
            return watch.reached, done.exit_code

        assert run("head -c 100000000 /dev/zero > new; sleep 3") == ("", 0), "what was there does not count"
        assert run("head -c 60000000 /dev/zero > more; sleep 100") == ("it wrote more than 139 MB", 137)
        with pytest.raises(TooMuch, match=r"it changes 160 MB, and the disk has room for 11\d MB"):
            copy.seal(0)
        copy.drop()
        free = shutil.disk_usage(folder).free
        assert free > 300_000_000 and os.listdir(folder) == ["ws"]

    apart(act)


def test_a_command_that_makes_too_many_files_in_a_copy_is_killed(tmp_path: Path):
    ws = tmp_path / "ws"
    ws.mkdir()
    for number in range(30):
        (ws / f"present-{number}").touch()
    copy = copy_of(ws, tmp_path / "copy").mount(None)
    for made, reached in ((20, ""), (60, "it wrote more than 40 files")):
        limits = msgspec.structs.replace(limits_at(tmp_path), files=40)
        watch = Watch([copy.tree], limits, copy.watch().present)
        argv = ["sh", "-c", f"i=0; while [ $i -lt {made} ]; do i=$((i+1)); : > f$i; done; sleep 3"]
        asyncio.run(run_process(argv, cwd=copy.tree, env={}, timeout=100, on_start=watch.begin))
        watch.end()
        assert watch.reached == reached
    copy.drop()
