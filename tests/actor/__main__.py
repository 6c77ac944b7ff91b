"""Let a user work in the workspaces of runs, by seeds, and print a line for each.

    cd tests && python -m actor --seeds 0:300             # with layers
    cd tests && python -m actor --seeds 0:100 --direct    # on a machine that refuses mounts
    cd tests && python -m actor --seeds 17 --keep         # leave its folder, with what was done

The six kinds of loops take turns. Exit code 1 where something changed that nobody accepted.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Sequence

from .commands import LOOPS
from .trial import Plan, attempt


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", default="0:12", help="one number, or FIRST:END")
    parser.add_argument("--direct", action="store_true", help="without layers")
    parser.add_argument("--loop", choices=LOOPS, help="only these")
    parser.add_argument("--keep", action="store_true", help="leave the folder of each seed")
    options = parser.parse_args(argv)
    first, _, end = options.seeds.partition(":")
    counts: Counter[str] = Counter()
    for seed in range(int(first), int(end or int(first) + 1)):
        plan = Plan.of(seed, direct=options.direct)
        if options.loop not in (None, plan.loop):
            continue
        outcome = attempt(plan, keeps=options.keep)
        counts[f"{plan.loop}: {'found' if outcome.found else 'ok'}"] += 1
        counts["found"] += bool(outcome.found)
        print(outcome.line(), flush=True)
    print(", ".join(f"{name} {count}" for name, count in sorted(counts.items())))
    return 1 if counts["found"] else 0


if __name__ == "__main__":
    sys.exit(main())
