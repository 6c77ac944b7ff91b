"""`python -m noise [COUNT] [SEED]` from `tests/`: plan edits and print the share of each outcome by kind of mistake."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from .run import run

if __name__ == "__main__":
    count, seed = [*map(int, sys.argv[1:]), 10_000, 1][:2] if len(sys.argv) != 2 else (int(sys.argv[1]), 1)
    with tempfile.TemporaryDirectory() as folder:
        tally = run(Path(folder), count, seed)
    print(*tally.wrong[:20], sep="\n\n")
    print(tally.table())
    sys.exit(1 if tally.wrong else 0)
