"""The index next to the journals: what it spares, and that it is never believed over a journal."""

import os
import shutil
import time
from pathlib import Path

import pytest

from rundry.agent.journal.claim import claim
from rundry.agent.journal.journal import Journal
from rundry.agent.protocol import (
    Budget,
    Charged,
    LoopKind,
    ModelSpec,
    Reason,
    RunEnded,
    RunSpec,
    RunStarted,
    StepFinished,
    StepStarted,
)
from rundry.agent.state.reports.reporting import report
from rundry.agent.state.reports.run_index import list_runs

LONG_AGO = 100.0
"""Seconds: a journal that has just been written is not kept in the index."""


def make(folder: Path, run_id: str, *, steps: int = 2, ended: bool = True) -> Path:
    path = folder / f"{run_id}.db"
    spec = RunSpec(run_id=run_id, loop=LoopKind.GOAL, task="t", workspace="/w", model=ModelSpec(name="m"))
    journal = Journal.create(path, spec)
    journal.append(
        RunStarted(
            run_id=run_id, loop=spec.loop, task="t", workspace="/w", model="m", budget=Budget(), journal=str(path)
        )
    )
    add_steps(journal, 1, steps)
    if ended:
        journal.append(RunEnded(reason=Reason.DONE, detail="d", complete=True, exit_code=0, steps=steps, usd=0.0))
    journal.close()
    age(path)
    return path


def add_steps(journal: Journal, first: int, last: int) -> None:
    for number in range(first, last + 1):
        journal.append(StepStarted(number=number), step=number)
        journal.append(Charged(tokens_in=10, tokens_out=1, usd=0.5), step=number)
        journal.append(StepFinished(number=number, seconds=1.0), step=number)


def age(path: Path) -> None:
    for file in (path, path.with_name(path.name + "-wal")):
        if file.exists():
            before = file.stat().st_mtime - LONG_AGO
            os.utime(file, (before, before))


def index(folder: Path) -> Path:
    return folder / "runs.index"


def steps(folder: Path) -> list[int]:
    return [line.steps for line in list_runs(folder)]


def spend(folder: Path) -> list[tuple[int, float | None]]:
    return [(each.calls, each.usd) for each in report(folder, 10_000, time.time()).models]


def test_an_unchanged_journal_is_not_opened_again(tmp_path):
    path = make(tmp_path, "20260101-000000-aaaaa")
    assert steps(tmp_path) == [2] and spend(tmp_path) == [(2, 1.0)]
    status = path.stat()
    path.write_bytes(b"\0" * status.st_size)  # as long, of the same time, and no journal any more
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert steps(tmp_path) == [2] and spend(tmp_path) == [(2, 1.0)]


def test_a_run_that_continued_is_read_again_and_its_sums_continue_from_where_they_were(tmp_path):
    path = make(tmp_path, "20260101-000000-aaaaa", ended=False)
    assert steps(tmp_path) == [2] and spend(tmp_path) == [(2, 1.0)]
    journal = Journal.open(path)
    add_steps(journal, 3, 4)
    assert steps(tmp_path) == [4] and spend(tmp_path) == [(4, 2.0)]  # it stands in the write-ahead log
    journal.close()
    assert steps(tmp_path) == [4] and spend(tmp_path) == [(4, 2.0)]


def test_who_drives_a_run_is_never_taken_from_the_index(tmp_path):
    path = make(tmp_path, "20260101-000000-aaaaa", ended=False)
    assert [line.state for line in list_runs(tmp_path)] == ["interrupted"]
    with claim(path):
        assert [line.state for line in list_runs(tmp_path)] == ["running"]
    assert [line.state for line in list_runs(tmp_path)] == ["interrupted"]


def test_another_journal_under_the_same_name_is_read_again(tmp_path):
    path = make(tmp_path, "20260101-000000-aaaaa", steps=2)
    assert spend(tmp_path) == [(2, 1.0)]
    other = tmp_path / "other"
    other.mkdir()
    shutil.copy2(make(other, "20260101-000000-aaaaa", steps=5), path.with_suffix(".new"))
    path.with_suffix(".new").replace(path)
    assert steps(tmp_path) == [5] and spend(tmp_path) == [(5, 2.5)]


def test_a_deleted_run_is_forgotten_and_a_moved_folder_still_says_where_its_runs_are(tmp_path):
    folder = tmp_path / "runs"
    folder.mkdir()
    kept, gone = make(folder, "20260101-000000-aaaaa"), make(folder, "20260101-000001-bbbbb")
    assert len(list_runs(folder)) == 2
    gone.unlink()
    assert [line.run_id for line in list_runs(folder)] == [kept.stem]
    assert gone.name.encode() not in index(folder).read_bytes()
    folder.rename(tmp_path / "moved")
    assert [line.path for line in list_runs(tmp_path / "moved")] == [str(tmp_path / "moved" / kept.name)]


@pytest.mark.parametrize("content", [b"", b"\xc1", b"\x93", b"x" * 100_000], ids=["empty", "never", "cut", "text"])
def test_an_index_that_cannot_be_read_is_made_again(tmp_path, content):
    make(tmp_path, "20260101-000000-aaaaa")
    index(tmp_path).write_bytes(content)
    assert steps(tmp_path) == [2]
    assert b"aaaaa" in index(tmp_path).read_bytes() and index(tmp_path).stat().st_mode & 0o777 == 0o600


def test_a_fifo_in_the_place_of_the_index_holds_nobody(tmp_path):
    make(tmp_path, "20260101-000000-aaaaa")
    os.mkfifo(index(tmp_path))
    assert steps(tmp_path) == [2]
    assert index(tmp_path).is_file()


def test_what_is_damaged_is_read_each_time(tmp_path):
    path = make(tmp_path, "20260101-000000-aaaaa")
    whole = path.read_bytes()
    path.write_bytes(b"no journal at all")
    age(path)
    assert [line.state for line in list_runs(tmp_path)] == ["damaged"]
    path.write_bytes(whole)
    age(path)
    assert steps(tmp_path) == [2]


def test_looking_at_an_ended_run_leaves_nothing_next_to_it(tmp_path):
    path = make(tmp_path, "20260101-000000-aaaaa")
    before = {file.name: file.stat().st_mtime_ns for file in tmp_path.iterdir()}
    journal = Journal.open_for_reading(path)
    assert [type(stamped.event).__name__ for stamped in journal.read()][-1] == "RunEnded"
    journal.close()
    assert {file.name: file.stat().st_mtime_ns for file in tmp_path.iterdir()} == before
