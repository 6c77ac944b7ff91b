"""`rundry find --recipe migrate --executor`: the checks run on real clusters of several processes."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from fakes.project import git
from fakes.rundry import Home, Ran
from fakes.server import Rule, ScriptedServer
from fakes.turns import edit

from .conftest import states_of
from .dask_cluster import DaskCluster, wait_for

NAMES = ("a", "b", "c")
CHECK = """#!/bin/sh
echo "{mark}" >&2
test ! -e .env && test ! -e ignored.txt && test ! -e .git && grep -q new "$1"
"""


@pytest.fixture
def migration(tmp_path: Path) -> Path:
    """Three files that fail their check."""
    folder = tmp_path / "migration"
    (folder / "sub").mkdir(parents=True)
    for name in NAMES:
        (folder / "sub" / f"{name}.txt").write_text("old\n")
    (folder / ".env").write_text("TOKEN=secret\n")
    (folder / ".gitignore").write_text("ignored.txt\n")
    (folder / "ignored.txt").write_text("ignored\n")
    git(folder, "init", "-q")
    return folder


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    rules = [Rule(f"The file: sub/{name}.txt", edit(f"sub/{name}.txt", "old", "new")) for name in NAMES]
    with ScriptedServer(rules=rules) as made:
        yield made


@pytest.fixture
def there(tmp_path: Path, home: Home) -> Iterator[DaskCluster]:
    """A cluster whose workers have another program `check-file` than the runner."""
    for name in ("here", "there"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "check-file").write_text(CHECK.format(mark=f"checked {name}"))
        (tmp_path / name / "check-file").chmod(0o755)
    home.env["PATH"] = f"{tmp_path / 'here'}{os.pathsep}{home.env['PATH']}"
    with DaskCluster(tmp_path, env={"PATH": f"{tmp_path / 'there'}{os.pathsep}{os.environ['PATH']}"}) as made:
        yield made


def migrate(home: Home, place: Path, server: ScriptedServer, check: str, *more: str) -> Ran:
    return home.run(*argv_of(server, check, *more), cwd=place)


def argv_of(server: ScriptedServer, check: str, *more: str) -> list[str]:
    recipe = ["find", "--recipe", "migrate", "--check", check, "--gate", "edits", "--headless", "--json"]
    return [*recipe, "--model", "fake", "--api-base", server.base_url, *more, "sub/*.txt"]


def contents(place: Path) -> set[str]:
    return {(place / "sub" / f"{name}.txt").read_text() for name in NAMES}


@pytest.mark.long
def test_checks_run_on_the_workers_of_a_local_cluster_which_share_the_workspace(
    home: Home, migration: Path, server: ScriptedServer
):
    for name in NAMES[1:]:
        (migration / "sub" / f"{name}.txt").unlink()
    ran = migrate(home, migration, server, "sleep 1.2; grep -q new {file}", "--executor", "dask:1x2")
    assert ran.exit_code == 0, ran
    assert (migration / "sub" / "a.txt").read_text() == "new\n"
    doing = [worker["doing"] for event in ran.of("workers_seen") for worker in event["workers"]]
    assert any(one.endswith(".txt") and "grep" in one for one in doing), doing
    assert not list(migration.glob("**/*.tmp"))


def test_checks_run_on_copies_of_the_files_that_are_sent_to_the_workers(
    home: Home, migration: Path, server: ScriptedServer, there: DaskCluster
):
    ran = migrate(home, migration, server, "check-file {file}", "--executor", there.executor)
    assert ran.exit_code == 0, ran
    assert contents(migration) == {"new\n"}
    assert set(states_of(home.journals()[0]).values()) == {"done"}
    checks = ran.of("check_finished")
    assert len(checks) >= 2 * len(NAMES)
    assert {check["output"].strip() for check in checks} == {"checked there"}


@pytest.mark.long
def test_the_output_of_a_check_names_the_folder_of_its_work_and_a_check_leaves_nothing_in_the_workspace(
    home: Home, migration: Path, server: ScriptedServer, there: DaskCluster
):
    check = "pwd; touch made-by-check; chmod 000 sub; check-file {file}; chmod 755 sub; check-file {file}"
    ran = migrate(home, migration, server, check, "--executor", there.executor)
    assert ran.exit_code == 0, ran
    shown = {(check["work"][:5], check["output"].splitlines()[0]) for check in ran.of("check_finished")}
    assert {folder for work, folder in shown if work == "item:"} == {str(migration)}
    copies = {Path(folder) for work, folder in shown if work == "tree:"}
    assert len(copies) == len(NAMES), "the model works at an item in a copy, whose path its commands see, too"
    assert all(migration.parent / "runs/layers" in copy.parents for copy in copies)
    assert not (migration / "made-by-check").exists()


@pytest.mark.long
def test_a_worker_that_dies_during_a_check_costs_no_item(
    home: Home, migration: Path, server: ScriptedServer, there: DaskCluster
):
    check = "sleep 1.5; check-file {file}"
    argv = argv_of(server, check, "--executor", there.executor)
    with home.start(*argv, cwd=migration) as running:
        running.wait_event("workers_seen")
        there.kill_worker(0)
        running.wait_event("item_queued")
        there.kill_worker(1)
        ran = running.finish()
    assert ran.exit_code == 0, ran
    assert contents(migration) == {"new\n"}
    assert not ran.of("item_failed")
    assert set(states_of(home.journals()[0]).values()) == {"done"}


@pytest.mark.long
def test_worktrees_are_sent_too(home: Home, migration: Path, server: ScriptedServer, there: DaskCluster):
    git(migration, "add", ".")
    git(migration, "commit", "-qm", "start")
    more = ["--parallel", "2", "--executor", there.executor]
    ran = migrate(home, migration, server, "check-file {file}", *more)
    assert ran.exit_code == 0, ran
    assert contents(migration) == {"new\n"}
    assert {check["output"].strip() for check in ran.of("check_finished")} == {"checked there"}


def test_a_worker_without_the_runners_sandbox_is_refused_in_one_line(
    home: Home, migration: Path, server: ScriptedServer, tmp_path: Path
):
    programs = tmp_path / "few"
    programs.mkdir()
    for name in ("bash", "sh", "true", "grep"):
        (programs / name).symlink_to(f"/usr/bin/{name}")
    with DaskCluster(tmp_path, workers=1, env={"PATH": str(programs)}) as weak:
        wait_for(lambda: weak.connected() == 1)
        ran = migrate(home, migration, server, "grep -q new {file}", "--executor", weak.executor)
    assert ran.exit_code == 2, ran
    assert len(ran.stderr.strip().splitlines()) == 1, ran
    assert f"--executor {weak.executor}: the worker tcp://127.0.0.1:" in ran.stderr
    assert "sandbox" in ran.stderr
    assert not home.journals()


def test_a_workspace_that_is_too_large_to_send_is_refused_in_one_line(
    home: Home, migration: Path, server: ScriptedServer, cluster: DaskCluster
):
    with (migration / "large").open("wb") as file:
        file.truncate(300_000_000)
    ran = migrate(home, migration, server, "true", "--executor", cluster.executor)
    assert ran.exit_code == 2, ran
    assert len(ran.stderr.strip().splitlines()) == 1, ran
    assert "256 MB" in ran.stderr
    assert not home.journals()
