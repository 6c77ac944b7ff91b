"""Journals that were copied, with or without the files next to them, and journals on a mount that is only read."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from fakes.killing.killed_journals import Killed
from fakes.project import CHECK, FIX_BOTH, FIX_MEAN
from fakes.rundry import Home
from fakes.server import ScriptedServer

LIMIT = ["--tokens", "100000"]


@pytest.fixture
def ended(home: Home, project: Path) -> Path:
    """The journal of a run that is done."""
    with ScriptedServer([FIX_BOTH]) as server:
        argv = ["run", "fix", "--headless", "--gate", "auto", "--until", CHECK, "--model", "fake"]
        ran = home.run(*argv, "--api-base", server.base_url, cwd=project)
    assert ran.exit_code == 0, ran
    (path,) = home.journals()
    return path


def cut(path: Path, count: int) -> None:
    """Remove the newest events from the file."""
    with closing(sqlite3.connect(path)) as raw:
        raw.execute("DELETE FROM events WHERE seq > (SELECT max(seq) FROM events) - ?", (count,))
        raw.commit()


def continued(killed: Killed, journal: Path) -> bool:
    """Whether that copy of the killed run is resumed to its end."""
    with ScriptedServer([FIX_MEAN]) as server:
        model = ["--model", "fake", "--api-base", server.base_url]
        return (
            killed.home.run("resume", "--trust", str(journal), "--headless", *model, cwd=killed.project).exit_code == 0
        )


@pytest.mark.parametrize("events_cut", [0, 1, 10])
def test_a_journal_without_its_record_opens_to_read_and_is_continued_only_by_a_decision(
    home: Home, project: Path, ended: Path, events_cut: int
):
    ended.with_name(ended.name + ".tail").unlink()
    cut(ended, events_cut)
    checked = home.run("check", ended.stem, cwd=project)
    assert checked.exit_code != 0 and "it is unknown whether later events are" in checked.stdout, checked
    assert "sound" not in checked.stdout
    assert home.run("export", ended.stem, "--format", "md", cwd=project).exit_code == 0
    refused = home.run("resume", ended.stem, "--headless", cwd=project)
    assert refused.exit_code == 2 and "may be incomplete" in refused.stderr and "--damaged" in refused.stderr
    assert ("--tokens N" in refused.stderr) == bool(events_cut), "the end of the run holds the whole spend"
    limit = LIMIT if events_cut else []
    with ScriptedServer([FIX_BOTH]):
        resumed = home.run("resume", ended.stem, "--damaged", *limit, "--headless", "--steps", "9", cwd=project)
    assert "may be incomplete" not in resumed.stderr and "Traceback" not in resumed.stderr, resumed
    assert resumed.exit_code != 2 or not events_cut, resumed


def test_with_its_record_a_cut_journal_names_how_many_events_are_missing(home: Home, project: Path, ended: Path):
    cut(ended, 10)
    refused = home.run("resume", ended.stem, "--headless", cwd=project)
    assert refused.exit_code == 2 and "10 events are missing from the end" in refused.stderr


def test_a_journal_whose_log_was_merged_can_be_copied_and_resumed(killed: Killed, tmp_path: Path):
    with closing(sqlite3.connect(killed.journal)) as raw:  # not by a view, which would mark the file as closed
        raw.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    for name in (killed.journal.name, killed.journal.name + ".tail"):
        shutil.copy(killed.journal.with_name(name), folder)
    copy = folder / killed.journal.name
    assert "sound" in killed.home.run("check", str(copy), cwd=killed.project).stdout
    assert continued(killed, copy)


def test_a_backup_is_one_file_that_is_resumed_and_shows_when_its_end_was_cut(killed: Killed, tmp_path: Path):
    kept = tmp_path / "kept.db"
    assert killed.home.run("backup", killed.run_id, str(kept), cwd=killed.project).exit_code == 0
    damaged = Path(shutil.copy(kept, tmp_path / "damaged.db"))
    cut(damaged, 3)
    refused = killed.home.run("resume", "--trust", str(damaged), "--headless", cwd=killed.project)
    assert refused.exit_code == 2 and "3 events are missing from the end" in refused.stderr, refused
    assert continued(killed, kept)
    assert "sound" in killed.home.run("check", str(kept), cwd=killed.project).stdout


@pytest.fixture
def read_only(killed: Killed, tmp_path: Path) -> Iterator[Path]:
    """The folder of runs of a killed run, on a mount that is only read."""
    place = tmp_path / "mounted"
    place.mkdir()
    for argv in (["--bind", str(killed.journal.parent)], ["-o", "remount,bind,ro"]):
        mounted = subprocess.run(["mount", *argv, str(place)], capture_output=True, check=False, text=True)
        if mounted.returncode:
            pytest.skip(f"nothing can be mounted here: {mounted.stderr.strip()}")
    yield place
    subprocess.run(["umount", str(place)], check=True)


@pytest.mark.parametrize("index", [True, False], ids=["with -shm", "without -shm"])
def test_a_journal_on_a_read_only_mount_is_read_whole_and_refuses_to_be_written(
    killed: Killed, read_only: Path, tmp_path: Path, *, index: bool
):
    if not index:
        killed.journal.with_name(killed.journal.name + "-shm").unlink()
    events = killed.copy(tmp_path / "other").home.run("export", killed.run_id, cwd=killed.project)
    assert killed.log.stat().st_size and events.exit_code == 0
    before = sorted(os.listdir(read_only))
    env, temp = {"RUNDRY_RUNS_DIR": str(read_only), "TMPDIR": str(tmp_path / "temp")}, tmp_path / "temp"
    temp.mkdir()

    def on_mount(*argv: str) -> tuple[int, str]:
        ran = killed.home.run(*argv, cwd=killed.project, env=env)
        assert "Traceback" not in ran.stderr
        return ran.exit_code, ran.stdout or ran.stderr

    assert on_mount("export", killed.run_id) == (0, events.stdout)
    assert on_mount("runs")[1].count("interrupted") == 1
    assert "sound" in on_mount("check", killed.run_id)[1]
    assert on_mount("report")[0] == 0
    assert on_mount("watch", killed.run_id, "--plain")[0] == 0
    code, line = on_mount("resume", killed.run_id, "--headless")
    assert code == 2 and "Read-only file system" in line and "rundry backup" in line and line.count("\n") == 1
    assert on_mount("backup", killed.run_id, str(tmp_path / "kept.db"))[0] == 0
    assert sorted(os.listdir(read_only)) == before and list(temp.glob("rundry-journal-*")) == []
    assert continued(killed, tmp_path / "kept.db")
