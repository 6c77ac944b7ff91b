"""Insert failing tests into Python files, and change the values that their assertions expect."""

from __future__ import annotations

import ast
import builtins
import re
import sys
from collections.abc import Iterator, Sequence
from random import Random
from textwrap import indent
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from .plant_table import Kind


_ASIDE = re.compile(r"skip|xfail|expectedFailure")
"""A test with such a decorator may not run, or may be expected to fail."""
_EQUAL = re.compile(
    r"assert(?:Equals?|ListEqual|TupleEqual|DictEqual|SetEqual|SequenceEqual|CountEqual|MultiLineEqual)$"
)
_OF_CLASS = "self."
_KNOWN = frozenset(dir(builtins)) | {"__file__", "__name__"}
Function = ast.FunctionDef | ast.AsyncFunctionDef


class Edit(msgspec.Struct, frozen=True):
    """Bytes of a file that are replaced."""

    start: int
    end: int
    text: str
    test: str
    """Name of the test that fails after it."""


def edited(text: str, edits: Sequence[Edit]) -> str:
    """Return the text with all edits; their places are those in the text before."""
    data = text.encode()
    ending = "\r\n" if "\r\n" in text else "\n"
    for edit in sorted(edits, key=lambda edit: edit.start, reverse=True):
        data = data[: edit.start] + edit.text.replace("\n", ending).encode() + data[edit.end :]
    return data.decode()


def parsed(text: str) -> ast.Module | None:
    """Return the syntax tree; None if this Python cannot parse the text."""
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def new_file(tests: Sequence[tuple[str, str, Kind]], class_name: str, *, in_class: bool) -> str:
    """Return a file with these tests (name, code that fails, kind). `in_class`: all are methods of a TestCase."""
    functions = [(name, code) for name, code, kind in tests if not in_class and not _needs_class(kind)]
    methods = [(name, code) for name, code, kind in tests if in_class or _needs_class(kind)]
    needs = {kind.needs for _, _, kind in tests if kind.needs}
    if methods:
        needs.add("import unittest")
    parts = ["\n".join(sorted(needs))] if needs else []
    parts += [_function(name, code, "") for name, code in functions]
    if methods:
        body = "\n\n".join(indent(_function(name, code, "self"), "    ") for name, code in methods)
        parts.append(f"class {class_name}(unittest.TestCase):\n{body}")
    return "\n\n\n".join(parts) + "\n"


def _needs_class(kind: Kind) -> bool:
    return _OF_CLASS in kind.fails


def _function(name: str, code: str, argument: str) -> str:
    return f"def {name}({argument}) -> None:\n{indent(code, '    ')}"


class Inserted(msgspec.Struct, frozen=True):
    """Where a new test is inserted into a file."""

    at: int
    indented: int
    """Spaces before it. 0 means that it is a function."""
    is_case: bool
    """Whether it is in a class with the assertions of unittest."""

    def edit(self, name: str, code: str) -> Edit:
        """Return the edit that inserts a test with this code."""
        body = _function(name, code, "self" if self.indented else "")
        if self.indented:
            return Edit(self.at, self.at, "\n" + indent(body, " " * self.indented) + "\n", name)
        return Edit(self.at, self.at, f"\n\n{body}\n", name)

    def allows(self, kind: Kind) -> bool:
        """Return whether this kind of assertion can be used here."""
        return self.is_case or not _needs_class(kind)


def place_of_test(text: str, tree: ast.Module, random: Random, *, in_class: bool) -> Inserted | None:
    """Return where a new test can be inserted: after the functions of the module, or into one of its classes.

    `in_class`: functions of the module do not run.
    """
    starts = _line_starts(text)
    functions = [node for node in tree.body if isinstance(node, Function) and node.name.startswith("test")]
    every = [base for node in tree.body if isinstance(node, ast.ClassDef) for base in node.bases]
    bases = {base.id for base in every if isinstance(base, ast.Name)}
    classes = [node for node in _test_classes(tree) if node.name not in bases and node.body[0].lineno > node.lineno]
    if functions and not in_class:
        guard = next(
            (node for node in tree.body if isinstance(node, ast.If) and "__name__" in ast.dump(node.test)), None
        )
        last = [node for node in tree.body if guard is None or node.lineno < guard.lineno][-1]
        return Inserted(_end_of(last, starts, text), 0, is_case=False)
    if not classes:
        return None
    chosen = random.choice(classes)
    is_case = any("TestCase" in ast.dump(base) for base in chosen.bases) or "self.assert" in (
        ast.get_source_segment(text, chosen) or ""
    )
    if in_class and not chosen.bases:
        return None
    return Inserted(_end_of(chosen, starts, text), chosen.body[0].col_offset, is_case=is_case)


