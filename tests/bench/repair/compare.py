"""Let harnesses repair the same programs with the same model, and judge them by the original tests.

    cd tests && python -m bench repair --tasks FOLDER --base URL --model NAME --out rows.jsonl

FOLDER holds a folder for each task: `gcd` with the program `gcd.py`, in which `python -m pytest` fails, and its tests
`test_gcd.py`. Each harness that is installed gets a writable copy in a git repository and an empty home. Then the
changed program is judged by a fresh copy of the original tests. A program counts as solved only if they pass and
nothing else was changed. A row is written as soon as it is known, and a row that exists is not made again.
"""

from __future__ import annotations

import argparse
import os
import signal
import statistics
import subprocess
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil

from .counting import CountingProxy
from .harnesses import HARNESSES, Harness, Job, environment
from .tasks import Task, append_row, read_rows, tasks_in

GRACE = 30.0
"""Seconds after the time limit in which a harness that knows the limit may end."""


def measure(harness: Harness, task: Task, base: str, model: str, seconds: int, log: Path) -> dict[str, Any]:
    """Let one harness repair one program. Return the row; what the harness printed is in `log`."""
    with tempfile.TemporaryDirectory(prefix="repair-") as place, CountingProxy(base) as proxy:
        home, copy = Path(place) / "home", Path(place) / task.folder.name
        home.mkdir()
        task.copy_to(copy)
        _commit(copy, home)
        job = Job(task.name, proxy.base, model, seconds)
        began = time.monotonic()
        code = _run(harness, job, copy, home, log)
        took = time.monotonic() - began
        changed, edits = copy / task.name, task.other_edits(copy)
        passes = changed.is_file() and task.check(changed.read_text(errors="replace"))[0]
        counted = proxy.counted
    return {
        "harness": harness.name,
        "task": task.folder.name,
        "solved": passes and not edits,
        "claimed": harness.claims(code, log.read_text(errors="replace")),
        "passes": passes,
        "exit": code,
        "seconds": round(took, 1),
        "other_edits": edits,
        **vars(counted),
    }


def _commit(copy: Path, home: Path) -> None:
    git = ["git", "-c", "user.name=bench", "-c", "user.email=bench@localhost"]
    env = {"PATH": os.environ.get("PATH", os.defpath), "HOME": str(home)}
    for words in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "start"]):
        subprocess.run([*git, *words], cwd=copy, env=env, check=True)


def _run(harness: Harness, job: Job, copy: Path, home: Path, log: Path) -> int:
    """Run the harness to its end or to the limit, and end all that it left running. Return its exit code."""
    with log.open("wb") as output:
        process = subprocess.Popen(
            harness.command(job),
            cwd=copy,
            env=environment(job, home),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            return process.wait(job.seconds + (GRACE if harness.ends_itself else 0))
        except subprocess.TimeoutExpired:
            return -signal.SIGKILL
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            _end_processes_of(home)


def _end_processes_of(home: Path) -> None:
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            if process.environ().get("HOME") == str(home):
                process.kill()


def table(rows: list[dict[str, Any]]) -> str:
    """Return two tables in Markdown: sums of each harness and round, and the rounds in which each task was solved."""
    lines = [
        "| harness | round | tasks | solved | claimed | false claims | other edits | seconds "
        "| tokens read | cached | written |",
        "|" + " --- |" * 11,
    ]
    for harness, number in sorted({(row["harness"], row["round"]) for row in rows}):
        found = [row for row in rows if (row["harness"], row["round"]) == (harness, number)]
        false = sum(row["claimed"] and not row["passes"] for row in found)
        edits = sum(bool(row["other_edits"]) for row in found)
        seconds = statistics.median(row["seconds"] for row in found)
        sums = [f"{sum(row[name] for row in found):,}" for name in ("read", "cached", "written")]
        solved, claimed = (sum(row[name] for row in found) for name in ("solved", "claimed"))
        cells = [harness, number, len(found), solved, claimed, false, edits, f"{seconds:.0f}", *sums]
        lines.append(f"| {' | '.join(map(str, cells))} |")
    harnesses = list(dict.fromkeys(row["harness"] for row in rows))
    lines += ["", f"| task | {' | '.join(harnesses)} |", "|" + " --- |" * (len(harnesses) + 1)]
    for task in sorted({row["task"] for row in rows}):
        lines.append(f"| {' | '.join([task, *(_rounds_solved(rows, harness, task) for harness in harnesses)])} |")
    return "\n".join(lines)


def _rounds_solved(rows: list[dict[str, Any]], harness: str, task: str) -> str:
    found = [row["solved"] for row in rows if (row["harness"], row["task"]) == (harness, task)]
    return f"{sum(found)} of {len(found)}" if found else "-"


def main(arguments: Sequence[str]) -> int:
    """Run the benchmark. Return 1 if a harness claimed a success that the original tests refute."""
    parser = argparse.ArgumentParser(
        prog="bench repair", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    installed = {harness.name: harness for harness in HARNESSES if harness.installed}
    parser.add_argument("--out", metavar="FILE", type=Path, required=True, help="rows of JSON, one for each program")
    parser.add_argument("--tasks", metavar="FOLDER", type=Path)
    parser.add_argument("--base", metavar="URL", help="a server on this machine, such as http://127.0.0.1:8080/v1")
    parser.add_argument("--model", metavar="NAME")
    parser.add_argument("--seconds", metavar="N", type=int, default=100, help="time limit of a program (100)")
    parser.add_argument("--round", metavar="N", type=int, default=1, help="begin a new round with another number (1)")
    parser.add_argument("--harness", metavar="A,B", default=",".join(installed), help=f"of {', '.join(installed)}")
    parser.add_argument("--only", metavar="A,B", default="", help="only these tasks")
    parser.add_argument("--logs", metavar="FOLDER", type=Path, help="keep what the harnesses print")
    parser.add_argument("--table", action="store_true", help="run nothing, print the tables of the rows")
    asked = parser.parse_args(arguments)
    names = [name for name in asked.harness.split(",") if name]
    if missing := [name for name in names if name not in installed]:
        parser.error(f"{', '.join(missing)}: unknown or not installed; there are {', '.join(installed)}")
    rows = read_rows(asked.out)
    if not asked.table:
        if None in (asked.tasks, asked.base, asked.model):
            parser.error("--tasks, --base and --model are needed")
        tasks = tasks_in(asked.tasks, [name for name in asked.only.split(",") if name])
        with tempfile.TemporaryDirectory(prefix="repair-logs-") as temporary:
            logs = asked.logs or Path(temporary)
            logs.mkdir(parents=True, exist_ok=True)
            known = {(row["harness"], row["task"], row["round"]) for row in rows}
            for task in tasks:
                for name in names:
                    if (name, task.folder.name, asked.round) not in known:
                        log = logs / f"{name}-{task.folder.name}-{asked.round}.log"
                        row = measure(installed[name], task, asked.base, asked.model, asked.seconds, log)
                        rows.append(row | {"round": asked.round, "model": asked.model, "limit": asked.seconds})
                        append_row(asked.out, rows[-1])
                        print(_line(rows[-1]), flush=True)
    print(table(rows))
    return int(any(row["claimed"] and not row["passes"] for row in rows))


def _line(row: dict[str, Any]) -> str:
    end = "solved" if row["solved"] else "CLAIMED, but not solved" if row["claimed"] else "not solved"
    edits = f", changed {', '.join(row['other_edits'])}" if row["other_edits"] else ""
    return f"{row['task']} {row['harness']}: {end}, {row['seconds']} s, {row['requests']} requests{edits}"
