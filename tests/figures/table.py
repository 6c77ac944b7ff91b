"""The figures of a source tree: a name, a value and the places behind it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from .docstrings import short_docstrings
from .imports import circle_places, import_graph
from .source import Place, code_of, read_tree
from .walks import walks
from .writes import outside_writes

NAMES = ("walks", "circles", "docstrings", "writes")


@dataclass(frozen=True)
class Figure:
    """One row of the table. `name` is what `--list` takes."""

    name: str
    label: str
    value: str
    places: list[Place]


def figures(root: Path) -> list[Figure]:
    """Measure the tree at `root`."""
    sources = read_tree(root)
    code = code_of(sources)
    graph = import_graph(code)
    by_walk = walks(root)
    return [
        Figure(
            "walks",
            "files on the walks",
            " + ".join(str(len(places)) for places in by_walk.values()) or "-",
            [place for places in by_walk.values() for place in places],
        ),
        _counted("circles", "import circles", circle_places(graph)),
        _counted("docstrings", "public docstrings of at most 4 words", short_docstrings(code)),
        _counted("writes", "writes into an object of another package", outside_writes(code)),
    ]


def _counted(name: str, label: str, places: list[Place]) -> Figure:
    return Figure(name, label, str(len(places)), places)
