"""A copy for a unit equals the workspace each time it is refreshed, and tells what the unit changed in it."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
from pathlib import Path

from rundry.agent.layers.copies import Copy, size_of
from rundry.agent.layers.direct import changes, read_tree

from .conftest import AsUser
from .test_direct import aged
from .test_judge import grow, seen


def sh(folder: Path, script: str) -> None:
    subprocess.run(["sh", "-ec", script], cwd=folder, check=True)


def check_random(folder: Path, seeds: range) -> None:
    for seed in seeds:
        chance = random.Random(seed)
        ws = folder / f"ws-{seed}"
        ws.mkdir()
        grow(ws, chance)
        copy = Copy(folder / f"copy-{seed}", ws)
        for _ in range(4):
            copy.refresh()
            before = seen(ws)
            assert seen(copy.folder) == before, seed
            assert copy.effects() == []
            grow(copy.folder, chance)
            assert seen(ws) == before, seed
            check_effects(copy, ws)
            grow(ws, chance)
        copy.drop()
        assert not copy.folder.exists()


def check_effects(copy: Copy, ws: Path) -> None:
    """Compare with a reading of both folders byte by byte."""
    tops = [{line.split(" ", 1)[0] for line in seen(top)} for top in (ws, copy.folder)]
    paths = {os.fsencode(path.relative_to(top)) for top in (ws, copy.folder) for path in top.rglob("*")}
    files = [os.fsdecode(path) for path in paths]
    here, there = (read_tree(top, digested=files).entries for top in (ws, copy.folder))
    wanted = {
        os.fsdecode(path)
        for path in paths
        if (path in here) != (path in there)
        or (here[path].side.type, here[path].side.digest, here[path].side.executable)
        != (there[path].side.type, there[path].side.digest, there[path].side.executable)
    }
    found = {one.path: one for one in copy.effects() if one.before != one.after}
    assert wanted <= set(found), tops
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
    copy = Copy(tmp_path / "copy", ws, skipped=["a/b/9"])
    assert copy.refresh() == 11
    aged(ws)
    copy.refresh()
    kept = (copy.folder / "a/b/1").stat()
    assert copy.refresh() == 0
    sh(ws, "echo new > a/b/2; rm a/b/3; echo more > a/b/more")
    sh(copy.folder, "echo mine > a/b/4; rm a/b/5; echo mine > a/mine")
    assert copy.refresh() == 6
    assert (copy.folder / "a/b/1").stat() == kept
    assert sorted(os.listdir(copy.folder / "a/b")) == ["1", "2", "4", "5", "6", "7", "8", "more"]
    assert (copy.folder / "a/b/4").read_text() == "4\n" and os.listdir(copy.folder / "a") == ["b"]
    assert size_of(ws, tmp_path)[:2] == (12, 24)


def test_what_the_user_changed_meanwhile_is_a_conflict(tmp_path: Path):
    ws = tmp_path / "ws"
    ws.mkdir()
    sh(ws, "echo 1 > one; echo 2 > two; echo 3 > three")
    copy = Copy(tmp_path / "copy", ws)
    copy.refresh()
    sh(copy.folder, "echo mine > one; rm two; echo mine > three; echo mine > new")
    sh(ws, "echo theirs > one; echo theirs > new; rm three")
    said = {one.path: one.conflict for one in copy.effects()}
    assert said == {
        "one": "it changed meanwhile",
        "two": "",
        "three": "it changed meanwhile",
        "new": "it was made meanwhile",
    }


def test_links_and_rights_that_a_unit_left_lead_nowhere_and_hinder_nothing(as_user: AsUser):
    def act(folder: Path) -> None:
        ws, outside = folder / "ws", folder / "outside"
        for one in (ws, outside):
            one.mkdir()
        sh(outside, "mkdir in; echo kept > in/kept")
        sh(ws, "mkdir -p in/deep; echo 1 > in/deep/one; echo 2 > in/two")
        copy = Copy(folder / "copy", ws)
        copy.refresh()
        sh(copy.folder, f"mv in moved; ln -s {outside}/in in; chmod 000 moved/deep moved; mkfifo fifo; chmod 500 .")
        assert {one.path for one in copy.effects()} >= {"in", "moved", "moved/deep/one", "in/two", "in/deep/one"}
        copy.refresh()
        assert seen(copy.folder) == seen(ws)
        assert os.listdir(outside / "in") == ["kept"]
        sh(copy.folder, "chmod 000 in/deep; echo x > in/two")
        shutil.rmtree(ws / "in/deep")
        copy.refresh()
        assert changes(ws, read_tree(ws), read_tree(ws)) == [] and os.listdir(copy.folder / "in") == ["two"]
        copy.drop()

    as_user(act)
