"""What git has of files that changed in place."""

from __future__ import annotations

import hashlib
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from rundry.agent.layers.direct_comparison import changes, read_tree
from rundry.agent.layers.git_contents import GitContents

from .test_direct import aged

MOST = 1_000_000


def git(folder: Path, *words: str) -> None:
    who = ("-c", "user.name=u", "-c", "user.email=u@example.org")
    subprocess.run(["git", "-C", folder, *who, *words], check=True, capture_output=True)


@pytest.fixture
def top(tmp_path: Path) -> Path:
    folder = tmp_path / "top"
    (folder / "in").mkdir(parents=True)
    for name in ("a.txt", "b.txt", "in/c.txt"):
        (folder / name).write_text(f"{name}\n")
    (folder / "link").symlink_to("a.txt")
    git(folder.parent, "init", "-q", str(folder))
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "one")
    return folder


def found(ws: Path, act: Callable[[], object], *, is_old: bool = True) -> dict[str, bytes]:
    if is_old:
        aged(ws)
        git(ws, "status")  # git writes an index that is newer than the files
    before, known = read_tree(ws), GitContents(ws)
    act()
    return known.find([one for one in changes(ws, before, read_tree(ws)) if not one.path.startswith(".git")], MOST)


def replace_all(ws: Path) -> None:
    for path in ws.rglob("*.txt"):
        if ".git" not in path.parts:
            path.write_text("new\n")
    if (ws / "link").is_symlink():
        (ws / "link").unlink()


@pytest.mark.parametrize("is_old", [True, False])
def test_the_content_of_files_that_were_as_git_saw_them_is_found(top: Path, is_old: bool):
    expected = {name: f"{name}\n".encode() for name in ("a.txt", "b.txt", "in/c.txt")}
    assert found(top, lambda: replace_all(top), is_old=is_old) == {**expected, "link": b"a.txt"}


def test_in_a_folder_of_a_repository_the_paths_begin_there(top: Path):
    assert found(top / "in", lambda: replace_all(top / "in")) == {"c.txt": b"in/c.txt\n"}


def test_a_file_that_was_not_as_git_saw_it_is_not_found(top: Path):
    (top / "a.txt").write_text("mine!\n")
    (top / "untracked.txt").write_text("mine\n")
    assert {*found(top, lambda: replace_all(top))} == {"b.txt", "in/c.txt", "link"}


def test_a_file_that_git_stores_in_another_form_is_not_found(top: Path):
    git(top, "config", "filter.turn.clean", "tr a-z n-za-m")
    git(top, "config", "filter.turn.smudge", "tr a-z n-za-m")
    (top / ".gitattributes").write_text("a.txt filter=turn\n")
    (top / "a.txt").write_text("turned\n")
    git(top, "add", ".")
    git(top, "commit", "-qm", "two")
    assert "a.txt" not in found(top, lambda: (top / "a.txt").write_text("new\n"))


def test_without_a_repository_nothing_is_found(tmp_path: Path):
    (tmp_path / "a.txt").write_text("a\n")
    before, known = read_tree(tmp_path), GitContents(tmp_path)
    (tmp_path / "a.txt").write_text("b\n")
    (effect,) = changes(tmp_path, before, read_tree(tmp_path))
    assert known.find([effect], MOST) == {}
    assert effect.before is not None and effect.before.digest == hashlib.sha256(b"a\n").hexdigest()
