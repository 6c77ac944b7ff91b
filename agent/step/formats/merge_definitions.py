"""Put the definitions of an answer into a Python file. Everything that the answer does not change stays."""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
_TESTS = "test"
"""Beginning of the names of tests, which a model likes to invent after its answer."""


@dataclass(frozen=True, slots=True)
class Merged:
    """A file with the definitions of an answer."""

    text: str
    notes: list[str]
    """What the answer left out and the file keeps, or what was not taken from the answer; one line each."""


def _never(name: str) -> bool:
    del name
    return False


def merge(
    new: str, original: str, is_wanted: Callable[[str], bool] = _never, *, is_addition: bool = False
) -> Merged | None:
    """Merge the definitions of `new` into `original`, by their names. Lines end with a line feed alone.

    A definition of the same name is replaced, and keeps its docstring and decorators if the new one has none. A class
    keeps the methods that the new one does not have; a method that stands alone goes to the one class that has it. New
    functions, constants and imports are added if a changed definition uses them, and new functions and classes whose
    names are wanted. Returns None if one of the texts is not Python, nothing in `new` has a name of the file (unless
    `is_addition`: then all that it defines must be wanted), or a name that changes is defined more than once.
    """
    new_tree, old_tree = parsed(textwrap.dedent(new)), parsed(original)
    if new_tree is None or old_tree is None:
        return None
    merger = _Merger(textwrap.dedent(new).split("\n"), original.split("\n"))
    merger.merge_bodies(new_tree.body, old_tree.body)
    if not merger.is_certain or not (merger.replaced or (is_addition and _only_adds(new_tree, is_wanted))):
        return None
    merger.add(new_tree.body, old_tree, is_wanted)
    return Merged("\n".join(merger.result()), merger.notes)


def parsed(text: str) -> ast.Module | None:
    """Return the syntax tree, or None if it is not Python."""
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def same_program(text: str) -> str:
    """Return a text that is equal for programs that do the same in a test run.

    They differ only in comments, layout and docstrings without examples. A text that is not Python is returned as is.
    """
    tree = parsed(text)
    if tree is None:
        return text
    for node in ast.walk(tree):
        if not isinstance(node, (*DEFINITIONS, ast.Module)):
            continue
        doc = docstring(node)
        if doc is not None and ">>>" not in ast.unparse(doc):
            node.body = node.body[1:] or [ast.Pass()]
    return ast.dump(tree)


DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def docstring(node: Definition | ast.Module) -> ast.Expr | None:
    """Return the statement that is the docstring, or None."""
    first = node.body[0] if node.body else None
    if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str):
        return first
    return None


@dataclass(slots=True)
class _Merger:
    new_lines: list[str]
    old_lines: list[str]
    notes: list[str] = field(default_factory=list[str])
    is_certain: bool = True
    """Each changed name has one definition, in the answer and in the file, on lines of its own."""
    replaced: list[ast.stmt] = field(default_factory=list[ast.stmt])
    """Statements of the answer that replaced one of the file."""
    _edits: list[tuple[int, int, list[str]]] = field(default_factory=list[tuple[int, int, list[str]]])
    """First line, line after the last one (both from 0), and the new lines."""
    _first: int = 0
    """The line of the first replaced definition at the top level."""

    def result(self) -> list[str]:
        """Return the lines of the file with all edits."""
        lines = [*self.old_lines]
        for start, end, new in sorted(self._edits, key=lambda edit: edit[:2], reverse=True):
            lines[start:end] = new
        return lines

    def merge_bodies(self, new: Sequence[ast.stmt], old: Sequence[ast.stmt], owner: str = "") -> None:
        """Replace the definitions and constants of `old` that `new` has, too."""
        defined = {node.name: node for node in old if isinstance(node, DEFINITIONS)}
        constants = {name: node for node in old if (name := _constant(node))}
        twice = _defined_twice(old) | _defined_twice(new)
        methods = _methods(old) if not owner else {}
        for node in new:
            if not isinstance(node, DEFINITIONS):
                known = constants.get(_constant(node))
                if known is not None and ast.dump(known) != ast.dump(node):
                    self.is_certain &= _constant(node) not in twice
                    self._replace(node, known)
                continue
            at = defined.get(node.name) or methods.get(node.name)
            if at is None:
                continue
            if node.name in twice:
                self.is_certain &= ast.dump(at) == ast.dump(node)
                continue
            if isinstance(node, ast.ClassDef) and isinstance(at, ast.ClassDef):
                self._merge_class(node, at)
            else:
                self._replace(node, at)

    def _merge_class(self, new: ast.ClassDef, old: ast.ClassDef) -> None:
        count = len(self.replaced)
        self.merge_bodies(new.body, old.body, new.name)
        known = {node.name for node in old.body if isinstance(node, DEFINITIONS)}
        for node in new.body:
            if isinstance(node, DEFINITIONS) and node.name not in known:
                end = old.end_lineno or old.lineno
                self._edits.append((end, end, ["", *self._indented(node, old.body[0].col_offset)]))
                self.replaced.append(node)
        if len(self.replaced) == count:
            return
        given = {node.name for node in new.body if isinstance(node, DEFINITIONS)}
        if left := sorted(known - given):
            self.notes.append(f"kept in {new.name}, although the answer leaves it out: {', '.join(left)}")

    def _replace(self, new: ast.stmt, old: ast.stmt) -> None:
        lines = self._indented(new, old.col_offset)
        if isinstance(new, DEFINITIONS) and isinstance(old, DEFINITIONS):
            kept = docstring(old)
            first = new.body[0].lineno
            if kept is not None and docstring(new) is None and first > new.lineno:
                at = first - _first_line(new)
                lines[at:at] = self.old_lines[kept.lineno - 1 : kept.end_lineno]
                self.notes.append(f"the docstring of {new.name} was kept")
            if old.decorator_list and not new.decorator_list:
                lines[:0] = self.old_lines[_first_line(old) - 1 : old.lineno - 1]
                self.notes.append(f"the decorators of {new.name} were kept")
        start = _first_line(old) - 1
        self.is_certain &= _has_own_lines(old, self.old_lines) and _has_own_lines(new, self.new_lines)
        if not self.replaced or (old.col_offset == 0 and start < self._first):
            self._first = start
        self._edits.append((start, old.end_lineno or old.lineno, lines))
        self.replaced.append(new)

    def _indented(self, node: ast.stmt, columns: int) -> list[str]:
        """Return the lines of a statement of the answer, beginning at this column."""
        lines = self.new_lines[_first_line(node) - 1 : node.end_lineno]
        if node.col_offset == columns:
            return lines
        return textwrap.indent(textwrap.dedent("\n".join(lines)), " " * columns).split("\n")

    def add(self, new: Sequence[ast.stmt], old: ast.Module, is_wanted: Callable[[str], bool]) -> None:
        """Add what the file does not have: wanted definitions, and what these and the changed ones use."""
        present = {name for node in old.body for name in _bound(node)}
        needed, wanted, used = list[ast.stmt](), list[Definition](), _used(self.replaced)
        for node in reversed(new):
            names = _bound(node)
            if node in self.replaced or not names or names <= present:
                continue
            is_used = bool(names & used) and not any(name.startswith(_TESTS) for name in names)
            if is_used and self.replaced:
                needed.insert(0, node)
            elif isinstance(node, DEFINITIONS) and (is_used or is_wanted(node.name)):
                wanted.insert(0, node)
            elif is_used:
                needed.insert(0, node)
            else:
                if isinstance(node, DEFINITIONS):
                    self.notes.append(f"not taken from the answer, because nothing uses it: {node.name}")
                continue
            used |= _used([node])
        imports = [node for node in needed if isinstance(node, ast.Import | ast.ImportFrom)]
        if imports:
            at = _after_imports(old)
            self._edits.append((at, at, [line for node in imports for line in self._indented(node, 0)]))
        end = max((node.end_lineno or node.lineno for node in old.body if isinstance(node, DEFINITIONS)), default=None)
        at = len(self.old_lines) if end is None else end
        lines = list[str]()
        for node in (node for node in needed if node not in imports):
            lines += [*self._indented(node, 0), *(["", ""] if isinstance(node, DEFINITIONS) else [])]
        if lines:
            first = self._first if self.replaced else _after_imports(old)
            self._edits.append((first, first, lines))
        if wanted:
            added = [line for node in wanted for line in ("", "", *self._indented(node, 0))]
            self._edits.append((at, at, added))


