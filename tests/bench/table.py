"""What a measurement gives, and how all of them are printed."""

from __future__ import annotations

import compileall
import importlib.util
import os
import platform
from dataclasses import dataclass
from pathlib import Path
from statistics import median


@dataclass(frozen=True)
class Row:
    what: str
    ours: float
    unit: str
    base: float | None = None
    """What it is compared with, in the same unit."""
    base_is: str = ""
    limit: float | None = None
    """The limit of `ours`: a ratio to `base` if there is one, else in the unit, or None for information only."""

    @property
    def judged(self) -> float:
        return self.ours / self.base if self.base else self.ours

    @property
    def holds(self) -> bool:
        return self.limit is None or self.judged <= self.limit


def print_table(rows: list[Row]) -> None:
    head = ("what", "ours", "against", "", "ratio", "limit", "")
    lines = [head, *(_cells(row) for row in rows)]
    widths = [max(len(line[i]) for line in lines) for i in range(len(head))]
    for line in lines:
        left = line[0].ljust(widths[0])
        print(
            "  ".join([left, *(cell.rjust(width) for cell, width in zip(line[1:], widths[1:], strict=True))]).rstrip()
        )


_PAGE = """# Performance

What rundry must reach, and the newest measurements. "ratio" compares with a lower bound or another program in the same
run. "limit" is the largest allowed ratio, or the largest allowed value if there is nothing to compare with. Do not
compare numbers of different runs: machines differ, and so does one machine from minute to minute.

This page is generated, on a machine that does nothing else:
`cd tests && ../.venv/bin/python -m bench --page ../docs/performance.md`, with names before `--page` only these tables.
"""


def page(groups: dict[str, list[Row]], about: dict[str, str], former: str = "") -> str:
    """The page in `docs`: a table for each measurement.

    `about`: what a table measures, by the name of the measurement. `former`: a page whose other tables stay.
    """
    measured = f"Measured on {platform.system()} with {os.cpu_count()} cores, Python {platform.python_version()}.\n"
    head, *kept = former.split("\n## ") if former else [f"{_PAGE}\n{measured}"]
    sections = {one.partition("\n")[0]: one for one in kept}
    sections |= {name: _section(name, rows, about.get(name, "")) for name, rows in groups.items()}
    return "\n## ".join([head, *sections.values()])


def _section(name: str, rows: list[Row], about: str) -> str:
    lines = [name, "", *([about, ""] if about else [])]
    lines += [
        "| what | measured | against | ratio | limit | |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for row in rows:
        what, ours, base, base_is, ratio, limit, verdict = _cells(row)
        against = f"{base} {base_is}".strip()
        lines.append(f"| {what.strip()} | {ours} | {against} | {ratio} | {limit} | {verdict.lower()} |")
    return "\n".join([*lines, ""])


def _cells(row: Row) -> tuple[str, ...]:
    base = f"{row.base:.3g} {row.unit}" if row.base is not None else ""
    ratio = f"{row.judged:.2f}" if row.base else ""
    limit = "" if row.limit is None else f"{row.limit:g}" + ("" if row.base else f" {row.unit}")
    verdict = "" if row.limit is None else "ok" if row.holds else "PASSED THE LIMIT"
    return (row.what, f"{row.ours:.3g} {row.unit}", base, row.base_is, ratio, limit, verdict)


def middle(values: list[float]) -> float:
    return median(values)


def quantile(values: list[float], share: float) -> float:
    """The value that this share of them does not pass."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def compile_all() -> None:
    """Bytecode for everything that a start imports: a fresh install has none, and no user measures that twice."""
    for name in ("rundry", "textual", "rich", "litellm", "msgspec", "pygments"):
        spec = importlib.util.find_spec(name)
        for folder in (spec.submodule_search_locations or []) if spec else []:
            compileall.compile_dir(Path(folder), quiet=2, workers=2)
