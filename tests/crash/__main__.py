"""Crash every kind of loop at every point, or kill it at random times.

    cd tests && python -m crash --all                    # every crash point of every kind
    cd tests && python -m crash --sample 20 --seed 3     # 20 random points of each kind
    cd tests && python -m crash --kills 200 --seed 1     # SIGKILL at random times
    cd tests && python -m crash --power 5                # a power cut at 5 points of each kind (needs strace)
    cd tests && python -m crash --kind goal --at 17      # one case

Exit code 1 where a run lost or repeated something; each difference is a line.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory

from .crashing import Whole, crash_and_resume, run_whole, sample
from .kills import kill_and_resume
from .kinds import KINDS
from .power import cut_and_resume


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--sample", type=int, default=8)
    parser.add_argument("--kills", type=int, default=0)
    parser.add_argument("--power", type=int, default=0)
    parser.add_argument("--kind", choices=sorted(KINDS), action="append")
    parser.add_argument("--at", type=int)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args(argv)
    names = options.kind or list(KINDS)
    began = time.monotonic()
    with TemporaryDirectory(prefix="crash-", ignore_cleanup_errors=True) as folder:
        root = Path(folder)
        wholes = {name: run_whole(KINDS[name], root / f"{name}-whole") for name in names}
        work = _kills(options, names) if options.kills else _points(options, wholes)

        def one(case: tuple[int, str, int]) -> tuple[str, list[str]]:
            number, name, what = case
            place, whole = root / f"{name}-{number}", wholes[name]
            if options.kills:
                return f"{name} seed {what}", kill_and_resume(KINDS[name], place, what, whole)
            if options.power:
                chance = random.Random(f"{options.seed} {what}") if number % 2 else None
                return f"{name} at {what} ({whole.points[what - 1]})", cut_and_resume(
                    KINDS[name], place, what, whole, chance
                )
            return f"{name} at {what} ({whole.points[what - 1]})", crash_and_resume(KINDS[name], place, what, whole)

        failed = 0
        with ThreadPoolExecutor(options.jobs) as pool:
            for done, (label, found) in enumerate(pool.map(one, work), 1):
                failed += bool(found)
                print(f"{done} of {len(work)}", end="\r", file=sys.stderr, flush=True)
                for line in found:
                    print(f"{label}: {line}", flush=True)
    print(f"{len(work)} cases, {failed} failed, {time.monotonic() - began:.0f} s")
    return 1 if failed else 0


def _points(options: argparse.Namespace, wholes: dict[str, Whole]) -> list[tuple[int, str, int]]:
    chance = random.Random(options.seed)
    found: list[tuple[int, str, int]] = []
    for name, whole in wholes.items():
        count = len(whole.points)
        if options.at is not None:
            numbers = [options.at]
        else:
            numbers = (
                list(range(1, count + 1))
                if options.all
                else sample(whole.points, chance, options.power or options.sample)
            )
        print(f"{name}: {count} crash points, {len(numbers)} of them now", flush=True)
        found += [(n, name, n) for n in numbers]
    return found


def _kills(options: argparse.Namespace, names: Sequence[str]) -> list[tuple[int, str, int]]:
    return [(n, names[n % len(names)], options.seed * 1000 + n) for n in range(options.kills)]


if __name__ == "__main__":
    sys.exit(main())
