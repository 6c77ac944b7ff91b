"""What a search must reach: crawling, many at once, resuming with a million keys, kills at random moments."""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from fakes.in_process.headless_run import spec_of
from fakes.killing.killed import TESTS, run_until

from rundry.agent.journal.journal import Journal
from rundry.agent.protocol import Budget, FinderSpec, LoopKind, ModelSpec, Recipe, RunSpec, Seed
from rundry.agent.run.process.refused_run import bare_start
from rundry.agent.search.items.frontier import Frontier
from rundry.agent.search.items.frontier_view import FrontierView
from rundry.agent.search.items.item_state import State
from rundry.agent.state.facts.checkpoint import save
from rundry.agent.state.facts.run_facts import RunFacts

from .table import Row, middle

PAGES = 10_000
WORKERS = 8
SEEN = 1_000_000
KILLS = 100
ROUNDS = 5


def measure(folder: Path) -> list[Row]:
    return [*crawls(folder), *searchers(folder), *taken_up(folder), *kills(folder)]


def crawls(folder: Path) -> list[Row]:
    """Against a bare client of the same library, each with its start; in turn.

    A crawl of one page is the start alone: it shows what the pages cost.
    """
    bare, ours, start = list[_Took](), list[_Took](), list[_Took]()
    with _site(PAGES) as url, _site(1) as single:
        for n in range(ROUNDS):
            bare.append(_took([sys.executable, "-m", "bench.bare_crawl", f"{url}/page/0", str(WORKERS), str(PAGES)]))
            ours.append(_took(_crawl_of(folder / f"crawl{n}.db", f"{url}/page/0", WORKERS)))
            start.append(_took(_crawl_of(folder / f"start{n}.db", f"{single}/page/0", WORKERS)))
    client = "a bare aiohttp client"
    return [
        Row(f"crawl of {PAGES:,} pages", _wall(ours), "s", _wall(bare), client, limit=1.3),
        Row("  processor time", _busy(ours), "s", _busy(bare), client),
        Row("  of which the start: a crawl of one page", _busy(start), "s"),
    ]


def searchers(folder: Path) -> list[Row]:
    """64 at once on a server that takes 200 ms."""
    rounds, at_once = 20, 64
    with _site(0) as url:
        seeds = [f"{url}/slow/0.2?n={n}" for n in range(rounds * at_once)]
        command = _crawl_of(folder / "many.db", seeds[0], at_once, more=seeds[1:])
        idle = _crawl_of(folder / "none.db", f"{url}/empty", at_once)
        seconds = _timed(command) - _timed(idle)
    return [Row(f"{len(seeds)} searches, {at_once} at once", seconds, "s", rounds * 0.2, "the ideal", limit=1 / 0.9)]


def taken_up(folder: Path) -> list[Row]:
    """From the start of the runner's process to the first item in work, less the start of Python with its imports."""
    path = folder / "million.db"
    with _site(10) as url:
        spec = _spec([f"{url}/page/0"], 8)
        journal = Journal.create(path, spec)
        frontier, facts = Frontier(journal), RunFacts(spec)
        for start in range(0, SEEN, 2_000):
            found = [Seed(kind="url", value=f"{url}/page/{n}") for n in range(start, start + 2_000)]
            frontier.surface(found, "seed", folder)
        facts.apply(journal.append(bare_start(spec, str(path), [])))
        assert facts.finder is not None
        facts.finder.seen = facts.finder.queued = SEEN
        save(journal, facts)
        journal.close()
        times: list[float] = []
        for n in range(5):
            copy = folder / f"copy{n}.db"
            shutil.copy(path, copy)
            shutil.copy(f"{path}.tail", f"{copy}.tail")
            began = time.time()
            assert run_until(copy, 4) == "killed"
            handle = Journal.open(copy)
            started = [s.at for s in handle.read() if type(s.event).__name__ == "WorkStarted"]
            handle.close()
            times.append(started[0] - began)
        argv = [sys.executable, "-c", "import rundry.agent.run.process.in_process, aiohttp"]
        imports = middle([_timed(argv) for _ in range(5)])
    return [Row(f"resuming with {SEEN:,} keys", (middle(times) - imports) * 1_000, "ms", limit=300)]


def kills(folder: Path) -> list[Row]:
    """The final sets after kills at random moments are those of a run that was not killed."""
    luck, differ, count = random.Random(7), 0, 0
    with _site(150) as url:
        seeds = [f"{url}{path}" for path in ("/page/0", "/missing", "/moved/7", "/loop/a", "/links")]
        whole = folder / "whole.db"
        Journal.create(whole, _spec(seeds, 8)).close()
        assert run_until(whole, 0) == "dry"
        while count < KILLS:
            path = folder / f"killed{count}.db"
            Journal.create(path, _spec(seeds, 8)).close()
            for _ in range(10):
                if run_until(path, luck.randrange(3, 700)) != "killed":
                    break
                count += 1
            assert run_until(path, 0) == "dry"
            differ += _sets(path) != _sets(whole)
    return [Row(f"runs that differ after {count} kills", differ, "runs", limit=0)]


def _sets(path: Path) -> dict[str, set[str]]:
    journal = Journal.open(path)
    view = FrontierView(journal)
    found = {state.value: {row.key for row in view.page(state, limit=100_000)} for state in State}
    journal.close()
    return found


def _spec(urls: list[str], workers: int) -> RunSpec:
    seeds = [Seed(kind="url", value=url) for url in urls]
    return spec_of(
        None,
        Path.cwd(),
        task="crawl",
        loop=LoopKind.UNTIL_DRY,
        model=ModelSpec(name="none"),
        budget=Budget(steps=10_000_000, seconds=None),
        finder=FinderSpec(recipe=Recipe.CRAWL, seeds=seeds, sceptics=0, concurrency=workers),
    )


def _crawl_of(journal: Path, url: str, workers: int, more: list[str] | None = None) -> list[str]:
    Journal.create(journal, _spec([url, *(more or [])], workers)).close()
    return [sys.executable, "-m", "fakes.killing.killed", str(journal), "0"]


class _Took(NamedTuple):
    """Seconds of a process and of those that it started."""

    wall: float
    busy: float
    """Processor time."""


def _took(command: list[str]) -> _Took:
    before, began = os.times(), time.monotonic()
    subprocess.run(command, cwd=TESTS, check=True, stdout=subprocess.DEVNULL)
    wall, after = time.monotonic() - began, os.times()
    user, system = after.children_user - before.children_user, after.children_system - before.children_system
    return _Took(wall, user + system)


def _wall(times: list[_Took]) -> float:
    return middle([one.wall for one in times])


def _busy(times: list[_Took]) -> float:
    return middle([one.busy for one in times])


def _timed(command: list[str]) -> float:
    return _took(command).wall


@contextmanager
def _site(pages: int) -> Iterator[str]:
    command = [sys.executable, "-m", "fakes.web.site", "--pages", str(pages), "--port", "0"]
    with subprocess.Popen(command, cwd=TESTS, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield json.loads(process.stdout.readline())["url"]
        finally:
            process.terminate()
