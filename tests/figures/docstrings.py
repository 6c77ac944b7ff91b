"""Docstrings of the program: all of them, and the short ones on public names."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from .source import Function, Place, Source, inner_statements

SHORT_WORDS = 4


def docstrings(source: Source) -> Iterator[tuple[str, int, str]]:
    """Return each docstring with the qualified name it belongs to ("" for the module) and its line."""
    yield from _below(source.tree, "")


def short_docstrings(code: list[Source], words: int = SHORT_WORDS) -> list[Place]:
    """Return the docstrings of public names that have at most that number of words."""
    return [
        Place(source.path, line, f"{name or 'module'}: {text}")
        for source in code
        for name, line, text in docstrings(source)
        if len(text.split()) <= words and is_public(name)
    ]


def is_public(name: str) -> bool:
    """Report whether no part of a qualified name starts with an underscore. Dunder methods count as public."""
    return not any(part.startswith("_") and not part.endswith("__") for part in name.split("."))


def _below(node: ast.AST, prefix: str) -> Iterator[tuple[str, int, str]]:
    if isinstance(node, ast.Module | ast.ClassDef | Function):
        text = ast.get_docstring(node)
        if text is not None:
            yield prefix, node.body[0].lineno, text
    for child in inner_statements(node):
        named = isinstance(child, ast.ClassDef | Function)
        yield from _below(child, f"{prefix}.{child.name}".lstrip(".") if named else prefix)
