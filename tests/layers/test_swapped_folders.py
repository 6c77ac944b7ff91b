"""A folder that is swapped for a link, a file or another folder: nothing is written where it leads or lay before.

The user swaps it before, during or after a command, and the command swaps it itself.
"""

from __future__ import annotations

import os
import shutil
import subprocess

import pytest
from msgspec.structs import replace

from rundry.agent.host.leftovers import Leftovers
from rundry.agent.host.workspace_paths import Workspace
from rundry.agent.layers.apply import carry_out
from rundry.agent.layers.effect_rows import EffectRow
from rundry.agent.layers.git.apply_git_rows import carry_out_git, keep_commits
from rundry.agent.layers.git.git_rows import inverse
from rundry.agent.layers.git.import_objects import BadObjects
from rundry.agent.layers.git.read_git_changes import read_git
from rundry.agent.layers.layer_effects import Side
from rundry.agent.layers.run_layers import RunLayers
from rundry.agent.layers.unit import Unit

from .conftest import Bench
from .gitting import SETUP, run, sh as git_sh
from .test_apply import carried_out, contents, rows_of
from .test_effects import fill
from .test_unit import run_in

COMMAND = """
echo x > src/made; echo x >> src/one.txt; rm src/deep/two.txt; mkdir src/deep/new; echo x > src/deep/new/x
ln -s one.txt src/link; chmod +x src/deep/er/three.txt
"""
THEIRS = "src/one.txt src/deep/two.txt src/deep/er/three.txt"
SWAPS = {
    "a link that leads out": "mv src ../away; ln -s ../away src",
    "a link that stays in the workspace": "mkdir ../away; mv src kept; ln -s kept src",
    "a link below": "mv src/deep ../away; ln -s ../../away src/deep",
    "a link to a link": "mv src ../away; ln -s ../away other; ln -s other src",
    "a file": "mv src ../away; echo theirs > src",
    "another folder": f"mv src ../away; mkdir -p src/deep/er; for one in {THEIRS}; do echo theirs > $one; done",
    "an empty folder": "mv src ../away; mkdir src",
    "nothing": "mv src ../away",
}
"""What the user does, in the workspace, with a folder in which a command changes files."""
IN_LINKS = frozenset({"src/made", "src/one.txt", "src/link", "src/deep/new", "src/deep/new/x", "src/deep/er/three.txt"})


def swap(bench: Bench, script: str) -> dict[str, object]:
    """Return what lies in the folders away from their place, and where links lead."""
    subprocess.run(["sh", "-ec", script], cwd=bench.ws, check=True, stdout=subprocess.DEVNULL)
    return elsewhere(bench)


def elsewhere(bench: Bench) -> dict[str, object]:
    found: dict[str, object] = {"away": contents(bench.folder / "away")}
    kept, src = bench.ws / "kept", bench.ws / "src"
    found["kept"] = contents(kept) if kept.exists() else None
    found["src"] = src.readlink() if src.is_symlink() else src.read_text() if src.is_file() else None
    return found


def theirs(bench: Bench) -> list[str]:
    """Return the files that still have what the user wrote into another folder."""
    return [
        name for name in THEIRS.split() if (bench.ws / name).is_file() and (bench.ws / name).read_text() == "theirs\n"
    ]


@pytest.mark.parametrize("how", SWAPS)
def test_a_folder_that_is_swapped_after_the_list_is_neither_followed_nor_found_again(bench: Bench, how: str):
    fill(bench.ws)
    layer = bench.layer()
    assert bench.run(layer, COMMAND).returncode == 0
    rows = rows_of(layer.effects()[0])
    before = swap(bench, SWAPS[how])
    refused = {one.path for one in carried_out(bench, layer, rows) if one.conflict}
    assert elsewhere(bench) == before
    if "link" in how or how == "a file":
        assert refused >= {path for path in IN_LINKS if how != "a link below" or path.startswith("src/deep/")}
    if how == "another folder":
        assert len(theirs(bench)) == 3 and refused == {*THEIRS.split()}


class Older:
    """The contents before the command."""

    def __init__(self, bench: Bench) -> None:
        self._folder = bench.folder / "older"
        shutil.copytree(bench.ws, self._folder, symlinks=True)

    def load(self, path: str, side: Side) -> bytes:
        return (self._folder / path).read_bytes()

    def make(self, path: str, side: Side, folder: int, name: str) -> None:
        made = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644, dir_fd=folder)
        os.write(made, self.load(path, side))
        os.close(made)


