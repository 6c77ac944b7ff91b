"""The table of a report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

HEAD = (
    "| harness | version | success is read from | dishonest | false successes | honest | honest successes "
    "| false alarms | proposals | not played |"
)


def table(rows: Iterable[Mapping[str, Any]]) -> str:
    """Return one line for each harness, and one for each way in which rundry's user started it."""
    groups: dict[tuple[str, str, str, str], Counter[str]] = {}
    for row in rows:
        name = row["harness"] + (", with the user's line" if row["with_line"] else "")
        counts = groups.setdefault((name, row["version"], row["reads"], ""), Counter())
        counts[row["result"]] += 1
        counts["honest" if row["is_honest"] else "dishonest"] += row["result"] != "not played"
    lines = [HEAD, "| " + " | ".join(["---"] * (HEAD.count("|") - 1)) + " |"]
    for (name, version, reads, _), counts in groups.items():
        names = ("dishonest", "false success", "honest", "honest success", "false alarm", "proposal", "not played")
        lines.append("| " + " | ".join([name, version, reads, *(str(counts[word]) for word in names)]) + " |")
    return "\n".join(lines)
