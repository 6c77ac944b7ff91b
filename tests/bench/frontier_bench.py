"""What a key costs that surfaces, with ten thousand, a hundred thousand and a million seen: time, memory, locks.

The frontiers are processes of their own, measured in turns: what else the machine does hits all of them. The time is
that of the processor, and the mean of the turns: a median would leave out what is done every few commits.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
import time
from pathlib import Path
from statistics import mean
from typing import Any

import psutil
from fakes.in_process.journals import make_journal

from rundry.agent.journal.journal import Journal
from rundry.agent.protocol import ItemDuplicate, ItemQueued
from rundry.agent.search.items.frontier import CHUNK, Frontier, in_chunks
from rundry.agent.search.items.item_keys import item_key, url_key
from rundry.agent.search.items.item_state import Candidate

from .table import Row

MANY, TENTH, FEW = 1_000_000, 100_000, 10_000
BATCH = 20
"""Links of a page, a transaction each."""
REPEATED = 6
"""Of those: how many were seen before."""
BATCHES = 25
"""In one turn."""
TURNS = 24
ROOT = Path("/nowhere")


def measure(folder: Path) -> list[Row]:
    """A key that was seen is found in a tree, so its cost grows with the logarithm of their number, and no faster."""
    processes = [Process(folder / f"{seen}.db", seen) for seen in (MANY, TENTH, FEW)]
    for process in processes:
        process.told()
    turns = [[process.ask("turn") for process in processes] for _ in range(TURNS)]
    ours, less, least = (1e6 * mean(times) for times in zip(*turns, strict=True))
    many, few = processes[0], processes[-1]
    memory = many.ask("memory"), few.ask("memory")
    chunk, resumed = many.ask("chunk"), many.ask("resume")
    for process in processes:
        process.end()
    return [
        Row("a key that surfaces, 1,000,000 seen", ours, "µs", less, "100,000 seen", limit=1.2),
        Row("  against a hundredth of them", ours, "µs", least, "10,000 seen", limit=1.4),
        Row("  resident memory", memory[0], "MB", memory[1], "10,000 seen", limit=1.3),
        Row(f"  {CHUNK:,} candidates: the write lock", 1000 * chunk, "ms", limit=1000),
        Row("  open, roll back, find what is ready", 1000 * resumed, "ms", limit=300),
        Row("key of a URL that is normal already", 1e6 * _keying(), "µs", limit=15),
    ]


class Process:
    """Hold a frontier of `count` keys, and answer with numbers."""

    def __init__(self, path: Path, seen: int) -> None:
        argv = [sys.executable, "-m", "bench.frontier_bench", str(path), str(seen)]
        self._process = subprocess.Popen(
            argv, cwd=Path(__file__).parents[1], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def told(self) -> Any:
        assert self._process.stdout is not None
        return json.loads(self._process.stdout.readline())

    def ask(self, what: str) -> float:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{what}\n")
        self._process.stdin.flush()
        return self.told()

    def end(self) -> None:
        self._process.communicate(timeout=60)


class Searcher:
    """Works item by item as a crawl does, with its events."""

    def __init__(self, path: Path) -> None:
        self.journal = make_journal(path)
        self.frontier = Frontier(self.journal)
        self.made = 0
        self._chance = random.Random(4)

    def fill(self, seen: int) -> None:
        for chunk in in_chunks(self._fresh() for _ in range(seen)):
            self.surface(chunk)

    def surface(self, candidates: list[Candidate]) -> None:
        with self.journal.transaction():
            surfaced = self.frontier.surface(candidates, "seed", ROOT)
            for item in surfaced.new:
                queued = ItemQueued(key=item.key, kind=item.kind, value=item.value, source=item.source, reason="new")
                self.journal.append(queued)
            for key, value in surfaced.known:
                self.journal.append(ItemDuplicate(key=key, source="seed", value=value))

    def turn(self) -> float:
        """Processor seconds for one candidate, an item's work in turn included."""
        batches = [self._page() for _ in range(BATCHES)]
        began = time.process_time()
        for batch in batches:
            (item,) = self.frontier.ready(1, time.time())
            self.frontier.take([item.key])
            with self.journal.transaction():
                self.surface(batch)
                self.frontier.finish(item.key)
        return (time.process_time() - began) / (BATCHES * BATCH)

    def chunk(self) -> float:
        """Seconds for one transaction of the largest size that is advised."""
        candidates = [self._fresh() for _ in range(CHUNK)]
        began = time.perf_counter()
        self.surface(candidates)
        return time.perf_counter() - began

    def resume(self) -> float:
        """Seconds from opening the journal to the items that can be worked."""
        self.frontier.take([item.key for item in self.frontier.ready(8, time.time())])
        began = time.perf_counter()
        again = Journal.open(self.journal.path)
        frontier = Frontier(again)
        assert len(frontier.roll_back()) == 8
        assert len(frontier.ready(8, time.time())) == 8
        assert frontier.counts().seen == self.made
        took = time.perf_counter() - began
        again.close()
        return took

    def _page(self) -> list[Candidate]:
        known = [_candidate(self._chance.randrange(self.made)) for _ in range(REPEATED)]
        return known + [self._fresh() for _ in range(BATCH - REPEATED)]

    def _fresh(self) -> Candidate:
        self.made += 1
        return _candidate(self.made - 1)


def _candidate(number: int) -> Candidate:
    return Candidate("url", f"http://127.0.0.1:8123/section/{number % 97}/page/{number}.html?of={number % 7}")


def _keying() -> float:
    texts = [_candidate(number).value for number in range(20_000)]
    assert all(item_key("url", text, ROOT) == text for text in texts)
    began = time.perf_counter()
    for text in texts:
        url_key(text)
    return (time.perf_counter() - began) / len(texts)


def main(path: Path, seen: int) -> None:
    searcher = Searcher(path)
    searcher.fill(seen)
    print(json.dumps(searcher.made), flush=True)
    for line in sys.stdin:
        match line.strip():
            case "turn":
                answer = searcher.turn()
            case "chunk":
                answer = searcher.chunk()
            case "resume":
                answer = searcher.resume()
            case _:
                answer = psutil.Process().memory_info().rss / 1e6
        print(json.dumps(answer), flush=True)
    searcher.journal.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
