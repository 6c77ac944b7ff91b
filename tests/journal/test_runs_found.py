from __future__ import annotations

import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from rundry.agent.journal.claim import claim
from rundry.agent.journal.journal import Journal
from rundry.agent.protocol import (
    Budget,
    Charged,
    Event,
    LoopKind,
    Reason,
    RunEnded,
    RunResumed,
    RunSpec,
    RunStarted,
    StepStarted,
    UserError,
)
from rundry.agent.state.reports.find_run import find_run
from rundry.agent.state.reports.reporting import report
from rundry.agent.state.reports.run_files import journal_path, new_run_id, runs_dir
from rundry.agent.state.reports.run_index import list_runs

MakeRun = Callable[..., Path]


def ended(reason: Reason, *, complete: bool = False) -> RunEnded:
    return RunEnded(reason=reason, detail="so it is", complete=complete, exit_code=0, steps=3, usd=0.25)


def charged(usd: float | None) -> Charged:
    return Charged(tokens_in=1, tokens_out=1, usd=usd)


@pytest.fixture
def make_run(tmp_path: Path, make_spec: Callable[..., RunSpec]) -> MakeRun:
    def make(run_id: str, *events: Event, **spec: object) -> Path:
        path = journal_path(tmp_path / "runs", run_id)
        journal = Journal.create(path, make_spec(run_id, **spec))
        for event in events:
            journal.append(event)
        journal.close()
        return path

    return make


def test_run_ids_sort_by_time_within_a_second_too() -> None:
    times = [1_795_000_000.0 + n / 50 for n in range(200)]
    ids = [new_run_id(t) for t in times]
    assert ids == sorted(ids)
    assert len({new_run_id(5.0) for _ in range(50)}) > 40
    assert new_run_id(1_795_225_353.5).startswith("20261121-014233-")


def test_a_run_id_does_not_depend_on_the_time_zone() -> None:
    code = "from rundry.agent.state.reports.run_files import new_run_id; print(new_run_id(1795225353.0))"
    for zone in ("UTC", "Pacific/Auckland"):
        said = subprocess.run(
            [sys.executable, "-c", code], env={"TZ": zone}, capture_output=True, text=True, check=True
        ).stdout
        assert said.startswith("20261121-014233-")


def test_the_runs_folder_is_as_given_else_from_the_environment_else_the_systems(tmp_path: Path) -> None:
    env = {"RUNDRY_RUNS_DIR": str(tmp_path / "env"), "XDG_STATE_HOME": str(tmp_path / "state")}
    assert runs_dir(str(tmp_path / "flag"), env) == tmp_path / "flag"
    assert runs_dir(None, env) == tmp_path / "env"
    assert runs_dir(None, {"XDG_STATE_HOME": str(tmp_path / "state")}) == tmp_path / "state" / "rundry" / "runs"
    assert runs_dir("some/place", {}) == Path.cwd() / "some/place"
    usual = runs_dir(None, {})
    assert usual.is_absolute() and usual.parts[-2:] == ("rundry", "runs")


def test_a_run_is_found_by_id_by_a_clear_beginning_and_by_path(make_run: MakeRun, tmp_path: Path) -> None:
    first = make_run("20261121-014233-aaaaa")
    second = make_run("20261121-014234-bbbbb")
    runs = tmp_path / "runs"
    assert find_run("20261121-014233-aaaaa", runs, None) == first
    assert find_run("20261121-014234", runs, None) == second
    assert find_run(str(second), tmp_path / "elsewhere", None) == second
    assert find_run(first.name, runs, None) == first


def test_an_id_that_begins_another_one_is_still_clear(make_run: MakeRun, tmp_path: Path) -> None:
    short = make_run("2026")
    make_run("2026-b")
    assert find_run("2026", tmp_path / "runs", None) == short


def test_a_beginning_that_fits_several_runs_names_them(make_run: MakeRun, tmp_path: Path) -> None:
    make_run("20261121-014233-aaaaa")
    make_run("20261121-014234-bbbbb")
    with pytest.raises(UserError, match=r"matches 2 runs \(20261121-014234-bbbbb, 20261121-014233-aaaaa\): write more"):
        find_run("20261121", tmp_path / "runs", None)


@pytest.mark.parametrize("ref", ["1999", "", "no/such.db", "gone.db"])
def test_a_run_that_is_not_there_is_named(make_run: MakeRun, tmp_path: Path, ref: str) -> None:
    make_run("20261121-014233-aaaaa")
    with pytest.raises(UserError, match=r"`rundry runs` lists"):
        find_run(ref, tmp_path / "runs", None)


