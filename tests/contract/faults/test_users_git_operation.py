"""A rebase, `git am`, cherry-pick, revert, merge or bisect that the user began stays as it is (docs/decisions/0039)."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from fakes.paused_command import PausedCommand
from fakes.project import git
from fakes.rundry import Home, Ran
from fakes.server import ScriptedServer
from fakes.turns import call, say
from sampling import sampled

NOT_COMPARED = ("objects", "index", "rundry")
"""What rundry may write in a git folder. Entries of the index are compared by `git ls-files`."""


def tried(project: Path, *words: str) -> None:
    """Start something that stops in the middle."""
    identity = ["-c", "user.name=Test", "-c", "user.email=test@example.org"]
    subprocess.run(["git", *identity, *words], cwd=project, check=False, capture_output=True, input=b"")


def make_branches(project: Path) -> None:
    """Two branches with two commits each, which change the same lines."""
    for branch in ("theirs", "ours"):
        git(project, "switch", "-qc", branch, "work")
        for number in (1, 2):
            (project / "NOTES.md").write_text(f"# Notes\n\n{branch} {number}\n")
            git(project, "commit", "-qam", f"{branch} {number}")


def apply_mails(project: Path) -> None:
    mails = project / ".git" / "mails"
    git(project, "format-patch", "-q", "-o", str(mails), "work..theirs")
    tried(project, "am", *(str(path) for path in sorted(mails.iterdir())))


def bisect(project: Path) -> None:
    for words in ("start", "bad ours", "good work"):
        tried(project, "bisect", *words.split())


BEGIN: dict[str, tuple[Callable[[Path], None], str, str]] = {
    "a rebase": (lambda at: tried(at, "rebase", "theirs"), "rebase-merge/git-rebase-todo", "rebase --abort"),
    "a rebase that applies": (
        lambda at: tried(at, "rebase", "--apply", "theirs"),
        "rebase-apply/next",
        "rebase --abort",
    ),
    "an interactive rebase": (
        lambda at: tried(at, "rebase", "-x", "false", "--autostash", "HEAD~1"),
        "rebase-merge/git-rebase-todo",
        "rebase --abort",
    ),
    "mails": (apply_mails, "rebase-apply/applying", "am --abort"),
    "a cherry-pick": (lambda at: tried(at, "cherry-pick", "work..theirs"), "sequencer/todo", "cherry-pick --abort"),
    "a revert": (lambda at: tried(at, "revert", "--no-edit", "HEAD~1", "HEAD"), "sequencer/todo", "revert --abort"),
    "a merge": (lambda at: tried(at, "merge", "theirs"), "MERGE_HEAD", "merge --abort"),
    "a bisect": (bisect, "BISECT_LOG", "bisect reset"),
}
"""How the user begins, a file that git then has, and how the user takes it back."""


def of_git(project: Path) -> dict[str, object]:
    """Each file of the git folder, and what the index has."""
    found: dict[str, object] = {"the index": git(project, "ls-files", "--stage", "-v")}
    for path in sorted((project / ".git").rglob("*")):
        name = path.relative_to(project / ".git")
        if path.is_file() and name.parts[0] not in NOT_COMPARED:
            found[name.as_posix()] = path.read_bytes()
    return found


def headless(server: ScriptedServer) -> list[str]:
    argv = ["run", "go", "--until", "test -f done.txt", "--headless", "--json", "--gate", "auto", "--steps", "5"]
    return [*argv, "--model", "fake", "--api-base", server.base_url]


@pytest.fixture
def begun(request: pytest.FixtureRequest, project: Path) -> str:
    """The words with which the user takes back what is in progress in the project."""
    make_branches(project)
    begin, made, undo = BEGIN[request.param]
    begin(project)
    assert (project / ".git" / made).exists(), "the case shows nothing"
    return undo


def ended(home: Home, project: Path, before: dict[str, object], ran: Ran, undo: str) -> None:
    assert (ran.exit_code, ran.outcome["reason"]) == (0, "done"), ran.story()
    assert of_git(project) == before, ran.story()
    assert (project / "made.txt").read_text() == "x\n"
    git(project, *undo.split())
    assert git(project, "rev-parse", "HEAD") == git(project, "rev-parse", "ours")
    assert git(project, "fsck", "--full", "--no-dangling") == ""


@pytest.mark.parametrize("begun", sampled([*BEGIN], 4), indirect=True)
def test_a_run_whose_model_calls_commands_leaves_it(home: Home, project: Path, begun: str):
    before = of_git(project)
    commands = ("git status; echo x > made.txt", "git log --oneline -3; touch done.txt")
    with ScriptedServer([call("run_command", command=one) for one in commands], then=say("so")) as server:
        ran = home.run(*headless(server), cwd=project)
    ended(home, project, before, ran, begun)


@pytest.mark.parametrize("begun", sampled([*BEGIN], 2), indirect=True)
def test_a_run_that_is_killed_in_a_command_and_resumed_leaves_it(home: Home, project: Path, begun: str):
    before, held = of_git(project), PausedCommand()
    commands = (f"git status; echo lost > lost.txt; {held.line}", "echo x > made.txt; touch done.txt")
    with ScriptedServer([call("run_command", command=one) for one in commands], then=say("so")) as server:
        with home.start(*headless(server), cwd=project) as running:
            held.wait()
            running.signal(signal.SIGKILL)
            running.finish()
        ran = home.run("resume", "--headless", "--json", cwd=project)
    ended(home, project, before, ran, begun)
