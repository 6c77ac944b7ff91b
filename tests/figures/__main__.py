"""Print the figures of the code: walks, imports, short docstrings, and writes into objects of other packages.

cd tests && python -m figures                    # the table
cd tests && python -m figures --list docstrings  # the places of one figure
cd tests && python -m figures --against HEAD~20  # beside those of another revision
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from .source import ROOT, tree_at
from .table import NAMES, Figure, figures


def main() -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(prog="python -m figures", description="Print the figures of the code.")
    parser.add_argument("--list", metavar="NAME", choices=NAMES, help=f"print the places of: {', '.join(NAMES)}")
    parser.add_argument("--against", metavar="REF", help="print the figures of a git revision next to today's")
    wanted = parser.parse_args()
    rows = figures(ROOT)
    if wanted.list:
        print(*next(row for row in rows if row.name == wanted.list).places, sep="\n")
    else:
        print_table(rows, at_revision(ROOT, wanted.against) if wanted.against else None, wanted.against)
    return 0


def at_revision(repository: Path, ref: str) -> list[Figure]:
    """Measure a git revision in a temporary folder."""
    with tree_at(repository, ref) as root:
        return figures(root)


def print_table(rows: list[Figure], earlier: list[Figure] | None, ref: str | None) -> None:
    """Print a row for each figure, with the value of the other revision first when there is one."""
    wide = max(len(row.label) for row in rows)
    if earlier is None:
        earlier_values = [""] * len(rows)
    else:
        earlier_values = [f"{row.value:>14}" for row in earlier]
        print(f"{'':<10}  {'':<{wide}}{ref:>14}{'today':>14}")
    for row, before in zip(rows, earlier_values, strict=True):
        print(f"{row.name:<10}  {row.label:<{wide}}{before}{row.value:>14}")


if __name__ == "__main__":
    sys.exit(main())
