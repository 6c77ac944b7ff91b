"""What the user does while a command of the model runs stays, and is not the command's (docs/decisions/0036)."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from fakes.paused_command import PausedCommand
from fakes.project import CHECK, FIX_ADD, FIX_MEAN
from fakes.rundry import Home, Ran
from fakes.server import ScriptedServer
from fakes.turns import Turn, call, say

from rundry.agent.sandbox.landlock import why_no_landlock

MORE = "\n\nclass More(unittest.TestCase):\n    def test_{name}(self):\n        self.assertTrue({value})\n"


@pytest.fixture
def elsewhere() -> Iterator[Path]:
    """A folder on another file system than the workspace."""
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        yield Path(folder)


def under_landlock(home: Home, project: Path, elsewhere: Path) -> None:
    """Put a bubblewrap that does not work first in PATH, and leave no place for layers."""
    if why := why_no_landlock():
        pytest.skip(why)
    (home.root / "broken").mkdir()
    (home.root / "broken/bwrap").write_text("#!/bin/sh\nexit 1\n")
    (home.root / "broken/bwrap").chmod(0o755)
    home.env["PATH"] = f"{home.root / 'broken'}:{home.env['PATH']}"
    home.runs = elsewhere / "runs"
    home.env["RUNDRY_RUNS_DIR"] = str(home.runs)
    (project / ".git/rundry").mkdir()
    (project / ".git/rundry").chmod(0o777)


def run(home: Home, project: Path, user: object, *turns: Turn, until: str = CHECK) -> Ran:
    """Run headless; `user` is called while the first command runs."""
    argv = ["--headless", "--json", "--gate", "auto", "--until", until, "--steps", "9", "--model", "fake"]
    held = PausedCommand()
    waits = call("run_command", command=f"{held.line}; echo x >> b.txt")
    with (
        ScriptedServer([waits, *turns], then=say("nothing more")) as server,
        home.start("run", "fix it", *argv, "--api-base", server.base_url, cwd=project) as running,
    ):
        held.wait()
        user(project)  # type: ignore[operator]
        held.release()
        return running.finish()


def add_tests(value: object):
    def add(project: Path) -> None:
        with (project / "tests" / "test_core.py").open("a") as file:
            file.write(MORE.format(name="more", value=value))
        (project / "tests" / "test_new.py").write_text(f"import unittest{MORE.format(name='new', value=value)}")
        (project / "Makefile").write_text("all:\n\ttrue\n")

    return add


def test_tests_that_the_user_adds_during_a_command_stay_and_a_true_result_is_done(home: Home, project: Path):
    before = (project / "tests/test_core.py").read_text()
    ran = run(home, project, add_tests(True), FIX_ADD, FIX_MEAN)
    assert (project / "tests/test_core.py").read_text() == before + MORE.format(name="more", value=True)
    assert (project / "tests/test_new.py").exists() and (project / "Makefile").exists()
    assert (project / "b.txt").read_text() == "x\n"
    assert (ran.exit_code, ran.outcome["reason"]) == (0, "done"), ran.story()
    assert (ran.outcome["evidence"]["grade"], ran.outcome["evidence"]["undecided"]) == ("judged", ["b.txt"])


def test_a_failing_test_that_the_user_adds_is_neither_removed_nor_passed(home: Home, project: Path):
    ran = run(home, project, add_tests(False), FIX_ADD, FIX_MEAN)
    assert (project / "tests/test_new.py").exists() and ran.exit_code != 0, ran.story()


def test_a_protected_file_that_the_user_makes_during_a_command_stays_and_is_not_mentioned(home: Home, project: Path):
    def make(project: Path) -> None:
        (project / ".envrc").write_text("export X=1\n")

    ran = run(home, project, make, FIX_ADD, FIX_MEAN)
    assert (project / ".envrc").read_text() == "export X=1\n"
    assert (ran.exit_code, ran.outcome["reason"]) == (0, "done") and not ran.of("changes_undecided"), ran.story()


def test_a_protected_file_that_the_command_could_not_write_is_not_mentioned(home: Home, project: Path):
    (project / ".vscode").mkdir()
    (project / ".vscode/tasks.json").write_text("{}\n")

    def edit(project: Path) -> None:
        (project / ".vscode/tasks.json").write_text('{"by": "the user"}\n')

    ran = run(home, project, edit, FIX_ADD, FIX_MEAN)
    assert (project / ".vscode/tasks.json").read_text() == '{"by": "the user"}\n'
    assert (ran.exit_code, ran.outcome["reason"]) == (0, "done") and not ran.of("changes_undecided"), ran.story()


def users_git(folder: Path, *argv: str) -> None:
    who = ["-c", "user.name=u", "-c", "user.email=u@x"]
    subprocess.run(["git", *who, *argv], cwd=folder, check=False, capture_output=True)


def commit_twice(project: Path) -> None:
    users_git(project, "init", "-q", "-b", "main", ".")
    for text in ("one", "two"):
        (project / "notes").write_text(text)
        users_git(project, "add", "-A")
        users_git(project, "commit", "-qm", text)


def work_in_the_repository(project: Path) -> None:
    """Edit protected files, and begin a rebase that runs a command."""
    (project / ".envrc").write_text("export MINE=1\n")
    (project / ".vscode").mkdir(exist_ok=True)
    (project / ".vscode/tasks.json").write_text('{"mine": 1}\n')
    (project / ".git/hooks/pre-commit").write_text("#!/bin/sh\nexit 0\n")
    users_git(project, "rebase", "--autostash", "-x", "false", "HEAD~1")
    assert (project / ".git/rebase-merge/git-rebase-todo").exists()


def test_under_landlock_the_users_edits_of_protected_files_and_a_rebase_stay_and_are_named(
    home: Home, project: Path, elsewhere: Path
):
    under_landlock(home, project, elsewhere)
    commit_twice(project)
    kept: dict[Path, bytes] = {}

    def user(project: Path) -> None:
        work_in_the_repository(project)
        places = (*(project / ".git/rebase-merge").rglob("*"), *(project / ".vscode").rglob("*"))
        files = [project / ".envrc", project / ".git/hooks/pre-commit", *places]
        kept.update({path: path.read_bytes() for path in files if path.is_file()})

    ran = run(home, project, user, FIX_ADD, FIX_MEAN)
    assert {path: path.read_bytes() if path.exists() else None for path in kept} == kept, ran.story()
    assert (ran.exit_code, ran.outcome["reason"]) == (5, "handoff"), ran.story()
    named = {path for event in ran.of("changes_undecided") for path in event["protected"]}
    assert {".envrc", ".vscode/tasks.json", ".git/hooks/pre-commit"} <= named
    assert any("git-rebase-todo" in path for path in named)


PLANTS = {
    "a hook": ("printf x > .git/hooks/post-checkout; chmod +x .git/hooks/post-checkout", ".git/hooks/post-checkout"),
    "a setting": ("git config core.fsmonitor ./x", ".git/config"),
    "a program of PATH": ("printf x > bin/tool", "bin/tool"),
    "a repository": ("git init -q deep/er", "deep/er/.git"),
    "a config": ("echo '[sandbox]' > .rundry.toml", ".rundry.toml"),
    "an ignored file": ("mkdir .idea; echo x > .idea/workspace.xml", ".idea/workspace.xml"),
}


@pytest.mark.parametrize("plant", PLANTS)
def test_under_landlock_what_a_command_plants_is_named_and_the_run_is_handed_over(
    home: Home, project: Path, elsewhere: Path, plant: str
):
    under_landlock(home, project, elsewhere)
    commit_twice(project)
    (project / ".git/info/exclude").write_text(".idea\n")
    (project / "bin").mkdir()
    (project / "bin/tool").write_text("#!/bin/sh\n")
    home.env["PATH"] += f":{project / 'bin'}"
    line, name = PLANTS[plant]
    (project / "plant.sh").write_text(line)  # the gate does not see what a script writes
    argv = ["--headless", "--json", "--gate", "auto", "--until", CHECK, "--steps", "9", "--model", "fake"]
    with ScriptedServer([call("run_command", command="sh plant.sh"), FIX_ADD, FIX_MEAN], then=say("no more")) as server:
        ran = home.run("run", "fix it", *argv, "--api-base", server.base_url, cwd=project)
    assert (ran.exit_code, ran.outcome["reason"]) == (5, "handoff") and name in ran.outcome["detail"], ran.story()
    assert (project / name).exists()


def test_under_landlock_what_a_check_plants_is_named_and_the_run_is_handed_over(
    home: Home, project: Path, elsewhere: Path
):
    under_landlock(home, project, elsewhere)
    commit_twice(project)
    check = f"printf x > .git/hooks/post-checkout; {CHECK}"
    argv = ["--headless", "--json", "--gate", "auto", "--until", check, "--steps", "9", "--model", "fake"]
    with ScriptedServer([FIX_ADD, FIX_MEAN], then=say("no more")) as server:
        ran = home.run("run", "fix it", *argv, "--api-base", server.base_url, cwd=project)
    assert (ran.exit_code, ran.outcome["reason"]) == (5, "handoff"), ran.story()
    assert ".git/hooks/post-checkout" in ran.outcome["detail"]


def test_under_landlock_a_run_whose_commands_plant_nothing_is_done(home: Home, project: Path, elsewhere: Path):
    under_landlock(home, project, elsewhere)
    commit_twice(project)
    ran = run(home, project, lambda _: None, FIX_ADD, FIX_MEAN)
    assert (ran.exit_code, ran.outcome["reason"]) == (0, "done") and not ran.of("changes_undecided"), ran.story()