def _only_adds(new: ast.Module, is_wanted: Callable[[str], bool]) -> bool:
    """Return whether a text only defines, and all its functions and classes, at least one, are wanted."""
    added = [node for node in new.body if isinstance(node, DEFINITIONS)]
    others = (node for node in new.body if node not in added and node is not docstring(new))
    return bool(added) and all(is_wanted(node.name) for node in added) and all(_bound(node) for node in others)


def _has_own_lines(node: ast.stmt, lines: Sequence[str]) -> bool:
    """Return whether no other statement is on the first or last line of a statement."""
    before = lines[_first_line(node) - 1].encode()[: node.col_offset].strip()
    after = lines[(node.end_lineno or node.lineno) - 1].encode()[node.end_col_offset or 0 :].strip()
    return not before and (not after or after.startswith(b"#"))


def _defined_twice(body: Sequence[ast.stmt]) -> set[str]:
    """Return the names that several statements of a body define, such as a property with its setter."""
    names = [node.name if isinstance(node, DEFINITIONS) else _constant(node) for node in body]
    return {name for name in names if name and names.count(name) > 1}


def _first_line(node: ast.stmt) -> int:
    decorators = node.decorator_list if isinstance(node, DEFINITIONS) else []
    return min([node.lineno, *(one.lineno for one in decorators)])


def _constant(node: ast.stmt) -> str:
    """Return the one name that a statement assigns, or an empty text."""
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
    return targets[0].id if len(targets) == 1 and isinstance(targets[0], ast.Name) else ""


def _methods(body: Sequence[ast.stmt]) -> dict[str, Definition]:
    """Return the methods whose name occurs in one class only."""
    found = dict[str, list[Definition]]()
    for owner in (node for node in body if isinstance(node, ast.ClassDef)):
        for node in owner.body:
            if isinstance(node, DEFINITIONS):
                found.setdefault(node.name, []).append(node)
    return {name: nodes[0] for name, nodes in found.items() if len(nodes) == 1}


def _bound(node: ast.stmt) -> set[str]:
    """Return the names that a statement at the top level binds."""
    if isinstance(node, DEFINITIONS):
        return {node.name}
    if isinstance(node, ast.Import | ast.ImportFrom):
        return {alias.asname or alias.name.partition(".")[0] for alias in node.names}
    name = _constant(node)
    return {name} if name else set()


def _used(nodes: Iterable[ast.AST]) -> set[str]:
    return {name.id for node in nodes for name in ast.walk(node) if isinstance(name, ast.Name)}


def _after_imports(tree: ast.Module) -> int:
    """Return the line, from 0, before which an import is added."""
    imports = [node.end_lineno or 0 for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom)]
    if imports:
        return imports[-1]
    doc = docstring(tree)
    return 0 if doc is None else doc.end_lineno or 0
