"""Two runs in one folder: the second one says so (docs/requirements.md 9.9)."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from fakes.in_process.driven import Driven
from fakes.rundry import Home, Running
from fakes.sandboxes import notes_of
from fakes.server import ScriptedServer
from fakes.turns import call, finish

from rundry.agent.journal.claim import claim
from rundry.agent.protocol import FinderSpec, LoopKind, Recipe
from rundry.agent.run.start.concurrent_runs import concurrent_runs

Make = Callable[..., Driven]
READ = call("read_file", path="a.txt")
DONE = finish("all is well", "a.txt:1")
SLOW = call("run_command", command="sleep 600.25")


@pytest.fixture
def other(tmp_path: Path, work: Path) -> Iterator[Running]:
    """A run of another process that works in the same folder, its journal next to that of the driven one."""
    home = Home(tmp_path)
    with ScriptedServer([SLOW]) as server:
        argv = ["--headless", "--json", "--gate", "auto", "--model", "fake", "--api-base", server.base_url]
        try:
            with home.start("run", "wait", *argv, cwd=work) as running:
                yield running
        finally:
            home.end_runners()


def notes(run: Driven) -> list[str]:
    return notes_of(run.of("run_started", "run_resumed"))


async def test_a_live_run_of_another_process_is_named_at_the_start_and_when_resumed(driven: Make, other: Running):
    known = other.wait_event("run_started")["run_id"]
    other.wait_event("proposal_decided")
    run = driven(READ, DONE, DONE)
    await run.run()
    (line,) = notes(run)
    assert line.startswith(f"another run works in this folder: {known}, since ")
    assert f"`rundry watch {known}`" in line
    killed = run.killed_at("tool_finished")
    await killed.run()
    assert [known in line for line in notes(killed)] == [True]

    other.signal(signal.SIGKILL)
    other.finish()
    third = driven(READ, DONE)
    await third.run()
    assert notes(third) == [], "a runner that is gone disturbs nobody"


@pytest.mark.parametrize(
    ("folder", "said"),
    [("", "in this folder"), ("sub", "below this one"), ("..", "above this one"), ("../works", None)],
)
async def test_a_folder_above_or_below_counts_and_one_next_to_does_not(
    driven: Make, work: Path, folder: str, said: str | None
):
    there = (work / folder).resolve()
    there.mkdir(exist_ok=True)
    other = Driven(work.parent / "runs", there, driven().model)
    run = driven(READ, DONE)
    with claim(other.path):
        await run.run()
    assert [said is not None and said in line for line in notes(run)] == ([True] if said else []), notes(run)


async def test_a_search_that_only_reads_warns_nobody_and_a_run_that_ended_neither(driven: Make, work: Path):
    search = FinderSpec(recipe=Recipe.RESEARCH)
    reading = driven(loop=LoopKind.UNTIL_DRY, finder=search)
    ended = driven(READ, DONE)
    await ended.run()
    run = driven(READ, DONE)
    with claim(reading.path), claim(ended.path):
        await run.run()
    assert notes(run) == []


def test_a_folder_full_of_journals_costs_a_start_next_to_nothing(driven: Make, work: Path):
    runs = work.parent / "runs"
    for n in range(400):
        (runs / f"20261121-{n:06d}-aaaaa.db").write_bytes(b"no journal")
        (runs / f"20261121-{n:06d}-aaaaa.db.lock").write_bytes(b"")
    run, other = driven(), driven()
    newest = other.path.rename(other.path.with_name("20261121-999999-aaaaa.db"))
    with claim(newest), claim(runs / "20261121-000399-aaaaa.db"):
        began = time.perf_counter()
        (line,) = concurrent_runs(run.spec, run.path, time.time())
        took = time.perf_counter() - began
    assert other.spec.run_id in line, "what cannot be read is passed over"
    assert took < 0.1, f"{took * 1000:.1f} ms"  # about 8 ms here
