"""Draw the rooms of `agent/` and `tui/` with their modules, as SVG (decision 0042).

cd tests && python -m figures.picture ../docs/pictures/house-after.svg            # today's tree
cd tests && python -m figures.picture ../docs/pictures/house-before.svg 0f53328a  # an earlier revision

A room lies above the rooms that it imports from. A square is a module, its area the number of lines. Modules that only
one other module imports have a dark edge; those of them below 40 lines are orange. A red line is an import against the
order.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil, sqrt
from pathlib import Path
from xml.sax.saxutils import escape

from .house import SMALL, single_importers
from .imports import circles, import_graph
from .source import CODE, ROOT, Source, code_of, read_tree, tree_at

SCALE = 1.4
"""Side of the square of a module of one line, in pixels."""
GAP, MARGIN, LINE = 1.5, 16.0, 14.0
WIDTH = 560.0
"""Pixels of one half of the picture."""
STYLE = (
    "text{font:11px sans-serif;fill:#24292f}.t{font-weight:600;font-size:13px}.d{fill:#57606a}"
    ".m{fill:#b6c2cf}.o{fill:#b6c2cf;stroke:#44546a;stroke-width:.9}.s{fill:#bc4c00}"
    ".u{stroke:#cf222e;stroke-width:.8;fill:none;opacity:.6}"
)


@dataclass(frozen=True)
class Room:
    """A folder directly below `agent/` or `tui/`, drawn at a place in the picture."""

    name: str
    modules: list[tuple[int, str]]
    """Lines of each module, and its kind: `m`, `o` (one importer) or `s` (one importer, and small)."""
    x: float = 0.0
    y: float = 0.0

    @property
    def width(self) -> float:
        """Pixels from the first to the last square of a row, at least those of the name."""
        area = sum((_side(lines) + GAP) ** 2 for lines, _ in self.modules)
        return max(sqrt(area) * 1.25, len(self._label) * 6.2, _side(max(lines for lines, _ in self.modules)))

    @property
    def height(self) -> float:
        """Pixels of the name and all squares."""
        return LINE + max(y + _side(lines) for lines, _, y in self._squares()) + 4

    @property
    def _label(self) -> str:
        return f"{self.name} {len(self.modules)}"

    def _squares(self) -> Iterator[tuple[int, float, float]]:
        x = y = row = 0.0
        for lines, _ in sorted(self.modules, reverse=True):
            side = _side(lines)
            if x and x + side > self.width:
                x, y, row = 0.0, y + row + GAP, 0.0
            yield lines, x, y
            x, row = x + side + GAP, max(row, side)

    def svg(self) -> Iterator[str]:
        """Yield the elements that draw the room."""
        count = f'<tspan class="d">{len(self.modules)}</tspan>'
        yield f'<text x="{self.x:.1f}" y="{self.y + 10:.1f}">{escape(self.name)} {count}</text>'
        kinds = [kind for _, kind in sorted(self.modules, reverse=True)]
        for (lines, x, y), kind in zip(self._squares(), kinds, strict=True):
            side = _side(lines)
            at = f'x="{self.x + x:.1f}" y="{self.y + LINE + y:.1f}"'
            yield f'<rect class="{kind}" {at} width="{side:.1f}" height="{side:.1f}"/>'


def picture(sources: list[Source], title: str) -> str:
    """Return the picture of a source tree as SVG."""
    code = code_of(sources)
    halves = [_half(code, folder, MARGIN + number * (WIDTH + MARGIN)) for number, folder in enumerate(CODE)]
    bottom = max(height for _, height in halves) + MARGIN
    lines, files = sum(source.text.count("\n") for source in code), len(code)
    legend = (
        "A square is a module. Dark edge: one importer. Orange: one importer, below 40 lines. Red: against the order."
    )
    head = f'<text class="t" x="{MARGIN}" y="20">{escape(title)}: {lines:,} lines in {files:,} files'
    head += f'<tspan class="d" dx="20" font-size="11" font-weight="400">{legend}</tspan></text>'
    width = 2 * WIDTH + 3 * MARGIN
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {bottom:.0f}" width="{width:.0f}">',
            f'<style>{STYLE}</style><rect width="100%" height="100%" fill="#fff"/>',
            head,
            *(element for elements, _ in halves for element in elements),
            "</svg>\n",
        ]
    )


def room_graph(code: list[Source], folder: str) -> dict[str, Counter[str]]:
    """Return how many imports each room of `agent` or `tui` has from each other room, without those for annotations."""
    graph: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for name, targets in import_graph(code, types=False).items():
        for target in targets:
            if name.startswith(f"{folder}.") and target.startswith(f"{folder}."):
                own, other = _room(name), _room(target)
                if own != other:
                    graph[own][other] += 1
    return graph


def levels(graph: dict[str, Counter[str]], rooms: list[str]) -> dict[str, int]:
    """Return the level of each room: 0 imports from no other room. Rooms of one circle have the same level."""
    groups = circles({name: set(graph.get(name, ())) & {*rooms} for name in rooms})
    group_of = {name: min(group) for group in groups for name in group}
    found: dict[str, int] = {}

    def level(name: str) -> int:
        if name not in found:
            members = [other for other in rooms if group_of.get(other, other) == name]
            below = {
                group_of.get(target, target)
                for member in members
                for target in graph.get(member, ())
                if target in rooms
            } - {name}
            found[name] = max((level(target) + 1 for target in below), default=0)
        return found[name]

    return {name: level(group_of.get(name, name)) for name in rooms}


def main() -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(prog="python -m figures.picture", description="Draw the rooms of a revision.")
    parser.add_argument("out", type=Path, help="the SVG file to write")
    parser.add_argument("ref", nargs="?", help="a git revision; default: the working tree")
    wanted = parser.parse_args()
    if wanted.ref is None:
        drawn = picture(read_tree(ROOT), "After")
    else:
        with tree_at(ROOT, wanted.ref) as root:
            drawn = picture(read_tree(root), f"Before ({wanted.ref})")
    wanted.out.write_text(drawn, encoding="utf-8")
    return 0


def _half(code: list[Source], folder: str, left: float) -> tuple[list[str], float]:
    """Return the elements of `agent` or `tui`, and the height that they take."""
    graph = room_graph(code, folder)
    modules: defaultdict[str, list[tuple[int, str]]] = defaultdict(list)
    single = {place.path: place.amount for place in single_importers(code)}
    for source in code:
        if source.path.startswith(f"{folder}/") and source.name != "__init__" and source.path.count("/") > 1:
            lines = source.text.count("\n")
            kind = "m" if source.path not in single else "s" if single[source.path] < SMALL else "o"
            modules[_room(source.path.replace("/", "."))].append((lines, kind))
    level = levels(graph, list(modules))
    placed: dict[str, Room] = {}
    y = 48.0
    for number in sorted(set(level.values()), reverse=True):
        x, tallest = left, 0.0
        for name in sorted((name for name in modules if level[name] == number), key=lambda one: -len(modules[one])):
            room = Room(name, modules[name])
            if x > left and x + room.width > left + WIDTH:
                x, y, tallest = left, y + tallest + 6, 0.0
            placed[name] = Room(name, modules[name], x, y)
            x, tallest = x + room.width + 14, max(tallest, room.height)
        y += tallest + 8
    elements = [f'<text class="t" x="{left}" y="40">{folder}/</text>']
    elements += [element for room in placed.values() for element in room.svg()]
    for name, targets in graph.items():
        for target, count in targets.items():
            if name in placed and target in placed and level[target] >= level[name]:
                elements.append(_arc(placed[name], placed[target], count))
    return elements, ceil(y)


def _arc(start: Room, end: Room, count: int) -> str:
    a, b = start.x + start.width / 2, end.x + end.width / 2
    y = min(start.y, end.y) - 8
    title = f"{start.name} imports from {end.name} {count} times"
    way = f"M{a:.1f} {start.y + 4:.1f} Q{(a + b) / 2:.1f} {y:.1f} {b:.1f} {end.y + 4:.1f}"
    return f'<path class="u" d="{way}"><title>{escape(title)}</title></path>'


def _room(name: str) -> str:
    return name.split(".")[1]


def _side(lines: int) -> float:
    return SCALE * sqrt(max(1, lines))


if __name__ == "__main__":
    sys.exit(main())
