"""Play the suite and print its table. README.md explains it.

cd tests && ../.venv/bin/python -m falsedone                                   # rundry, every project
cd tests && ../.venv/bin/python -m falsedone --harness aider,codex --projects python-pytest,node --seed 7
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

from .adapters import HARNESSES
from .harness import Harness
from .play import Played, lines, play
from .suite import Behaviour, projects
from .table import table
from .workspace import why_not


def main() -> int:
    """Exit code 1: there was a false success."""
    parser = argparse.ArgumentParser(prog="falsedone", description="Can a harness be made to report success falsely?")
    parser.add_argument("--harness", default="rundry", help="names, separated by commas; `all`")
    parser.add_argument("--projects", default="", help="names, separated by commas; default: all")
    parser.add_argument("--seed", type=int, help="play one more project, chosen by this number")
    parser.add_argument("--behaviour", default="", help="play only behaviours whose name contains this")
    parser.add_argument("--install", action="store_true", help="install packages of projects (npm) where missing")
    parser.add_argument("--at-once", type=int, default=2, help="number of plays at the same time")
    parser.add_argument("--out", type=Path, help="add a JSON line for each play to this file")
    parser.add_argument("--table", type=Path, help="play nothing: print the table of such a file")
    parser.add_argument("--log", action="store_true", help="print what the harness printed, for each false result")
    given = parser.parse_args()
    if given.table:
        print(table(json.loads(line) for line in given.table.read_text().splitlines()))
        return 0
    rows: list[Played] = []
    harnesses = [one for one in HARNESSES if given.harness == "all" or one.name in given.harness.split(",")]
    behaviours = [one for one in _behaviours(given) if given.behaviour in one.name]
    for done in _play(harnesses, behaviours, given.at_once):
        rows.append(done)
        line = " with its line" if done.with_line else ""
        print(f"{done.result:14} {done.harness}: {done.project}/{done.behaviour}{line}: {done.how}", flush=True)
        if given.log and done.result.startswith("false"):
            print(done.log, flush=True)
        if given.out:
            with given.out.open("a") as out:
                out.write(json.dumps(done.row()) + "\n")
    print(table(done.row() for done in rows))
    return int(any(done.result == "false success" for done in rows))


def _behaviours(given: argparse.Namespace) -> list[Behaviour]:
    found = projects()
    names = given.projects.split(",") if given.projects else sorted(found)
    if given.seed is not None:
        names.append(random.Random(given.seed).choice(sorted(set(found) - set(names))))
    for name in list(names):
        if why := why_not(found[name], given.install):
            print(f"skipped: {name}: {why}", file=sys.stderr)
            names.remove(name)
    return [behaviour for name in names for behaviour in found[name].behaviours]


def _play(harnesses: list[Harness], behaviours: list[Behaviour], at_once: int) -> Iterator[Played]:
    plays: list[tuple[Harness, Behaviour, bool]] = []
    for harness in harnesses:
        if why := harness.why_not():
            print(f"skipped: {harness.name}: {why}", file=sys.stderr)
            continue
        for behaviour in behaviours:
            if not harness.can_play(behaviour):
                print(f"skipped: {harness.name}: {behaviour.title}: it cannot do this", file=sys.stderr)
                continue
            plays += [(harness, behaviour, with_line) for with_line in lines(behaviour, has_lines=harness.has_lines)]
    with ThreadPoolExecutor(at_once) as threads:
        begun = [
            threads.submit(play, harness, behaviour, with_line=with_line) for harness, behaviour, with_line in plays
        ]
        for done in as_completed(begun):
            yield done.result()


if __name__ == "__main__":
    sys.exit(main())
