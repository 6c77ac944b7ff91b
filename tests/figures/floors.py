"""The share of lines that the tests execute, for each room of `agent/` and `tui/`, and its floor.

    cd tests && python -m figures.floors REPORT.json           # compare a report of coverage with floors.toml
    cd tests && python -m figures.floors REPORT.json --raise   # raise the floors to the report

`.dev/coverage` makes the report. A floor is in whole percent and only rises; a room without a floor fails.
"""

from __future__ import annotations

import argparse
import json
import sys
import tomllib
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path

LIST = Path(__file__).with_name("floors.toml")
HEAD = """\
# Percent of the lines of a room that a full run of the tests executes at least. Written by `.dev/coverage --raise`.
"""


def shares(report: Path) -> dict[str, float]:
    """Return the executed share of each room in percent, from the JSON report of coverage."""
    lines: defaultdict[str, list[int]] = defaultdict(lambda: [0, 0])
    for path, found in json.loads(report.read_text(encoding="utf-8"))["files"].items():
        room = lines["/".join(path.split("/")[:2]) if path.count("/") > 1 else path.split("/")[0]]
        room[0] += found["summary"]["covered_lines"]
        room[1] += found["summary"]["num_statements"]
    return {room: 100.0 * covered / total for room, (covered, total) in sorted(lines.items()) if total}


def below(found: Mapping[str, float], floors: Mapping[str, int]) -> list[str]:
    """Return a line for each room whose share is below its floor, and for each room that has none of both."""
    return [
        f"{room}: {found.get(room, 0.0):.1f} %, floor {floors[room]} %" if room in floors else f"{room}: no floor"
        for room in sorted({*found, *floors})
        if room not in floors or found.get(room, 0.0) < floors[room]
    ]


def main() -> int:
    """Run the command. Exit code 2 if a room is below its floor."""
    parser = argparse.ArgumentParser(prog="python -m figures.floors", description="Compare coverage with the floors.")
    parser.add_argument("report", type=Path, help="the JSON report of coverage")
    parser.add_argument("--raise", dest="raised", action="store_true", help="raise the floors to the report")
    wanted = parser.parse_args()
    found = shares(wanted.report)
    floors: dict[str, int] = tomllib.loads(LIST.read_text(encoding="utf-8"))["floors"] if LIST.exists() else {}
    if wanted.raised:
        floors = {room: max(floors.get(room, 0), int(share)) for room, share in found.items()}
        rows = "".join(f'"{room}" = {floor}\n' for room, floor in floors.items())
        LIST.write_text(f"{HEAD}\n[floors]\n{rows}", encoding="utf-8")
    for room, share in found.items():
        print(f"{room:20} {share:5.1f} %  floor {floors.get(room, '-')}")
    low = below(found, floors)
    print(*(f"below its floor: {line}" for line in low), sep="\n", file=sys.stderr)
    return 2 if low else 0


if __name__ == "__main__":
    sys.exit(main())
