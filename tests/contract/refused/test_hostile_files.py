"""Files that would hold or exhaust a reader: in the workspace before a run, and made by the model's commands."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from fakes.rundry import Home, Ran
from fakes.server import ScriptedServer
from fakes.turns import Call, Turn, say

NAMES = (".gitignore", ".rundry.toml", "AGENTS.md", "pyproject.toml", "conftest.py", ".env")
SECONDS = 150
DEEP = 1_500


def fifos(folder: Path) -> None:
    for name in NAMES:
        (folder / name).unlink(missing_ok=True)
        os.mkfifo(folder / name)


def devices(folder: Path) -> None:
    for name in NAMES:
        (folder / name).unlink(missing_ok=True)
        (folder / name).symlink_to("/dev/zero")


def nested(folder: Path) -> None:
    here = os.open(folder, os.O_RDONLY)
    for _ in range(DEEP):
        os.mkdir("d", dir_fd=here)
        below = os.open("d", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    os.close(os.open(".gitignore", os.O_CREAT | os.O_WRONLY, dir_fd=here))
    os.close(here)


@pytest.fixture
def emptied(project: Path) -> Iterator[Path]:
    """The project; afterwards the deep folders are removed, which pytest itself cannot."""
    yield project
    folder = project / "d"
    if not folder.exists():
        return
    os.chdir(folder)
    for _ in range(DEEP - 1):
        os.chdir("d")
    Path(".gitignore").unlink(missing_ok=True)
    for _ in range(DEEP - 1):
        os.chdir("..")
        os.rmdir("d")
    os.chdir(project.parent)
    folder.rmdir()


def run(home: Home, project: Path, *turns: Turn) -> Ran:
    with ScriptedServer(list(turns), then=say("I give up")) as server:
        argv = ["--model", "fake", "--api-base", server.base_url, "--gate", "auto", "--steps", "4", "--trust"]
        check = ["--until", "test -e done.txt"]
        return home.run("run", "fix", "--headless", "--json", *check, *argv, cwd=project, timeout=SECONDS)


ALL = [fifos, devices, nested]


@pytest.mark.parametrize("prepare", ALL)
def test_a_run_starts_and_ends_among_hostile_files(home: Home, emptied: Path, prepare: Callable[[Path], None]):
    prepare(emptied)
    turns = [
        Turn(calls=(Call("list_files", {}), Call("search", {"pattern": "needle"}))),
        Turn(calls=(Call("run_command", {"command": "touch done.txt"}),)),
    ]
    ran = run(home, emptied, *turns)
    assert "Traceback" not in ran.stderr, ran
    if ran.exit_code == 2:  # a config that cannot be read is refused in one line
        assert "not a regular file" in ran.stderr, ran
    else:
        assert ran.outcome["reason"] == "done", ran


COMMANDS = {
    "fifo": "rm -f .gitignore; mkfifo .gitignore; mkdir -p src; mkfifo src/.gitignore AGENTS.md; touch done.txt",
    "device": "rm -f .gitignore; ln -s /dev/zero .gitignore; mkdir -p src; ln -s /dev/urandom src/x.py; touch done.txt",
    "nested": f"python3 -c \"import os; [(os.mkdir('d'), os.chdir('d')) for _ in range({DEEP})]\"; touch done.txt",
}


@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS)
def test_a_run_ends_although_a_command_made_hostile_files(home: Home, emptied: Path, command: str):
    again = Turn(calls=(Call("list_files", {}), Call("search", {"pattern": "needle"})))
    ran = run(home, emptied, Turn(calls=(Call("run_command", {"command": command}),)), again)
    assert "Traceback" not in ran.stderr, ran
    assert ran.exit_code in (0, 3, 4, 5), ran
