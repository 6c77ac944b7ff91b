"""A roll-back of a pass that is killed at any of its git calls is finished by a resume."""

from __future__ import annotations

import signal
from pathlib import Path

from fakes.hours import repository_of, tree_of
from fakes.killing_git import KillingGit
from fakes.project import changed_files, git
from fakes.rundry import Home, Ran
from fakes.server import ScriptedServer
from fakes.turns import call, finish

WHO = "export GIT_AUTHOR_NAME=m GIT_AUTHOR_EMAIL=m@x GIT_COMMITTER_NAME=m GIT_COMMITTER_EMAIL=m@x; "
MOVES = (
    "git stash drop -q; git switch -qc other; echo broken >> NOTES.md; git commit -qam broken; git tag -m t t1; "
    "git branch -m work renamed; git config x.y z; echo more > staged.txt; git add staged.txt"
)
TURNS = [call("run_command", command=WHO + MOVES), finish("did it", "NOTES.md")]


def prepared(project: Path) -> dict[str, str]:
    (project / "NOTES.md").write_text("older\n")
    git(project, "stash", "push", "-q", "-m", "mine")
    return repository_of(project)


def red_pass(home: Home, server: ScriptedServer, project: Path, env: dict[str, str]) -> Ran:
    argv = ["--model", "fake", "--api-base", server.base_url, "--gate", "auto", "--headless", "--json"]
    limits = ["--every", "5m", "--steps", "2", "--until", "! grep -q broken NOTES.md"]
    return home.run("run", "look after the notes", *argv, *limits, cwd=project, env=env)


def test_a_roll_back_that_is_killed_after_each_of_its_changes_is_finished_by_resumes(
    home: Home, project: Path, tmp_path: Path
):
    before, files = prepared(project), tree_of(project)
    killing, path = KillingGit(tmp_path / "bin"), home.env["PATH"]
    changes: list[str] = []
    with ScriptedServer(TURNS) as server:
        ran = red_pass(home, server, project, killing.env(path, is_armed=True))
        while ran.exit_code == -signal.SIGKILL and len(changes) < 20:
            changes.append(killing.calls[-1])
            argv = ["resume", "--headless", "--json"]
            ran = home.run(*argv, cwd=project, env=killing.env(path, is_armed=True))
    assert len(changes) >= 6 and changes[0].startswith("symbolic-ref -m"), changes
    assert ran.exit_code == 3, ran
    assert [(event["verdict"], event["left"]) for event in ran.of("pass_finished")] == [("reverted", [])]
    assert repository_of(project) == before and tree_of(project) == files, changes
    assert changed_files(project) == []
