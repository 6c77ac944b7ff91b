"""Choose the lines of a long file that a model is shown: the definitions that the failing check is about."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from .merge_definitions import DEFINITIONS, Definition, parsed

Lines = tuple[int, int]
"""First and last line, from 0."""
_NEWEST, _NAMED, _SAID, _TESTED = 100, 50, 10, 3
"""Points of a definition: it has the newest line that the output names, or another one; the output has its name; the
tests have it."""
_HEAD = 6
"""The lines before the first definition are shown if they need at most this part of the space."""


@dataclass(frozen=True, slots=True)
class _Unit:
    """A function, or a method with the first lines of its class."""

    name: str
    first: int
    last: int
    node: ast.stmt
    owner: Lines | None = None


def choose_lines(
    path: str, text: str, output: str, tests: str, *, count: Callable[[str], int], limit: int
) -> list[Lines]:
    """Return the parts to show, in order, of at most `limit` tokens together.

    `output`: what the failing check printed. `tests`: the text of the tests. A file in another language, or one of
    which nothing is named, is shown around the line that the output names, else from its start.
    """
    lines = [f"{line}\n" for line in text.removesuffix("\n").split("\n")]
    named = [line for line in named_lines(path, output) if line < len(lines)]
    tree = parsed(text) if path.endswith((".py", ".pyi")) else None
    sizes = [count(line) for line in lines]
    units = [] if tree is None else _units(tree)
    points = {unit.name: _points(unit, named, output, tests) for unit in units}
    ranked = sorted((unit for unit in units if points[unit.name]), key=lambda unit: -points[unit.name])
    if not ranked:
        return [_around(sizes, named[-1] if named else 0, limit)]
    called = {node.id for unit in ranked[:1] for node in ast.walk(unit.node) if isinstance(node, ast.Name)}
    ranked += [unit for unit in units if unit.name.rpartition(".")[2] in called and unit not in ranked]
    chosen, left = list[Lines](), limit
    start = min(unit.first for unit in units)
    if start and sum(sizes[:start]) <= limit // _HEAD:
        chosen, left = [(0, start - 1)], limit - sum(sizes[:start])
    for unit in ranked:
        parts = [part for part in ((unit.first, unit.last), unit.owner) if part is not None and part not in chosen]
        size = sum(sum(sizes[first : last + 1]) for first, last in parts)
        if size <= left:
            chosen += parts
            left -= size
        elif unit is ranked[0]:
            inside = [line for line in named if unit.first <= line <= unit.last]
            return [_around(sizes, inside[-1] if inside else unit.first, limit)]
    return _joined(chosen)


def named_lines(path: str, output: str) -> list[int]:
    """Return the lines of a file that the output of a check names, from 0, as test runners and compilers write them."""
    found = list[int]()
    pattern = rf"(?<![\w.-])((?:[\w.@+-]*[/\\])*){re.escape(Path(path).name)}[\"\']?(?::|\(|, line | on line )(\d+)"
    for folder, line in re.findall(pattern, output):
        whole = f"/{folder.replace(chr(92), '/')}{Path(path).name}"
        known = f"/{path}"
        if int(line) and (whole.endswith(known) or known.endswith(whole)):
            found.append(int(line) - 1)
    return found


def points_of_definitions(
    tree: ast.Module, named: Sequence[int], output: str, tests: str
) -> list[tuple[ast.stmt, int]]:
    """Return the functions and methods of which something is named, with points; all of them if nothing is.

    `named`: lines that the output of the check names, from 0.
    """
    found = [(unit.node, _points(unit, named, output, tests)) for unit in _units(tree)]
    return [one for one in found if one[1]] or found


def _units(tree: ast.Module) -> list[_Unit]:
    found = list[_Unit]()
    for node in tree.body:
        if not isinstance(node, DEFINITIONS):
            continue
        methods = [one for one in node.body if isinstance(one, DEFINITIONS)] if isinstance(node, ast.ClassDef) else []
        if not methods:
            found.append(_Unit(node.name, _start(node), _end(node), node))
            continue
        owner = (_start(node), min(_start(one) for one in methods) - 1)
        found += [_Unit(f"{node.name}.{one.name}", _start(one), _end(one), one, owner) for one in methods]
    return found


def _points(unit: _Unit, named: Sequence[int], output: str, tests: str) -> int:
    inside = [line for line in named if unit.first <= line <= unit.last]
    points = (_NEWEST if named and named[-1] in inside else _NAMED) if inside else 0
    for name in {unit.name.rpartition(".")[2], unit.name.partition(".")[0]}:
        points += _SAID * _has(name, output) + _TESTED * _has(name, tests)
    return points


def _has(name: str, text: str) -> bool:
    return name in text and re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text) is not None


def _start(node: Definition) -> int:
    return min([node.lineno, *(one.lineno for one in node.decorator_list)]) - 1


def _end(node: Definition) -> int:
    return (node.end_lineno or node.lineno) - 1


def _joined(parts: Sequence[Lines]) -> list[Lines]:
    """Return the parts in order, with neighbours joined."""
    found = list[Lines]()
    for first, last in sorted(parts):
        if found and first <= found[-1][1] + 1:
            found[-1] = (found[-1][0], max(last, found[-1][1]))
        else:
            found.append((first, last))
    return found


def _around(sizes: Sequence[int], middle: int, limit: int) -> Lines:
    """Return the lines around the middle whose sizes add up to at most `limit`."""
    first = last = min(middle, len(sizes) - 1)
    size = sizes[first]
    while True:
        below = last + 1 < len(sizes) and size + sizes[last + 1] <= limit
        if below:
            last += 1
            size += sizes[last]
        above = first > 0 and size + sizes[first - 1] <= limit
        if above:
            first -= 1
            size += sizes[first]
        if not below and not above:
            return first, last
