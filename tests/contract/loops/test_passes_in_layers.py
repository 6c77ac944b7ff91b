"""Passes of interval and improve runs cannot touch what they did not write, in layers and in copies (decision 0039)."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from fakes.in_process.simulated_hours import subjects
from fakes.project import git
from fakes.rundry import Home, Ran
from fakes.server import ScriptedServer
from fakes.turns import Turn, call, edit, finish, say
from fakes.users_work import all_of, work_as_user

from rundry.agent.journal.journal import Journal

LINES = "".join(f"line {n}\n" for n in range(1, 21))
NOTE = call("write_file", path="NOTES.md", content="# Notes\n\nLooked.\n")
MESS = call("run_command", command="echo x >> NOTES.md; echo built > made.txt; rm calc/core.py; git add -A; git stash")
HELD = Turn(text="Now I think about the rest of it", hold_after=3)
DONE, LOOKED = finish("looked", "NOTES.md"), finish("looked", "long.txt")
LOOPS = {
    "interval": ["--every", "1h", "--until", "grep -q done NOTES.md", "--scope", "NOTES.md"],
    "improve": ["--score", "wc -c < NOTES.md", "--scope", "NOTES.md", "--goal", "min", "--patience", "1"],
    "improve, not committed": [
        *("--score", "wc -c < NOTES.md", "--scope", "NOTES.md", "--goal", "min", "--patience", "1"),
        *("--protected", "work"),
    ],
}


@pytest.fixture
def home(home_on_machines: Home) -> Home:
    """Where layers work, and where copies take their place."""
    return home_on_machines


def argv_of(server: ScriptedServer, steps: int, *argv: str) -> list[str]:
    base = ["--headless", "--json", "--gate", "auto", "--model", "fake", "--api-base", server.base_url]
    return ["run", "look after the notes", *base, "--steps", str(steps), *argv]


TREES = [*((loop, False) for loop in LOOPS), ("interval", True)]
"""Each loop, and whether all is committed before the run: only then did the code before layers begin a pass."""


def make_dirty(project: Path, *, is_clean: bool = False) -> None:
    """Uncommitted lines, staged and untracked files of a user before the run. `is_clean`: all is committed."""
    (project / "long.txt").write_text(LINES)
    git(project, "add", "long.txt")
    git(project, "commit", "-qm", "Long")
    (project / "long.txt").write_text(LINES + "the user's last line\n")
    (project / "staged.txt").write_text("staged\n")
    git(project, "add", "staged.txt")
    (project / "staged.txt").write_text("staged\nand edited since\n")
    (project / "mine.txt").write_text("untracked\n")
    (project / "link").symlink_to("mine.txt")
    if is_clean:
        git(project, "add", "-A")
        git(project, "commit", "-qm", "Clean")


def played(
    home: Home,
    project: Path,
    server: ScriptedServer,
    user: Callable[[Path], object],
    steps: int,
    *argv: str,
) -> Ran:
    """Run to the end; the user works while the model holds its answer."""
    with home.start(*argv_of(server, steps, *argv), cwd=project) as running:
        running.wait_event("file_changed")
        running.wait_event("text_arrived")
        user(project)
        server.release()
        return running.finish()


def seen(project: Path) -> dict[str, str]:
    """All that a user can see, but the objects of git."""
    return {name: value for name, value in all_of(project).items() if name != "git objects"}


@pytest.mark.parametrize(("loop", "is_clean"), TREES)
def test_a_red_pass_leaves_all_that_the_user_has_and_does_meanwhile(
    home: Home, project: Path, loop: str, *, is_clean: bool
):
    make_dirty(project, is_clean=is_clean)
    during: list[dict[str, str]] = []

    def work(project: Path) -> None:
        work_as_user(project)
        during.append(seen(project))

    with ScriptedServer([NOTE, MESS, HELD, say("so")], then=say("nothing")) as server:
        ran = played(home, project, server, work, 4, *LOOPS[loop])
    assert seen(project) == during[0], ran.story()
    assert ran.of("pass_finished"), ran.story()
    assert ran.of("pass_finished")[0]["verdict"] in ("reverted", "unmeasured"), ran.story()
    # where all was committed, the stash of the pass has all that it changed
    assert ran.of("patch_kept")[0]["files"] or is_clean, ran.story()


def test_a_green_pass_commits_its_own_lines_and_keeps_the_index_and_the_lines_of_the_user(home: Home, project: Path):
    make_dirty(project)
    write = edit("long.txt", "line 2\n", "line two\n")
    with ScriptedServer([write, HELD, LOOKED], then=say("nothing")) as server:
        before = git(project, "diff", "--cached")
        ran = played(home, project, server, lambda _: (project / "later.txt").write_text("x\n"), 3, "--every", "1h")
    finished = ran.of("pass_finished")[0]
    assert finished["verdict"] == "kept", ran.story()
    assert finished["commit"] == git(project, "rev-parse", "HEAD").strip()
    changed = git(project, "show", "--format=", "HEAD").splitlines()
    assert [line for line in changed if line[:1] in "+-" and line[:3] not in ("+++", "---")] == ["-line 2", "+line two"]
    assert git(project, "show", "--format=", "--name-only", "HEAD").split() == ["long.txt"]
    assert git(project, "diff", "--cached") == before, "what the user staged stays staged, and nothing else is"
    assert (project / "long.txt").read_text() == LINES.replace("line 2\n", "line two\n") + "the user's last line\n"
    assert git(project, "diff", "--", "long.txt").count("\n+the user's last line") == 1
    untracked = git(project, "status", "--porcelain").splitlines()
    assert {"?? mine.txt", "?? later.txt", "?? link"} <= {*untracked}, untracked


def test_a_green_pass_where_the_user_has_uncommitted_lines_is_handed_over_with_a_patch(home: Home, project: Path):
    make_dirty(project)
    write = edit("long.txt", "the user's last line", "their last line")
    with ScriptedServer([write, LOOKED], then=say("nothing")) as server:
        before = seen(project)
        ran = home.run(*argv_of(server, 2, "--every", "1h"), cwd=project)
    assert (ran.exit_code, ran.outcome["reason"]) == (5, "handoff"), ran.story()
    assert "long.txt" in ran.outcome["detail"] and seen(project) == before
    finished = ran.of("pass_finished")[0]
    assert (finished["verdict"], finished["dropped"]) == ("undecided", True)
    (project / "kept.patch").write_bytes(patch_of(home, ran))
    git(project, "apply", "kept.patch")
    assert (project / "long.txt").read_text().endswith("their last line\n")


def patch_of(home: Home, ran: Ran) -> bytes:
    journal = Journal.open_for_reading(home.journals()[-1])
    try:
        return journal.blobs.load(ran.of("patch_kept")[0]["patch"])
    finally:
        journal.close()


def killed(home: Home, project: Path, server: ScriptedServer, steps: int, *argv: str) -> None:
    with home.start(*argv_of(server, steps, *argv), cwd=project) as running:
        running.wait_event("file_changed")
        running.wait_event("text_arrived")
        running.signal(signal.SIGKILL)
        running.finish()


def work_after_the_kill(project: Path) -> None:
    """Change each kind of thing that a roll-back could take back, the files of the pass included."""
    work_as_user(project)
    (project / "NOTES.md").write_text("# Notes\n\nof the user\n")
    (project / "calc" / "core.py").unlink()
    (project / "mine.txt").chmod(0o755)
    (project / "link").unlink()
    (project / "link").symlink_to("staged.txt")
    (project / "staged.txt").unlink()


@pytest.mark.parametrize(("loop", "is_clean"), TREES)
def test_a_resume_after_a_kill_changes_nothing_that_the_run_did_not_change(
    home: Home, project: Path, loop: str, *, is_clean: bool
):
    make_dirty(project, is_clean=is_clean)
    with ScriptedServer([NOTE, MESS, HELD, say("so")], then=say("nothing")) as server:
        killed(home, project, server, 4, *LOOPS[loop])
        work_after_the_kill(project)
        before = seen(project)
        ran = home.run("resume", "--headless", "--json", cwd=project, timeout=40)
    assert seen(project) == before, ran.story()
    assert ran.of("pass_finished")[0]["verdict"] in ("reverted", "unmeasured"), ran.story()


def test_a_pass_that_was_killed_continues_with_its_files_and_is_committed(home: Home, project: Path):
    make_dirty(project)
    argv = [
        "--every",
        "1h",
        "--until",
        "grep -q Looked NOTES.md && grep -q more extra.txt",
        "--scope",
        "NOTES.md",
        "--scope",
        "extra.txt",
    ]
    more = call("write_file", path="extra.txt", content="more\n")
    with ScriptedServer([NOTE, HELD, more, DONE], then=say("nothing")) as server:
        killed(home, project, server, 3, *argv)
        assert "Looked" not in (project / "NOTES.md").read_text(), "nothing of it is in the workspace"
        work_as_user(project)
        staged = git(project, "diff", "--cached")
        ran = home.run("resume", "--headless", "--json", cwd=project, timeout=40)
    assert ran.of("pass_finished")[0]["verdict"] == "kept", ran.story()
    assert git(project, "show", "--format=", "--name-only", "HEAD").split() == ["NOTES.md", "extra.txt"]
    assert subjects(project)[1] == "The user's commit" and git(project, "diff", "--cached") == staged


def test_the_patch_of_a_red_pass_has_modes_and_types_and_applies_with_plain_git(home: Home, project: Path):
    (project / "tool.sh").write_text("#!/bin/sh\n")
    (project / "to-link").write_text("a file\n")
    (project / "was-link").symlink_to("tool.sh")
    git(project, "add", ".")
    git(project, "commit", "-qm", "Modes")
    change = (
        "chmod +x tool.sh; rm to-link was-link; ln -s tool.sh to-link; echo a file > was-link; "
        "printf 'a\\0b' > 'with space'; mkdir deep; echo new > deep/new.txt"
    )
    with ScriptedServer([call("run_command", command=change), say("so"), say("so")], then=say("nothing")) as server:
        ran = home.run(*argv_of(server, 3, *LOOPS["interval"]), cwd=project)
    assert ran.of("pass_finished")[0]["verdict"] == "reverted", ran.story()
    assert git(project, "status", "--porcelain") == ""
    done = subprocess.run(["git", "apply", "--index", "-"], cwd=project, input=patch_of(home, ran), capture_output=True)
    assert done.returncode == 0, done.stderr
    assert (project / "tool.sh").stat().st_mode & stat.S_IXUSR
    assert os.readlink(project / "to-link") == "tool.sh" and not (project / "was-link").is_symlink()
    assert (project / "with space").read_bytes() == b"a\0b" and (project / "deep/new.txt").read_text() == "new\n"


def test_a_change_of_mode_alone_is_a_patch(home: Home, project: Path):
    with ScriptedServer(
        [call("run_command", command="chmod +x NOTES.md"), say("so"), say("so")], then=say("nothing")
    ) as server:
        ran = home.run(*argv_of(server, 3, *LOOPS["interval"]), cwd=project)
    git_apply = subprocess.run(["git", "apply", "-"], cwd=project, input=patch_of(home, ran), capture_output=True)
    assert git_apply.returncode == 0, git_apply.stderr
    assert (project / "NOTES.md").stat().st_mode & stat.S_IXUSR