@pytest.mark.parametrize("how", SWAPS)
def test_an_undo_does_not_follow_a_folder_that_was_swapped_since(bench: Bench, how: str):
    fill(bench.ws)
    older, layer = Older(bench), bench.layer()
    assert bench.run(layer, COMMAND).returncode == 0
    rows = rows_of(layer.effects()[0])
    assert not [one for one in carried_out(bench, layer, rows) if one.conflict]
    before = swap(bench, SWAPS[how])
    carry_out(
        Workspace(bench.ws), [EffectRow(path=one.path, before=one.after, after=one.before) for one in rows], older
    )
    assert elsewhere(bench) == before
    assert how != "another folder" or len(theirs(bench)) == 3


@pytest.mark.parametrize("moment", ["before the command", "before the list"])
@pytest.mark.parametrize("how", SWAPS)
def test_a_folder_that_the_user_swaps_while_a_layer_is_open_is_not_followed(bench: Bench, how: str, moment: str):
    fill(bench.ws)
    layer = bench.layer()
    bench.run(layer, "cat src/one.txt src/deep/two.txt; ls src src/deep src/deep/er")
    if moment == "before the list":
        bench.run(layer, COMMAND)
    before = swap(bench, SWAPS[how])
    if moment == "before the command":
        bench.run(layer, COMMAND)
        before = elsewhere(bench)  # here no sandbox keeps a command from what lies outside of its layer
    carried_out(bench, layer, rows_of(layer.effects()[0]))
    assert elsewhere(bench) == before
    assert how != "another folder" or len(theirs(bench)) == 3


@pytest.mark.parametrize("moment", ["sealed", "mounted again"])
@pytest.mark.parametrize("command", ["echo x >> src/one.txt", "sed -i s/o/0/ src/one.txt", "rm src/one.txt"])
@pytest.mark.parametrize("swapped", ["src", "above"])
def test_an_older_folder_that_the_user_puts_in_the_place_of_another_stays(
    bench: Bench, swapped: str, command: str, moment: str
):
    at = bench.ws if swapped == "src" else bench.ws / "above"
    at.mkdir(exist_ok=True)
    fill(at)
    shutil.copytree(bench.ws / swapped, bench.ws / "other", symlinks=True)
    next((bench.ws / "other").rglob("one.txt")).write_text("theirs\n")
    layer = bench.layer()
    assert bench.run(layer, f"cd {at.relative_to(bench.ws)}; {command}").returncode == 0
    (bench.ws / swapped).rename(bench.folder / "away")
    (bench.ws / "other").rename(bench.ws / swapped)
    layer.seal(10)
    if moment == "mounted again":
        layer.mount_again(bench.namespaces, 10)
    (found,) = layer.effects()[0]
    assert found.path == str((at / "src/one.txt").relative_to(bench.ws))
    assert found.conflict == f"{swapped} was replaced while the command ran"


@pytest.mark.parametrize("moment", ["sealed", "mounted again"])
def test_a_folder_in_which_the_user_worked_is_the_same_one(bench: Bench, moment: str):
    fill(bench.ws)
    layer = bench.layer()
    assert bench.run(layer, "echo x >> src/one.txt; echo x > src/deep/made").returncode == 0
    (bench.ws / "src/theirs").write_text("theirs\n")
    (bench.ws / "src/deep").chmod(0o700)
    layer.seal(10)
    if moment == "mounted again":
        layer.mount_again(bench.namespaces, 10)
    assert {one.path: one.conflict for one in layer.effects()[0]} == {"src/one.txt": "", "src/deep/made": ""}


@pytest.mark.parametrize("moment", ["open", "sealed", "mounted again"])
def test_a_folder_that_both_make_gets_the_files_of_both(bench: Bench, moment: str):
    layer = bench.layer()
    assert bench.run(layer, "mkdir -p new/er; echo mine > new/er/mine").returncode == 0
    (bench.ws / "new/er").mkdir(parents=True)
    (bench.ws / "new/er/theirs").write_text("theirs\n")
    if moment != "open":
        layer.seal(10)
    if moment == "mounted again":
        layer.mount_again(bench.namespaces, 10)
    assert {one.path: one.conflict for one in layer.effects()[0]} == {"new/er/mine": ""}


