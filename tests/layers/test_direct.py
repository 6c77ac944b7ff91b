"""Without layers, one comparison says what a command changed."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Collection
from pathlib import Path

import pytest

from rundry.agent.layers.direct_comparison import changes, read_tree
from rundry.agent.layers.layer_effects import Effect

from .conftest import AsUser, apart, mount
from .test_effects import CASES, fill

MARKS = {"added": "+", "changed": "~", "deleted": "-"}


def changed(ws: Path, script: str, *, skipped: Collection[str] = (), digested: Collection[str] = ()) -> list[Effect]:
    before = read_tree(ws, skipped=skipped, digested=digested)
    subprocess.run(["sh", "-c", script], cwd=ws, check=True)
    return changes(ws, before, read_tree(ws, skipped=skipped, digested=digested))


def listed(effects: list[Effect]) -> str:
    return " ".join(f"{MARKS[one.kind]}{one.path}" for one in effects)


def aged(ws: Path) -> None:
    """Wait until nothing in the folder counts as just changed."""
    newest = max(path.lstat().st_ctime for path in ws.rglob("*"))
    while time.time() - newest < 2.2:
        time.sleep(0.05)


@pytest.mark.parametrize(("script", "expected"), CASES)
def test_it_finds_what_a_layer_lists(tmp_path: Path, script: str, expected: str):
    if os.geteuid() and "chmod 000" in script:
        pytest.skip("only root lists a folder of mode 000")
    fill(tmp_path)
    assert sorted(listed(changed(tmp_path, script)).split(" ")) == sorted(expected.split(" "))


OLD: list[tuple[str, str]] = [
    ("true", ""),
    ("printf uno > src/one.txt; touch -d 2001-01-01 src/one.txt", "~src/one.txt"),
    ("touch docs/read.md; chmod 600 src/deep/two.txt", "~docs/read.md ~src/deep/two.txt"),
    ("touch src src/deep; ls > /dev/null; cat docs/read.md", ""),
    ("cp -a src copy; mv src gone; mv copy src; rm -r gone", "~src/deep/er/three.txt ~src/deep/two.txt ~src/one.txt"),
    ("mv src/deep moved", "+moved +moved/er +moved/er/three.txt +moved/two.txt"),
    ("ln -sfn /etc docs/link; mkfifo fifo", "~docs/link"),
]
"""Commands on files that are not new; what they delete is left out."""


@pytest.mark.parametrize(("script", "expected"), OLD)
def test_a_file_that_was_not_read_before_is_compared_by_what_only_the_kernel_sets(
    tmp_path: Path, script: str, expected: str
):
    fill(tmp_path)
    aged(tmp_path)
    found = [one for one in changed(tmp_path, script) if one.kind != "deleted"]
    assert listed(found) == expected
    assert all(one.before is None or one.before.type == "link" or not one.before.digest for one in found)
    assert all(one.after is not None and (one.after.digest or one.after.type == "folder") for one in found)


def test_a_file_whose_bytes_were_read_before_is_not_changed_by_its_times(tmp_path: Path):
    fill(tmp_path)
    aged(tmp_path)
    script = "touch docs/read.md src/one.txt; printf 'x' > src/deep/two.txt"
    effects = changed(tmp_path, script, digested=["docs/read.md", "src/deep/two.txt"])
    assert listed(effects) == "~src/deep/two.txt ~src/one.txt"
    assert [bool(one.before and one.before.digest) for one in effects] == [True, False]


def test_a_file_that_changes_twice_in_one_tick_is_found(tmp_path: Path):
    path = tmp_path / "f"
    for number in range(200):
        path.write_text(f"{number:04}")
        before = read_tree(tmp_path)
        path.write_text(f"{9999 - number:04}")
        os.utime(path, ns=(1, before.entries[b"f"].side.mtime_ns))
        assert listed(changes(tmp_path, before, read_tree(tmp_path))) == "~f"


def test_own_folders_are_left_out_and_links_are_not_followed(tmp_path: Path):
    (tmp_path / "own").mkdir()
    (tmp_path / "link").symlink_to("own")
    assert listed(changed(tmp_path, "echo x > own/x; echo x > link/y; echo x > owner", skipped=["own"])) == "+owner"


def test_files_in_a_folder_that_cannot_be_listed_any_more_do_not_count_as_deleted(as_user: AsUser):
    def act(folder: Path) -> None:
        fill(folder)
        [shut] = changed(folder, "chmod 000 src/deep")
        assert (shut.path, shut.kind, shut.conflict) == ("src/deep", "changed", "what is in it cannot be listed")
        assert changed(folder, "true") == []
        assert [one.path for one in changed(folder, "chmod 700 src/deep")] == ["src/deep"]

    as_user(act)


def test_what_lies_in_a_folder_that_is_made_unlistable_is_not_forgotten(as_user: AsUser):
    def act(folder: Path) -> None:
        fill(folder)
        [shut] = [one for one in changed(folder, "mkdir d; echo x > d/.envrc; chmod 000 d") if one.path == "d"]
        assert (shut.kind, shut.conflict) == ("added", "what is in it cannot be listed")
        [opened] = changed(folder, "chmod 755 d")
        assert (opened.path, opened.conflict) == ("d", "what is in it cannot be listed")

    as_user(act)


def test_files_of_a_mount_inside_the_workspace_are_compared_too():
    def act(folder: Path) -> None:
        (folder / "data").mkdir()
        mount("-t", "tmpfs", "none", str(folder / "data"))
        assert listed(changed(folder, "echo x > data/made")) == "+data/made"
        assert listed(changed(folder, "echo y > data/made; mkdir data/in")) == "+data/in ~data/made"

    apart(act)


def test_more_files_than_a_layer_may_have_are_compared():
    folder = Path(tempfile.mkdtemp(dir="/dev/shm"))
    try:
        before = read_tree(folder)
        for number in range(50):
            (folder / str(number)).mkdir()
        script = "for d in [0-9]*; do (cd $d; seq 4200 | xargs touch) & done; wait"
        subprocess.run(["sh", "-c", script], cwd=folder, check=True)
        found = changes(folder, before, read_tree(folder), lambda _: False)
        assert len(found) == 50 * 4_201
    finally:
        shutil.rmtree(folder)