def test_without_a_name_it_is_the_newest_unfinished_run_of_the_workspace(make_run: MakeRun, tmp_path: Path) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    make_run("20261101-000000-aaaaa", workspace=str(here))
    wanted = make_run("20261102-000000-aaaaa", ended(Reason.BUDGET), workspace=str(here))
    make_run("20261103-000000-aaaaa", ended(Reason.DONE, complete=True), workspace=str(here))
    make_run("20261104-000000-aaaaa", ended(Reason.REFUSED), workspace=str(here))
    (tmp_path / "runs" / "20261105-000000-aaaaa.db").write_bytes(b"damaged")
    other = make_run("20261106-000000-aaaaa", workspace=str(there))
    assert find_run(None, tmp_path / "runs", here) == wanted
    assert find_run(None, tmp_path / "runs", None) == other
    with pytest.raises(UserError, match=f"no unfinished run of {tmp_path}/nowhere"):
        find_run(None, tmp_path / "runs", tmp_path / "nowhere")


def test_a_run_that_was_resumed_after_its_end_is_unfinished_again(make_run: MakeRun, tmp_path: Path) -> None:
    path = make_run("a", ended(Reason.DONE, complete=True), RunResumed(run_id="a", from_seq=1), workspace="/w")
    assert find_run(None, tmp_path / "runs", Path("/w")) == path


def test_the_list_says_what_each_run_was_and_how_it_stands(make_run: MakeRun, tmp_path: Path) -> None:
    began = RunStarted(
        run_id="a",
        loop=LoopKind.GOAL,
        task="t",
        workspace="/w",
        model="openai/as-resolved",
        budget=Budget(),
        journal="/j",
    )
    steps = [StepStarted(number=1), charged(0.1), StepStarted(number=2), charged(0.2)]
    make_run("20261101-000000-ended", began, *steps, ended(Reason.DONE, complete=True), task="fix it", workspace="/w")
    make_run("20261102-000000-dead", *steps)
    running = make_run("20261103-000000-live", StepStarted(number=1), charged(None))
    (tmp_path / "runs" / "20261104-000000-bad.db").write_bytes(b"x" * 5000)
    (tmp_path / "runs" / "notes.txt").write_text("not a run")
    with claim(running):
        bad, live, dead, done = list_runs(tmp_path / "runs")
    assert (done.state, done.reason, done.complete, done.steps, done.usd) == ("ended", Reason.DONE, True, 3, 0.25)
    assert (done.task, done.workspace, done.loop, done.model) == ("fix it", "/w", "goal", "openai/as-resolved")
    assert done.started > 1_700_000_000
    assert (dead.state, dead.reason, dead.steps) == ("interrupted", None, 2)
    assert dead.usd == pytest.approx(0.3)
    assert dead.model == "openai/fake"
    assert (live.state, live.usd) == ("running", None)
    assert bad.state == "damaged" and bad.error is not None and "20261104-000000-bad.db" in bad.error


def test_a_run_of_a_newer_version_is_listed_as_such_with_when_it_began(make_run: MakeRun, tmp_path: Path) -> None:
    path = make_run("20261121-014233-aaaaa")
    mine = make_run("20261121-014232-bbbbb")
    raw = sqlite3.connect(path)
    raw.execute("PRAGMA user_version = 99")
    raw.close()
    (tmp_path / "runs" / "hand-made.db").write_bytes(b"x" * 5000)
    named, newer, _ = list_runs(tmp_path / "runs")
    assert newer.state == "newer" and newer.error is not None and "newer rundry" in newer.error
    assert newer.started == 1_795_225_353
    assert named.started == pytest.approx(time.time(), abs=60)
    assert find_run(None, tmp_path / "runs", None) == mine
    told = report(tmp_path / "runs", 1e6, time.time())
    assert (told.runs, told.unreadable, told.newer) == (1, 2, 1)
    assert told.advice[0].why.startswith("1 run had this limit")


def test_there_are_no_runs_where_there_is_no_folder(tmp_path: Path) -> None:
    assert list_runs(tmp_path / "none") == []
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="cannot be listed"):
        list_runs(tmp_path / "file")


def test_the_journal_comes_up_without_what_is_slow_to_import() -> None:
    code = (
        "import sys, rundry.agent.journal\n"
        "slow = {'platformdirs', 'psutil', 'litellm', 'textual', 'httpx', 'jsonschema', 'asyncio'}\n"
        "print(sorted(slow & set(sys.modules)))"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert said.strip() == "[]"
