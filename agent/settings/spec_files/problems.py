"""Readable messages for mistakes in a spec file: the key, the line, and the fix."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

from ...protocol import UserError
from ..default_limits import did_you_mean
from .spec_schema import Node, Step, node_at

if TYPE_CHECKING:
    from .toml_values import Table

_WORDS = {
    "str": "a text",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "array": "a list",
    "object": "a table",
    "null": "nothing",
}
_LOCATED = 100_000
"""Largest file in characters in which lines are looked up: each look-up reads it about twenty times."""
_STATEMENT = 200
"""Lines of the longest statement of TOML behind which a look-up continues."""


class SpecProblem(UserError):
    """A value in a spec file is wrong."""

    def __init__(self, text: str, path: Sequence[Step] = ()) -> None:
        """`path`: the keys and indexes that lead to the value, or to the table that has the mistake."""
        super().__init__(text)
        self.path = tuple(path)


def problem_of(error: str, tables: type[Table]) -> SpecProblem:
    """Return the mistake that a message of msgspec names."""
    what, _, where = error.partition(" - at `")
    path = _steps(where)
    place, node = place_of(path, tables), node_at(tables, path)
    if unknown := re.search(r"unknown field `(.*)`", what):
        known = list(node.get("properties", {}))
        near = did_you_mean(unknown[1], known)
        return SpecProblem(f"{place or 'the file'} has an unknown field {unknown[1]!r}: {near}", [*path, unknown[1]])
    if missing := re.search(r"missing required field `(.*)`", what):
        return SpecProblem(f"{place or 'the file'} needs a {missing[1]}", path)
    return SpecProblem(f"{place or 'the file'}{_fix(what, path, tables)}", path)


def place_of(path: Sequence[Step], tables: type[Table]) -> str:
    """Return a path as text: `[[lens]] 1 name`, `[budget] time`, `concurrency`; empty for the whole file."""
    if not path:
        return ""
    head, rest = str(path[0]), list(path[1:])
    kind = node_at(tables, path[:1])
    if head == "parameters" and rest:
        place = f"[parameters.{rest.pop(0)}]"
    elif kind.get("type") == "array" and node_at(tables, [head, 0]).get("type") == "object":
        place = f"[[{head}]]" + (f" {int(rest.pop(0)) + 1}" if rest else "")
    elif kind.get("type") == "object":
        place = f"[{head}]"
    else:
        place = head
    return " ".join([place, *(str(step) for step in rest if isinstance(step, str))])


def line_of(text: str, path: Sequence[Step]) -> int | None:
    """Return the line, from 1 on, of the statement that begins the value at this path, or None if it is not known.

    A statement of TOML ends with its line, so the lines up to the end of a statement are a document, and no others are.
    """
    if not path or len(text) > _LOCATED:
        return None
    lines = text.split("\n")
    before, top = 0, len(lines) + 1  # the first `before` lines are a document without the value
    while before + 1 < top:
        middle = (before + top) // 2
        end, found = _document(lines, middle, top)
        if found is None:
            top = middle
        elif _has(found, path):
            top = end if end > middle else middle
        else:
            before = end
    begins = range(before, len(lines))
    return next((at + 1 for at in begins if lines[at].strip() and not lines[at].lstrip().startswith("#")), None)


def _document(lines: Sequence[str], first: int, end: int) -> tuple[int, dict[str, Any] | None]:
    """Return the fewest lines, from `first` to below `end`, that are a document, and what it says.

    Returns None if none are.
    """
    for count in range(first, min(end, first + _STATEMENT)):
        try:
            return count, tomllib.loads("\n".join(lines[:count]))
        except (tomllib.TOMLDecodeError, RecursionError):
            continue
    return end, None


def _has(found: object, path: Sequence[Step]) -> bool:
    for step in path:
        if isinstance(step, int):
            if not isinstance(found, list) or len(cast("list[object]", found)) <= step:
                return False
            found = cast("list[object]", found)[step]
        elif isinstance(found, dict) and step in found:
            found = cast("dict[str, object]", found)[step]
        else:
            return False
    return True


def _steps(where: str) -> list[Step]:
    """Return the path that msgspec names: `$.lens[0].name`. Keys of a table of any keys are not named."""
    found = re.findall(r"([\w-]+)|\[(\d+)\]", where.rstrip("`").removeprefix("$"))
    return [int(index) if index else name for name, index in found]


def _fix(what: str, path: Sequence[Step], tables: type[Table]) -> str:
    """Return the rest of the message, after the place."""
    node = node_at(tables, path)
    if expected := re.search(r"[Ee]xpected `(.*)`, got `(.*)`", what):
        return f": {_kind(path, tables, expected[1], expected[2])}"
    if refused := re.search(r"Invalid enum value (.*)", what):
        return f" = {refused[1]}: use one of {', '.join(map(str, _values(node)))}"
    if "minimum" in node and re.search(r"[<>]=? ", what):
        limit = node.get("maximum")
        return f" is out of range: write {node['minimum']}{' or more' if limit is None else f' to {limit}'}"
    if r"\S" in what:
        return " is empty"
    return f": {what[:1].lower()}{what[1:]}"


def _kind(path: Sequence[Step], tables: type[Table], wanted: str, got: str) -> str:
    """Return which kind of value to write."""
    place = place_of(path[:1], tables)
    if place.startswith("[") and all(isinstance(step, int) for step in path[1:]):
        return f"write this as a table, under {place}"
    if path[-1] == "command":
        return 'write a list of words: command = ["python3", "worker.py"]'
    kinds = [_WORDS.get(kind, kind) for kind in wanted.split(" | ") if kind != "null"]
    return f"write {' or '.join(kinds)}, not {_WORDS.get(got, got)}"


def _values(node: Node) -> list[object]:
    """Return the possible values, also of a value that can be missing."""
    found = next((one for one in node.get("anyOf", (node,)) if "enum" in one), cast("Node", {}))
    return list(found.get("enum", ()))
