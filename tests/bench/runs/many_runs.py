"""What is known of many runs at once, and how fast a run is exported."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path

from fakes.rundry import RUNDRY, Home

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
    ToolCalled,
    ToolFinished,
)

from ..table import Row, middle
from .attach import make_step

RUNS, STEPS, ROUNDS = 1_000, 10, 5
EXPORTED = 100_000_000
"""Bytes of results in the run that is exported."""
_RESULT = "a line of the file that was read, with words in it\n" * 80


def measure(folder: Path) -> list[Row]:
    home = Home(folder)
    for number in range(RUNS):
        _record(home.runs / f"20260101-{number // 3600:02}{number // 60 % 60:02}{number % 60:02}-aaaaa.db")
    time.sleep(2.1)  # a journal that has just been written is not kept in the index
    first = {verb: _seconds(home, verb) for verb in ("runs", "report")}
    again = {verb: middle([_seconds(home, verb) for _ in range(ROUNDS)]) for verb in first}
    (home.runs / "runs.index").unlink()
    cold = _seconds(home, "report")
    empty = Home(folder / "none")
    empty.runs.mkdir()
    none = middle([_seconds(empty, "runs") for _ in range(ROUNDS)])
    large = home.runs / "20260102-000000-large.db"
    _record_large(large)
    written = {kind: _exported(home, large.stem, kind) for kind in ("jsonl", "md", "html")}
    return [
        Row(f"`runs` of {RUNS:,} runs", again["runs"], "s", none, "of none", limit=None),
        Row("  in seconds", again["runs"], "s", limit=0.3),
        Row("  when nothing is known of them yet", first["runs"], "s"),
        Row(f"`report` over {RUNS:,} runs", again["report"], "s", limit=2),
        Row("  when nothing is known of them yet", cold, "s", limit=2),
        *(
            Row(f"`export` as {kind}, seconds for 20 MB", 20 / rate, "s", limit=1 if kind == "jsonl" else None)
            for kind, rate in written.items()
        ),
    ]


def _seconds(home: Home, verb: str) -> float:
    began = time.perf_counter()
    argv = [str(RUNDRY), verb, "--runs-dir", str(home.runs), *(["--days", "10000"] if verb == "report" else [])]
    subprocess.run(argv, env=home.env, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - began


def _exported(home: Home, run_id: str, kind: str) -> float:
    """Megabytes a second."""
    target = home.root / f"exported.{kind}"
    argv = [str(RUNDRY), "export", run_id, "--runs-dir", str(home.runs), "--format", kind, "-o", str(target)]
    began = time.perf_counter()
    subprocess.run(argv, env=home.env, check=True, stdout=subprocess.DEVNULL)
    return target.stat().st_size / 1e6 / (time.perf_counter() - began)


def _begin(path: Path) -> Journal:
    spec = RunSpec(run_id=path.stem, loop=LoopKind.GOAL, task="t", workspace="/w", model=ModelSpec(name="fake"))
    journal = Journal.create(path, spec)
    journal.append(
        RunStarted(
            run_id=path.stem, loop=spec.loop, task="t", workspace="/w", model="fake", budget=Budget(), journal=str(path)
        )
    )
    return journal


def _record(path: Path) -> None:
    journal = _begin(path)
    with journal.transaction():
        for number in range(1, STEPS + 1):
            for event in make_step(number):
                journal.append(event, step=number)
            journal.append(Charged(tokens_in=1000, tokens_out=50, usd=0.01), step=number)
        journal.append(RunEnded(reason=Reason.BUDGET, detail="step budget: all", complete=False, exit_code=3))
    journal.close()


def _record_large(path: Path) -> None:
    journal = _begin(path)
    for number in range(1, EXPORTED // len(_RESULT) + 1):
        call = f"c{number}"
        with journal.transaction():
            for event in (
                StepStarted(number=number),
                ToolCalled(call_id=call, tool="read_file", arguments={"path": f"src/file{number}.py"}),
                ToolFinished(call_id=call, tool="read_file", ok=True, result=_RESULT),
                StepFinished(number=number, seconds=1.0),
            ):
                journal.append(event, step=number)
    journal.append(RunEnded(reason=Reason.BUDGET, detail="step budget: all", complete=False, exit_code=3))
    journal.close()
