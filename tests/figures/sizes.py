"""Folders, files and functions above their size limits."""

from __future__ import annotations

import ast
from collections import Counter

from .source import Place, Source

FOLDER_MODULES = 15
FILE_LINES = 300
FUNCTION_LINES = 40
DATA_CODE_LINES = 20
"""Lines of code besides its tables that a file of data may have, such as a function that looks up a name."""


def large_folders(sources: list[Source]) -> list[Place]:
    """Return the folders with more than 15 modules, `__init__.py` not counted."""
    counts = Counter(source.folder for source in sources if source.name != "__init__")
    found = ((folder, count) for folder, count in sorted(counts.items()) if count > FOLDER_MODULES)
    return [Place(folder, 1, f"{count} modules", count) for folder, count in found]


def long_files(sources: list[Source]) -> list[Place]:
    """Return the files with more than 300 lines, except for those that hold only data."""
    found = ((source, len(source.text.splitlines())) for source in sources)
    return [
        Place(source.path, 1, f"{lines} lines", lines)
        for source, lines in found
        if lines > FILE_LINES and not is_data(source)
    ]


def long_functions(sources: list[Source]) -> list[Place]:
    """Return the functions with more than 40 lines from `def` to the last one, docstring included."""
    return [
        Place(source.path, node.lineno, f"{name} has {lines} lines", lines)
        for source in sources
        for name, node in source.functions
        if (lines := _lines(node)) > FUNCTION_LINES
    ]


def is_data(source: Source) -> bool:
    """Report whether a file holds tables of literals and imports, and at most 20 lines of other code."""
    return sum(_lines(node) for node in source.tree.body if not _is_table(node)) <= DATA_CODE_LINES


def _is_table(node: ast.stmt) -> bool:
    if isinstance(node, ast.Import | ast.ImportFrom | ast.Expr):
        return True
    if isinstance(node, ast.If):
        return all(isinstance(line, ast.Import | ast.ImportFrom) for line in node.body) and not node.orelse
    if not isinstance(node, ast.Assign | ast.AnnAssign) or node.value is None:
        return False
    code = ast.Lambda | ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp
    return not any(isinstance(part, code) for part in ast.walk(node.value))


def _lines(node: ast.stmt) -> int:
    return (node.end_lineno or node.lineno) - node.lineno + 1
