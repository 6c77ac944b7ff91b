"""A crash at each step of a file write, and while a journal is made."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from fakes.in_process.journals import make_journal
from fakes.killing.crashing_writes import NEW, OLD, SHORT, run
from fakes.project import make_project
from fakes.rundry import Home
from fakes.server import ScriptedServer
from fakes.turns import Turn

from rundry.agent.host.leftovers import Leftovers

KILLED = -9
AFTER = {"write": NEW, "create": NEW, "cut": SHORT, "linked": NEW, "linked cut": SHORT, "remove": None}
WAYS = {"linked": "write", "linked cut": "cut"}


def lay(root: Path, what: str) -> Path:
    for name in ("place", "runs"):
        (root / name).mkdir(parents=True)
    file = root / "place" / "file.txt"
    if what != "create":
        file.write_bytes(OLD)
    if what.startswith("linked"):
        os.link(file, root / "place" / "other.txt")
    return file


def content(file: Path) -> bytes | None:
    return file.read_bytes() if file.exists() else None


@pytest.mark.parametrize("what", AFTER)
def test_a_crash_at_any_step_of_a_write_leaves_the_old_or_the_new_content_and_nothing_else(what: str, tmp_path: Path):
    whole = tmp_path / "whole"
    file = lay(whole, what)
    before = content(file)
    assert run(WAYS.get(what, what), whole) == 0
    assert content(file) == AFTER[what]
    points = (whole / "points").read_text().splitlines()
    assert len(points) >= 3
    for at in range(1, len(points) + 1):
        root = tmp_path / str(at)
        file = lay(root, what)
        assert run(WAYS.get(what, what), root, at) == KILLED
        assert Leftovers(root / "runs" / "a.db").sweep() == []
        assert content(file) in (before, AFTER[what]), points[at - 1]
        there = sorted(path.name for path in file.parent.iterdir())
        assert there in ([[], ["file.txt"]] if not what.startswith("linked") else [["file.txt", "other.txt"]])
        shutil.rmtree(root)


def test_what_someone_else_wrote_during_a_write_is_kept_and_named(tmp_path: Path):
    file = lay(tmp_path, "write")
    whole = tmp_path / "whole"
    lay(whole, "write")
    assert run("write", whole) == 0
    at = (whole / "points").read_text().splitlines().index("write: exchanged") + 1
    assert run("write", tmp_path, at) == KILLED
    (aside,) = file.parent.glob(".rundry-*.tmp")
    aside.write_bytes(b"someone's\n")
    (said,) = Leftovers(tmp_path / "runs" / "a.db").sweep()
    (kept,) = file.parent.glob("file.txt.kept-*")
    assert kept.read_bytes() == b"someone's\n" and kept.name in said
    assert file.read_bytes() == NEW


def test_a_crash_while_a_journal_is_made_leaves_nothing_once_another_is_made(tmp_path: Path):
    whole = tmp_path / "whole"
    lay(whole, "create")
    assert run("journal", whole) == 0
    points = (whole / "points").read_text().splitlines()
    for at in range(1, len(points) + 1):
        root = tmp_path / str(at)
        lay(root, "create")
        assert run("journal", root, at) == KILLED
        make_journal(root / "runs" / "other.db").close()
        there = {path.name for path in (root / "runs").iterdir()} - {"other.db", "other.db.tail"}
        assert there in (set(), {"new.db"}, {"new.db", "new.db-wal", "new.db-shm"}), points[at - 1]


@pytest.mark.parametrize(
    "point", ["journal: empty", "fork: begun", "end: record named", "journal: whole, without its name"]
)
def test_a_fork_that_crashes_leaves_no_half_of_a_run(home: Home, tmp_path: Path, point: str):
    project = tmp_path / "project"
    project.mkdir()
    make_project(project)
    with ScriptedServer([Turn(text="looked")]) as server:
        home.run("run", "look", "--headless", "--model", "fake", "--api-base", server.base_url, cwd=project)
    first = home.journals()
    log = tmp_path / "points"
    env = {"RUNDRY_CRASH_AT": "0", "RUNDRY_CRASH_LOG": str(log)}
    counted = home.run("fork", first[0].stem, cwd=project, env=env)
    assert counted.exit_code == 0, counted
    points = log.read_text().splitlines()
    assert point in points, points
    before = home.journals()
    crashed = home.run("fork", first[0].stem, cwd=project, env={"RUNDRY_CRASH_AT": str(points.index(point) + 1)})
    assert crashed.exit_code == KILLED, crashed
    assert home.journals() == before, "it has no name yet"
    assert home.run("fork", first[0].stem, cwd=project).exit_code == 0
    there = [path.name for path in home.runs.iterdir()]
    assert len(home.journals()) == len(before) + 1
    assert not [name for name in there if "making" in name], there
    assert {Path(name).stem for name in there if name.endswith(".snapshots")} <= {path.stem for path in home.journals()}
