"""A roll-back of a pass that is killed at any of its git calls is finished by a resume.

The suite kills at a seeded sample of the calls; with RUNDRY_EVERY_KILL=1 in the environment, at each of them.
"""

from __future__ import annotations

import os
import random
import signal
from pathlib import Path

import pytest
from attacks.honesty.machine import NONE, Machine
from fakes.in_process.hours import make_repository, repository_of, tree_of
from fakes.killing.killing_git import CHANGE, KillingGit
from fakes.project import changed_files, git, make_project
from fakes.rundry import Home
from fakes.server import ScriptedServer
from fakes.turns import call, finish
from sampling import sampled

WHO = "export GIT_AUTHOR_NAME=m GIT_AUTHOR_EMAIL=m@x GIT_COMMITTER_NAME=m GIT_COMMITTER_EMAIL=m@x; "
IN_LIB = "cd lib; git switch -qc inside; echo broken > lib.txt; git commit -qam broken; git stash drop -q; cd ..; "
MOVES = (
    "git stash drop -q; git switch -qc other; echo broken >> NOTES.md; git commit -qam broken; git tag -m t t1; "
    "git branch -m work renamed; git config x.y z; echo more > staged.txt; git add staged.txt"
)
CHANGES = ("symbolic-ref -m", "update-ref", "stash store")
"""Calls of a roll-back that change something."""
pytestmark = pytest.mark.timeout(0 if os.environ.get("RUNDRY_EVERY_KILL") == "1" else 900)

SEED, POINTS, SHARES = 1, 2, 2
"""Of the sample: its seed, how many points each share of it has, and the shares, which run in parallel."""


def add_submodule(project: Path, origin: Path) -> None:
    origin.mkdir()
    (origin / "lib.txt").write_text("1\n")
    make_repository(origin, "trunk")
    git(project, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(origin), "lib")
    git(project, "commit", "-qm", "With lib")
    (project / "lib" / "lib.txt").write_text("older\n")
    git(project / "lib", "stash", "push", "-q", "-m", "mine")


def prepared(project: Path) -> dict[str, str]:
    (project / "NOTES.md").write_text("older\n")
    git(project, "stash", "push", "-q", "-m", "mine")
    return repository_of(project)


def argv(server: ScriptedServer) -> list[str]:
    """Of a run whose only pass is red."""
    words = ["run", "look after the notes", "--model", "fake", "--api-base", server.base_url, "--gate", "auto"]
    limits = ["--every", "5m", "--steps", "2", "--until", "! grep -q broken NOTES.md"]
    return [*words, *limits, "--headless", "--json"]


def turns(moves: str):
    return [call("run_command", command=WHO + moves), finish("did it", "NOTES.md")]


@pytest.mark.long
def test_a_roll_back_that_is_killed_after_each_of_its_changes_is_finished_by_resumes(
    home: Home, project: Path, tmp_path: Path
):
    before, files = prepared(project), tree_of(project)
    killing, path = KillingGit(tmp_path / "bin"), home.env["PATH"]
    changes: list[str] = []
    with ScriptedServer(turns(MOVES)) as server:
        ran = home.run(*argv(server), cwd=project, env=killing.env(path, at=CHANGE))
        while ran.exit_code == -signal.SIGKILL and len(changes) < 20:
            changes.append(killing.calls[-1])
            ran = home.run("resume", "--headless", "--json", cwd=project, env=killing.env(path, at=CHANGE))
    assert len(changes) >= 6 and changes[0].startswith("symbolic-ref -m"), changes
    assert ran.exit_code == 3, ran
    assert [(event["verdict"], event["left"]) for event in ran.of("pass_finished")] == [("reverted", [])]
    assert repository_of(project) == before and tree_of(project) == files, changes
    assert changed_files(project) == []


def killed_at(place: Path, at: str | None) -> list[str]:
    """Roll back a pass in a project of its own, killed there, and resume; return the calls of the roll-back.

    Without a sandbox: there the model can move a submodule, too.
    """
    place.mkdir()
    home, project, killing = Home(place), make_project(place / "project"), KillingGit(place / "bin")
    machine, path = Machine(NONE), home.env["PATH"]
    add_submodule(project, place / "origin")
    before, files, inside = prepared(project), tree_of(project), repository_of(project / "lib")
    with ScriptedServer(turns(IN_LIB + MOVES)) as server:
        home.env |= killing.env(path, at=at)
        ran = machine.run(home, *argv(server), cwd=project)
        calls = killing.of_roll_back
        assert (ran.exit_code == -signal.SIGKILL) == (at is not None), f"{at}: {ran}"
        if at is not None:
            home.env |= killing.env(path, at=None)
            ran = machine.run(home, "resume", "--headless", "--json", cwd=project)
    home.end_runners()
    where = f"killed {at}: {calls[-1]}"
    assert ran.exit_code == 3, f"{where}: {ran}"
    finished = [(event["verdict"], event["left"]) for event in ran.of("pass_finished")]
    assert finished == [("reverted", [])], where
    assert repository_of(project) == before, where
    assert repository_of(project / "lib") == inside, where
    assert tree_of(project) == files and changed_files(project) == [], where
    return calls


def points_of(calls: list[str]) -> list[str]:
    """Before each call, and right after each that changes something: after the others nothing is different."""
    return [
        f"{when} {number}"
        for number, line in enumerate(calls, 1)
        for when in ("before", "after")
        if when == "before" or line.startswith(CHANGES)
    ]


@pytest.mark.long
@pytest.mark.parametrize("share", sampled(range(SHARES), 1))
def test_a_roll_back_that_is_killed_at_any_git_call_is_finished_by_a_resume(tmp_path: Path, share: int):
    calls = killed_at(tmp_path / "whole", None)
    assert len([line for line in calls if line.startswith(CHANGES)]) == 9, calls
    points = points_of(calls)
    if os.environ.get("RUNDRY_EVERY_KILL") != "1":
        points = random.Random(SEED).sample(points, POINTS * SHARES)
    for number, at in enumerate(points[share::SHARES]):
        killed_at(tmp_path / str(number), at)
