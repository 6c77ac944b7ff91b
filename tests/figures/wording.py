"""Find the language that `wording.toml` forbids.

cd tests && python -m figures.wording              # the number of hits of each pattern and package
cd tests && python -m figures.wording agent/gate   # the hits of one package, with file and line
"""

from __future__ import annotations

import re
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from .prose import Text, all_texts
from .source import ROOT, Source, read_tree

FOLDER = Path(__file__).parent


@dataclass(frozen=True)
class Pattern:
    """One row of `wording.toml`."""

    name: str
    match: re.Pattern[str]
    write: str
    unless: re.Pattern[str] | None = None
    kinds: list[str] = field(default_factory=list[str])
    folders: list[str] = field(default_factory=list[str])

    def hits(self, text: Text) -> int:
        """Return how often the pattern is in a text."""
        if self.kinds and not any(text.kind.endswith(kind) for kind in self.kinds):
            return 0
        if self.folders and not any(text.path.startswith(f"{folder}/") for folder in self.folders):
            return 0
        allowed = [found.span() for found in self.unless.finditer(text.text)] if self.unless else []
        starts = (found.start() for found in self.match.finditer(text.text))
        return sum(not any(start <= at < end for start, end in allowed) for at in starts)


@dataclass(frozen=True)
class Hit:
    """A forbidden expression and its place."""

    pattern: Pattern
    text: Text

    @property
    def package(self) -> str:
        """The folder that the ratchet counts: the first two parts of a path, or a page of the root."""
        parts = self.text.path.split("/")
        return "/".join(parts[: min(2, len(parts) - 1)]) or self.text.path

    def __str__(self) -> str:
        line = " ".join(self.text.text.split())
        return f'{self.text.path}:{self.text.line}: "{self.pattern.name}" ({self.pattern.write}): {line[:160]}'


def patterns() -> list[Pattern]:
    """Read `wording.toml`."""
    rows = tomllib.loads((FOLDER / "wording.toml").read_text(encoding="utf-8"))["pattern"]
    return [
        Pattern(
            row["name"],
            re.compile(row["match"]),
            row["write"],
            re.compile(row["unless"]) if "unless" in row else None,
            row.get("in", []),
            row.get("below", []),
        )
        for row in rows
    ]


def hits(root: Path, sources: list[Source]) -> Iterator[Hit]:
    """Return each hit of each pattern in the tree. This package itself is not searched."""
    table = patterns()
    for text in all_texts(root, sources):
        if not text.path.startswith("tests/figures/"):
            for pattern in table:
                yield from [Hit(pattern, text)] * pattern.hits(text)


def main() -> int:
    """Run the command."""
    found = list(hits(ROOT, read_tree(ROOT)))
    if len(sys.argv) > 1:
        print(*(hit for hit in found if hit.text.path.startswith(sys.argv[1])), sep="\n")
        return 0
    for counts in (Counter(hit.pattern.name for hit in found), Counter(hit.package for hit in found)):
        print(*(f"{count:>6}  {name}" for name, count in counts.most_common()), "", sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