def _test_classes(tree: ast.Module) -> list[ast.ClassDef]:
    return [node for node in tree.body if isinstance(node, ast.ClassDef) and any(_tests_in(node.body))]


def _tests_in(body: Sequence[ast.stmt]) -> Iterator[Function]:
    """Yield the test functions of a module or class that are not marked as skipped or failing."""
    for node in body:
        if not isinstance(node, Function) or not node.name.startswith("test"):
            continue
        if not _ASIDE.search("".join(map(ast.dump, node.decorator_list))):
            yield node


def _line_starts(text: str) -> list[int]:
    """Return the offset of each line in bytes, and the length of the text."""
    starts = [0]
    for line in text.encode().splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    return starts


def _end_of(node: ast.stmt, starts: Sequence[int], text: str) -> int:
    """Return the offset after the last line of a statement."""
    return min(starts[node.end_lineno or node.lineno], len(text.encode()))


def changed_values(text: str, tree: ast.Module, random: Random) -> list[Edit]:
    """Return edits that each change the value that one test expects: at most one for each test.

    Only assertions that run whenever their test runs are changed: statements of the test itself that compare something
    with a literal. So each of these tests must fail afterwards.
    """
    starts = _line_starts(text)
    marks = [node for node in tree.body if isinstance(node, ast.Assign) and _ASIDE.search(ast.dump(node))]
    if marks:
        return []
    bodies = [tree.body, *(node.body for node in _test_classes(tree) if not _ASIDE.search(_decorators(node)))]
    edits: list[Edit] = []
    seen: set[str] = set()
    for test in (test for body in bodies for test in _tests_in(body)):
        found = [edit for node in _always_run(test) if (edit := _changed(node, test.name, starts, random)) is not None]
        if found and test.name not in seen:
            edits.append(random.choice(found))
        seen.add(test.name)
    return edits


def failing_loops(text: str, tree: ast.Module, random: Random) -> list[Edit]:
    """Return edits that each make one test fail in the first round of a loop over its own data: at most one for each.

    Code under test can empty such data, and then nothing is compared: it replaces `json.loads`. Only loops are changed
    that compare something, and whose data comes from the file of tests and the standard library alone.
    """
    starts = _line_starts(text)
    edits: list[Edit] = []
    seen: set[str] = set()
    module = _names_without_project(tree.body, _KNOWN)
    bodies = [tree.body, *(node.body for node in _test_classes(tree) if not _ASIDE.search(_decorators(node)))]
    for test in (test for body in bodies for test in _tests_in(body)):
        known = module - {argument.arg for argument in ast.walk(test.args) if isinstance(argument, ast.arg)}
        for node in _always_run(test):
            if isinstance(node, ast.For) and test.name not in seen and _compares(node) and _uses_only(node.iter, known):
                first = node.body[0]
                if first.lineno > node.lineno:
                    a, b = random.randint(11, 499), random.randint(501, 997)
                    line = f"{' ' * first.col_offset}assert {a} == {b}\n"
                    edits.append(Edit(starts[first.lineno - 1], starts[first.lineno - 1], line, test.name))
                    break
            known = _names_without_project([node], known)
        seen.add(test.name)
    return edits


def _compares(loop: ast.For) -> bool:
    return any(_compared(node) for node in ast.walk(loop) if isinstance(node, ast.stmt))


