"""Read the docstrings below the fields of a class."""

from __future__ import annotations

import ast
import inspect
import textwrap
from typing import Any


def field_texts(kind: type[Any]) -> dict[str, str]:
    """Map each documented field of a class, or member of an enum, to its docstring in one line."""
    node = ast.parse(textwrap.dedent(inspect.getsource(kind))).body[0]
    assert isinstance(node, ast.ClassDef)
    found: dict[str, str] = {}
    name = ""
    for each in node.body:
        if isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name):
            name = each.target.id
        elif isinstance(each, ast.Assign) and isinstance(each.targets[0], ast.Name):
            name = each.targets[0].id
        elif isinstance(each, ast.Expr) and isinstance(each.value, ast.Constant) and name:
            found[name] = " ".join(str(each.value.value).split())
            name = ""
        else:
            name = ""
    return found


def annotations(kind: type[Any]) -> dict[str, str]:
    """Map each field to its type as the source has it."""
    node = ast.parse(textwrap.dedent(inspect.getsource(kind))).body[0]
    assert isinstance(node, ast.ClassDef)
    return {
        each.target.id: ast.unparse(each.annotation)
        for each in node.body
        if isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name)
    }


def text_of(kind: type[Any]) -> str:
    """Return the docstring of a class in one line, or nothing if it has none of its own."""
    text = kind.__dict__.get("__doc__") or ""
    return " ".join(str(text).split())
