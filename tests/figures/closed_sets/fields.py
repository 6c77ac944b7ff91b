"""Text fields whose values look like a closed set: they should be a `Literal` or an enum (docs/decisions/0022).

A field of type `str` is found if its docstring lists values (`` `a`, `b` or `c` ``), or if two places compare an
attribute of its name with literal words. If another class has a field of that name and another type, only the
comparisons in the file of the class count. `open.toml` lists the fields whose values are open, with the reason.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from ..source import Source

_TEXT = ("str", "str | None")
_WORD = r"`[a-z][a-z_ -]*`"
_LISTED = re.compile(rf"{_WORD}(, {_WORD})* or {_WORD}|{_WORD}, {_WORD}, {_WORD}")
_VALUE = re.compile(r"[a-z][a-z_ -]*")
_PLACES = 2


@dataclass(frozen=True)
class _Field:
    path: str
    owner: str
    name: str
    kind: str
    doc: str

    @property
    def place(self) -> str:
        return f"{self.path}:{self.owner}.{self.name}"


def closed_sets(code: list[Source]) -> dict[str, list[str]]:
    """Return each text field that is found, with the values that its docstring or the comparisons name."""
    fields = [field for source in code for field in _fields(source)]
    texts = [field for field in fields if field.kind in _TEXT]
    others = {field.name for field in fields if field.kind not in _TEXT}
    compared = _compared(code)
    found: dict[str, list[str]] = {}
    for field in texts:
        values = set(re.findall(r"`([^`]+)`", listed[0])) if (listed := _LISTED.search(field.doc)) else set[str]()
        places = compared.get(field.name, {})
        if field.name in others:
            places = {place: named for place, named in places.items() if place[0] == field.path}
        if len(places) >= _PLACES:
            values |= {value for named in places.values() for value in named}
        if values:
            found[field.place] = sorted(values)
    return found


def _fields(source: Source) -> Iterator[_Field]:
    for owner in ast.walk(source.tree):
        if not isinstance(owner, ast.ClassDef):
            continue
        for line, below in zip(owner.body, [*owner.body[1:], None], strict=True):
            if isinstance(line, ast.AnnAssign) and isinstance(line.target, ast.Name):
                is_doc = isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant)
                doc = str(below.value.value) if is_doc else ""
                yield _Field(source.path, owner.name, line.target.id, ast.unparse(line.annotation), doc)
            elif isinstance(line, ast.FunctionDef) and ast.unparse(line.returns or ast.Constant(None)) != "None":
                kind = ast.unparse(line.returns) if line.returns is not None else ""
                if any(ast.unparse(one) == "property" for one in line.decorator_list):
                    yield _Field(source.path, owner.name, line.name, kind, ast.get_docstring(line) or "")


def _compared(code: list[Source]) -> dict[str, dict[tuple[str, int], list[str]]]:
    """Return by attribute the places that compare it with words, and the words."""
    found: dict[str, dict[tuple[str, int], list[str]]] = defaultdict(dict)
    for source in code:
        for node in ast.walk(source.tree):
            if isinstance(node, ast.Compare) and isinstance(node.left, ast.Attribute):
                values = [value for one in node.comparators for value in _words(one)]
                name = node.left.attr
            elif isinstance(node, ast.Match) and isinstance(node.subject, ast.Attribute):
                values = [value for case in node.cases for value in _words(case.pattern)]
                name = node.subject.attr
            else:
                continue
            if values:
                found[name][source.path, node.lineno] = values
    return found


def _words(node: ast.AST) -> list[str]:
    parts = node.elts if isinstance(node, ast.Tuple | ast.Set | ast.List) else [node]
    values = [part.value for one in parts for part in ast.walk(one) if isinstance(part, ast.Constant)]
    return [value for value in values if isinstance(value, str) and _VALUE.fullmatch(value)]