def _names_without_project(body: Sequence[ast.stmt], known: frozenset[str]) -> frozenset[str]:
    """Return `known` with the names that these statements give to the standard library and to what comes from it."""
    names = set(known)
    for node in body:
        match node:
            case ast.Import():
                imported = {alias.asname or alias.name.partition(".")[0]: alias.name for alias in node.names}
                names -= imported.keys()
                names |= {name for name, module in imported.items() if _is_standard(module)}
            case ast.ImportFrom():
                imported_names = {alias.asname or alias.name for alias in node.names}
                is_standard = not node.level and _is_standard(node.module or "")
                names = names | imported_names if is_standard else names - imported_names
            case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
                is_free = node.value is not None and _uses_only(node.value, frozenset(names))
                names = names | {name} if is_free else names - {name}
            case _:
                named = (one for one in ast.walk(node) if isinstance(one, ast.Name))
                names -= {one.id for one in named if isinstance(one.ctx, ast.Store)}
                names -= {node.name} if isinstance(node, Function | ast.ClassDef) else set()
    return frozenset(names)


def _is_standard(module: str) -> bool:
    return module.partition(".")[0] in sys.stdlib_module_names


def _uses_only(value: ast.expr, known: frozenset[str]) -> bool:
    """Return whether an expression uses no other names than these, and those that it gives itself."""
    names = [node for node in ast.walk(value) if isinstance(node, ast.Name)]
    own = {node.id for node in names if isinstance(node.ctx, ast.Store)}
    return all(node.id in known or node.id in own for node in names)


def _decorators(node: ast.ClassDef) -> str:
    return "".join(map(ast.dump, node.decorator_list))


def _always_run(test: Function) -> Iterator[ast.stmt]:
    for node in test.body:
        if isinstance(node, ast.Return | ast.Raise) or _ASIDE.search(ast.dump(node)):
            return
        yield node


def _changed(node: ast.stmt, test: str, starts: Sequence[int], random: Random) -> Edit | None:
    sides = _compared(node)
    literals = [side for side in sides if _is_literal(side)]
    if len(literals) != 1:
        return None
    constants = [one for one in _values(literals[0]) if isinstance(one, ast.Constant)]
    random.shuffle(constants)
    for constant in constants:
        other = _other(constant.value, random)
        if other is not None and constant.end_lineno is not None and constant.end_col_offset is not None:
            start = starts[constant.lineno - 1] + constant.col_offset
            return Edit(start, starts[constant.end_lineno - 1] + constant.end_col_offset, other, test)
    return None


def _compared(node: ast.stmt) -> list[ast.expr]:
    """Return both sides of `assert a == b` or `self.assertEqual(a, b)`; else nothing."""
    if isinstance(node, ast.Assert) and isinstance(node.test, ast.Compare) and len(node.test.ops) == 1:
        return [node.test.left, *node.test.comparators] if isinstance(node.test.ops[0], ast.Eq) else []
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) and isinstance(node.value.func, ast.Attribute):
        call = node.value
        is_equal = _EQUAL.match(call.func.attr) if isinstance(call.func, ast.Attribute) else None
        return call.args[:2] if is_equal and len(call.args) >= 2 else []
    return []


def _is_literal(node: ast.expr) -> bool:
    try:
        ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return False
    return True


def _values(node: ast.expr) -> Iterator[ast.expr]:
    """Yield the constants of a literal, without the keys of dictionaries."""
    if isinstance(node, ast.Dict):
        for value in node.values:
            yield from _values(value)
    elif isinstance(node, ast.List | ast.Tuple | ast.Set):
        for value in node.elts:
            yield from _values(value)
    elif isinstance(node, ast.UnaryOp):
        yield from _values(node.operand)
    else:
        yield node


def _other(value: object, random: Random) -> str | None:
    """Return the source of a value of the same type that is not equal to this one."""
    step = random.randint(2, 97)
    match value:
        case bool():
            return repr(not value)
        case int():
            return repr(value + step)
        case float():
            other = value * 2 + step
            return repr(other) if other != value and abs(other) < float("inf") else None
        case str():
            return repr(f"{value}{step}")
        case bytes():
            return repr(value + str(step).encode())
        case None:
            return repr(step)
        case _:
            return None
