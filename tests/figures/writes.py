"""Places that write into an object of another package.

A write is an assignment to an attribute of something that is not `self` or `cls` and that the same function did not
create, or a call of `setattr`. A package owns its classes: its modules, also in subfolders, may write into them. So a
write counts if no class that declares the attribute is in the writer's folder or in a folder above it. An attribute
that no class of the program declares belongs to an object of a library, where assignment is the usual interface. So are
the attributes of Textual and click that are named below, even if a class of the program declares the same name.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from .source import Function, Place, Source, inner_statements

OWN = {"self", "cls", "self.styles"}
LIBRARIES = {"display", "placeholder", "value", "type"}
"""Attributes that `tui` sets on widgets of Textual and parameters of click; so are all of `styles`."""
FACTORIES = {"cls", "copy", "deepcopy", "replace", "connect", "socket", "__new__"}
"""Functions with a small first letter that return a new object."""


def outside_writes(code: list[Source]) -> list[Place]:
    """Return all writes into an object of another package, by file and line."""
    declared = _declared(code)
    found: list[Place] = []
    for source in code:
        places = [*_in_scope(source, source.tree, set(), declared), *_calls(source)]
        found += sorted(places, key=lambda place: place.line)
    return found


def _declared(code: list[Source]) -> dict[str, set[str]]:
    """Return the folders whose classes declare an attribute, by the attribute's name."""
    folders: dict[str, set[str]] = {}
    for source in code:
        for node in ast.walk(source.tree):
            for name in _members(node) if isinstance(node, ast.ClassDef) else ():
                folders.setdefault(name, set()).add(source.folder)
    return folders


def _members(cls: ast.ClassDef) -> Iterator[str]:
    """Return the names that a class declares: in its body, as a method or property, or by a write to `self`."""
    for statement in cls.body:
        yield from (target.id for target in _targets(statement) if isinstance(target, ast.Name))
        if isinstance(statement, Function):
            yield statement.name
            written = (
                part for node in ast.walk(statement) for target in _targets(node) for part in _attributes(target)
            )
            yield from (part.attr for part in written if ast.unparse(part.value) == "self")


def _is_foreign(part: ast.Attribute, folder: str, declared: dict[str, set[str]]) -> bool:
    is_textual = part.attr in LIBRARIES or ast.unparse(part.value).endswith(".styles")
    if is_textual and folder.split("/")[0] == "tui":
        return False
    owners = declared.get(part.attr, set())
    return bool(owners) and not any(f"{folder}/".startswith(f"{owner}/") for owner in owners)


def _in_scope(source: Source, scope: ast.AST, outer: set[str], declared: dict[str, set[str]]) -> Iterator[Place]:
    own = list(_own_statements(scope))
    created = outer | set(_created(own))
    for node in own:
        if isinstance(node, Function):
            yield from _in_scope(source, node, created, declared)
        for part in (part for target in _targets(node) for part in _attributes(target)):
            owner = ast.unparse(part.value)
            if owner not in OWN and owner not in created and _is_foreign(part, source.folder, declared):
                yield Place(source.path, part.lineno, f"{ast.unparse(part)} = ...")


def _calls(source: Source) -> Iterator[Place]:
    if "setattr" in source.text:
        for node in ast.walk(source.tree):
            if isinstance(node, ast.Call) and _sets_outside(node):
                yield Place(source.path, node.lineno, ast.unparse(node)[:80])


def _own_statements(scope: ast.AST) -> Iterator[ast.AST]:
    """Return the statements of a function without those of the functions inside it."""
    for child in inner_statements(scope):
        yield child
        if not isinstance(child, Function):
            yield from _own_statements(child)


def _created(nodes: list[ast.AST]) -> Iterator[str]:
    for node in nodes:
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value and _is_new(node.value):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            yield from (ast.unparse(target) for target in targets)
        for item in node.items if isinstance(node, ast.With | ast.AsyncWith) else ():
            if item.optional_vars and _is_new(item.context_expr):
                yield ast.unparse(item.optional_vars)


def _is_new(value: ast.expr) -> bool:
    if isinstance(value, ast.IfExp):
        return _is_new(value.body) and _is_new(value.orelse)
    if not isinstance(value, ast.Call):
        return False
    name = ast.unparse(value.func).rpartition(".")[2]
    return name.lstrip("_")[:1].isupper() or name in FACTORIES


def _sets_outside(node: ast.Call) -> bool:
    called = ast.unparse(node.func)
    if called == "setattr":
        return True
    return called == "object.__setattr__" and bool(node.args) and ast.unparse(node.args[0]) not in OWN


def _targets(node: ast.AST) -> list[ast.expr]:
    if isinstance(node, ast.Assign):
        return node.targets
    if isinstance(node, ast.AugAssign | ast.AnnAssign | ast.For | ast.AsyncFor):
        return [node.target]
    if isinstance(node, ast.With | ast.AsyncWith):
        return [item.optional_vars for item in node.items if item.optional_vars]
    return []


def _attributes(target: ast.expr) -> Iterator[ast.Attribute]:
    if isinstance(target, ast.Attribute):
        yield target
    elif isinstance(target, ast.Tuple | ast.List):
        for part in target.elts:
            yield from _attributes(part)
    elif isinstance(target, ast.Starred):
        yield from _attributes(target.value)
