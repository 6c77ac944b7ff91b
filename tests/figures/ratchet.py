"""The exceptions to the forbidden wording that exist today. The list in `ratchet.toml` may only shrink.

    cd tests && python -m figures.ratchet   # write today's numbers, unless their sum would grow

Run it after you reworded, moved or renamed code.
"""

from __future__ import annotations

import sys
import tomllib
from collections import Counter
from pathlib import Path

from .source import ROOT, Source, read_tree
from .wording import hits

Entries = dict[str, dict[str, int]]

LIST = Path(__file__).parent / "ratchet.toml"
HEAD = """\
# Hits of wording.toml in a package. Written by `cd tests && python -m figures.ratchet`; the sum may only shrink.
"""


def allowed() -> Entries:
    """Read the list."""
    return tomllib.loads(LIST.read_text(encoding="utf-8")) if LIST.exists() else {}


def wording_today(root: Path, sources: list[Source]) -> Entries:
    """Return the number of hits in each package."""
    return {"wording": dict(sorted(Counter(hit.package for hit in hits(root, sources)).items()))}


def grown(today: dict[str, int], before: dict[str, int]) -> dict[str, str]:
    """Return the entries that are new or larger than the list allows."""
    return {
        name: f"{amount}, allowed: {before.get(name, 0)}"
        for name, amount in today.items()
        if amount > before.get(name, 0)
    }


def refusals(today: Entries, before: Entries) -> list[str]:
    """Return why the list cannot be replaced by today's numbers. A list that is missing is never refused."""
    found: list[str] = []
    for kind, entries in today.items() if before else ():
        old = before.get(kind, {})
        sums = (sum(entries.values()), sum(old.values()))
        if sums[0] > sums[1]:
            found.append(f"{kind}: {sums[0]} instead of {sums[1]}; grown: {grown(entries, old)}")
    return found


def main() -> int:
    """Run the command."""
    today = wording_today(ROOT, read_tree(ROOT))
    if refused := refusals(today, allowed()):
        print(*refused, sep="\n", file=sys.stderr)
        return 1
    lines = [HEAD]
    for kind, entries in today.items():
        lines += [f"[{kind}]", *(f'"{name}" = {amount}' for name, amount in entries.items()), ""]
    LIST.write_text("\n".join(lines).rstrip() + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