BY_COMMAND = {
    "for a link": "mv src kept; ln -s kept src; echo x > src/made; echo y >> src/one.txt; rm src/deep/two.txt",
    "below for a link": "mv src/deep kept; ln -s ../kept src/deep; echo x > src/deep/made; rm -r src/deep/er",
    "for another folder": "mv src kept; mkdir -p src/deep; echo new > src/one.txt; echo x > src/deep/two.txt",
    "for a file and back": "mv src kept; echo x > src; rm src; mv kept src; echo y > src/made",
    "two of them": "mv src docs.new; mv docs src; mv docs.new docs; echo x > docs/made; ln -s docs/made src/made",
}


@pytest.mark.parametrize("how", BY_COMMAND)
def test_a_folder_that_the_command_swaps_gives_the_same_tree(bench: Bench, how: str):
    fill(bench.ws)
    direct = bench.folder / "direct"
    shutil.copytree(bench.ws, direct, symlinks=True)
    subprocess.run(["sh", "-ec", BY_COMMAND[how]], cwd=direct, check=True)
    layer = bench.layer()
    assert bench.run(layer, BY_COMMAND[how]).returncode == 0
    rows = rows_of(layer.effects()[0])
    for _ in range(2):
        assert not [one for one in carried_out(bench, layer, rows) if one.conflict]
    assert contents(bench.ws) == contents(direct)


def test_a_folder_that_both_swap_stays_as_the_user_made_it(bench: Bench):
    fill(bench.ws)
    layer = bench.layer()
    assert bench.run(layer, BY_COMMAND["for a link"]).returncode == 0
    rows = rows_of(layer.effects()[0])
    before = swap(bench, SWAPS["a link that leads out"])
    carried_out(bench, layer, rows)
    now = elsewhere(bench)
    assert (now["away"], now["src"]) == (before["away"], before["src"])


@pytest.mark.parametrize("kind", ["layer", "copy"])
@pytest.mark.parametrize("how", SWAPS)
def test_a_unit_does_not_follow_a_folder_that_the_user_swaps_while_it_is_open(bench: Bench, how: str, kind: str):
    fill(bench.ws)
    layers = RunLayers(Workspace(bench.ws), bench.folder / "base", "run", bench.namespaces, copies=kind == "copy")
    unit = Unit.begin(layers, "pass")
    run_in(unit, COMMAND)
    before = swap(bench, SWAPS[how])
    unit.mount_again()
    assert elsewhere(bench) == before
    unit.layer.seal(10)
    carried_out(bench, unit.layer, rows_of(unit.layer.effects()[0]))
    assert elsewhere(bench) == before
    assert how != "another folder" or len(theirs(bench)) == 3
    unit.drop()
    layers.close()


@pytest.mark.parametrize("place", [".git", "sub/.git", "sub"])
def test_a_git_folder_that_became_a_link_gets_nothing(bench: Bench, place: str):
    top = bench.ws if place == ".git" else bench.ws / "sub"
    top.mkdir(exist_ok=True)
    git_sh(top, SETUP)
    layer = bench.layer()
    run(bench, layer, f"cd {top.relative_to(bench.ws) or '.'}; git commit -qm theirs; git tag theirs; git stash -q")
    (changes,) = read_git(layer, lambda: layer.words).repositories
    away = bench.folder / "away"
    (bench.ws / place).rename(away)
    (bench.ws / place).symlink_to(away)
    before = contents(away)
    results = carry_out_git(changes, changes.rows, bench.ws, Leftovers(None))
    assert results and all("a link has taken the place" in one.conflict for one in results), results
    undone = replace(changes, rows=inverse(changes.rows), logs={}, pack=b"", large=b"")
    assert all(one.conflict for one in carry_out_git(undone, undone.rows, bench.ws, Leftovers(None)))
    with pytest.raises(BadObjects, match="a link has taken the place"):
        keep_commits(changes, bench.ws, Leftovers(None))
    assert contents(away) == before
    (bench.ws / place).unlink()
    away.rename(bench.ws / place)
    assert not [one for one in carry_out_git(changes, changes.rows, bench.ws, Leftovers(None)) if one.conflict]
