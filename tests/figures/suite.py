"""Habits that the tests do not have: tests without an assertion, fixed pauses, and private names of other modules."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from .source import Function, Place, Source

RAISING = {"pytest.raises", "pytest.fail", "pytest.warns", "asyncio.timeout"}
ERRORS = ("AssertionError", "TimeoutError")
"""What a function of the tests raises when a fact does not hold, or not in time."""
PAUSES = {"sleep", "pause"}
PRIVATE = {
    ("tests/painted.py", "_compositor"),  # Textual has no public way to read the rows that it draws
    (
        "tests/models/providers/test_windows_and_images.py",
        "_get_max_position_embeddings",
    ),  # the program replaces it in litellm
}
"""Files and the private names of libraries that they may use."""
STANDARD = {"os._exit"}
"""Names of the standard library that are public in spite of their underscore."""


@dataclass(frozen=True, eq=False)
class _Function:
    """A function or method of the tests, and what it calls."""

    source: Source
    qualified: str
    node: Function

    @property
    def name(self) -> str:
        """The name by which it is called: a method begins with a dot."""
        is_method = self.qualified[0].isupper()
        return f".{self.node.name}" if is_method else self.node.name

    @cached_property
    def calls(self) -> set[str]:
        """The names of what it calls, those of methods with a dot."""
        called = (node.func for node in ast.walk(self.node) if isinstance(node, ast.Call))
        return {f".{each.attr}" if isinstance(each, ast.Attribute) else _name(each) for each in called}


def files_of_tests(sources: list[Source]) -> list[Source]:
    """Return the files of the tests."""
    return [source for source in sources if source.path.startswith("tests/")]


def unasserted(sources: list[Source]) -> list[Place]:
    """Return the tests that assert nothing, neither themselves nor in a function of `tests/` that they call."""
    functions = [_Function(source, name, node) for source in sources for name, node in source.functions]
    asserting = {function for function in functions if _asserts(function.node)}
    count = -1
    while len(asserting) > count:
        count = len(asserting)
        sure = {function.name for function in asserting} - {f.name for f in functions if f not in asserting}
        here = {(function.source.path, function.name) for function in asserting}
        asserting |= {f for f in functions if f.calls & sure or any((f.source.path, name) in here for name in f.calls)}
    return [
        Place(function.source.path, function.node.lineno, function.node.name)
        for function in functions
        if function.source.name.startswith("test_") and function.node.name.startswith("test_")
        if function not in asserting
    ]


def fixed_pauses(sources: list[Source]) -> list[Place]:
    """Return the pauses of a fixed number of seconds outside of a `while`, where a condition can be waited for.

    The benches measure over a time, so their pauses do not count.
    """
    return [
        Place(source.path, node.lineno, ast.unparse(node))
        for source in sources
        if not source.path.startswith("tests/bench/")
        for node in _outside_while(source.tree)
        if isinstance(node, ast.Call) and _name(node.func) in PAUSES and _has_seconds(node)
    ]


def private_names(sources: list[Source]) -> list[Place]:
    """Return the uses of names with an underscore that the file does not define itself."""
    return [
        Place(source.path, line, name)
        for source in sources
        for own in [set(_own_names(source.tree))]
        for line, name in _private_uses(source.tree)
        if name not in own and (source.path, name) not in PRIVATE
    ]


def _asserts(function: ast.AST) -> bool:
    return any(
        isinstance(node, ast.Assert)
        or (isinstance(node, ast.Raise) and node.exc is not None and ast.unparse(node.exc).startswith(ERRORS))
        or (isinstance(node, ast.Call) and ast.unparse(node.func) in RAISING)
        for node in ast.walk(function)
    )


def _name(function: ast.expr) -> str:
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def _outside_while(node: ast.AST) -> Iterator[ast.AST]:
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, ast.While):
            yield child
            yield from _outside_while(child)


def _has_seconds(call: ast.Call) -> bool:
    """Report whether the argument is a positive number. A name says what the time is, so it may stand there."""
    value = call.args[0].value if call.args and isinstance(call.args[0], ast.Constant) else 0
    clock = isinstance(call.func, ast.Attribute) and ast.unparse(call.func.value).endswith("clock")
    return isinstance(value, int | float) and value > 0 and not clock


def _own_names(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.Attribute) and _is_own(node):
            yield node.attr


def _private_uses(tree: ast.AST) -> Iterator[tuple[int, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            yield from ((node.lineno, alias.name) for alias in node.names if _is_private(alias.name))
        elif isinstance(node, ast.Attribute) and _is_private(node.attr) and ast.unparse(node) not in STANDARD:
            yield node.lineno, node.attr


def _is_own(node: ast.Attribute) -> bool:
    return isinstance(node.value, ast.Name) and node.value.id in ("self", "cls")


def _is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__")
