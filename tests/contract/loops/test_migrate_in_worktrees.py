"""`rundry find --recipe migrate --parallel N`, by the real command."""

from __future__ import annotations

from pathlib import Path

import pytest
from fakes.project import git
from fakes.rundry import Home
from fakes.server import Rule, ScriptedServer
from fakes.turns import edit

NAMES = ("a", "b", "c", "d")


@pytest.fixture
def place(tmp_path: Path) -> Path:
    folder = tmp_path / "place"
    folder.mkdir()
    for name in NAMES:
        (folder / f"{name}.txt").write_text("old\n")
    git(folder, "init", "-q")
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "start")
    return folder


def test_the_command_works_files_in_worktrees_and_leaves_none(home: Home, place: Path):
    rules = [Rule(f"The file: {name}.txt", edit(f"{name}.txt", "old", "new")) for name in NAMES]
    with ScriptedServer(rules=rules) as server:
        recipe = ["find", "--recipe", "migrate", "--parallel", "3", "--check", "grep -q new {file}", "--gate", "edits"]
        argv = [*recipe, "--model", "fake", "--api-base", server.base_url, "--headless", "*.txt"]
        ran = home.run(*argv, cwd=place)
    assert ran.exit_code == 0, ran
    assert {(place / f"{name}.txt").read_text() for name in NAMES} == {"new\n"}
    for name in NAMES:
        assert f"{name}.txt (worktree " in ran.stderr, ran
        assert f"done  {name}.txt: the check passes" in ran.stderr, ran
    assert git(place, "worktree", "list").count("\n") == 1
    assert git(place, "branch", "--list").count("\n") == 1


def test_items_have_what_git_ignores(home: Home, place: Path):
    (place / ".gitignore").write_text(".env\n")
    (place / ".env").write_text("A=1\n")
    git(place, "add", ".")
    git(place, "commit", "-qm", "Ignore")
    with ScriptedServer(rules=[Rule("The file: a.txt", edit("a.txt", "old", "new"))]) as server:
        check = "test -e .env && grep -q new {file}"
        recipe = ["find", "--recipe", "migrate", "--check", check, "--gate", "edits", "a.txt"]
        argv = [*recipe, "--model", "fake", "--api-base", server.base_url, "--headless"]
        ran = home.run(*argv, "--parallel", "2", cwd=place)
    assert ran.exit_code == 0 and "git ignores" not in ran.stderr and "1 done" in ran.stderr, ran
    assert (place / "a.txt").read_text() == "new\n"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--recipe", "migrate", "--check", "true", "--parallel", "0"], "write a whole number from 1 to 16"),
        (["--recipe", "migrate", "--check", "true", "--parallel", "many"], "write a whole number from 1 to 16"),
        (["--recipe", "crawl", "--parallel", "2", "http://127.0.0.1:9/"], "--parallel needs --recipe migrate"),
    ],
)
def test_a_number_of_worktrees_that_cannot_be_is_refused_before_a_journal_exists(
    home: Home, place: Path, options: list[str], said: str
):
    ran = home.run("find", *options, "--headless", "--model", "fake", cwd=place)
    assert ran.exit_code == 2, ran
    assert said in ran.stderr, ran
    assert home.journals() == []
