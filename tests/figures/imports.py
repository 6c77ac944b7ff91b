"""The graph of imports among the modules of `agent` and `tui`, and its circles.

A circle is a group of modules that import each other, directly or through others. Each import statement is an edge,
also one inside a function or under `if TYPE_CHECKING`. An `__init__` that loads its names through `__getattr__` imports
nothing itself: a module that imports a name from it imports the module that defines the name.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from .source import Place, Source

Graph = dict[str, set[str]]


def import_graph(code: list[Source], *, types: bool = True) -> Graph:
    """Return for each module the modules of the program that it imports, by default also those for annotations."""
    named = {_module(source): source for source in code}
    known = set(named)
    lazy = {name: _homes(name, source, known) for name, source in named.items() if _is_lazy(source)}
    graph: Graph = {name: set() for name in named}
    for name, source in named.items():
        if name not in lazy:
            for base, item in _imported(name, source, known, types=types):
                inner = f"{base}.{item}"
                to = inner if inner in known else base
                graph[name].add(lazy[to].get(item, lazy[to].get("*", to)) if to in lazy else to)
            graph[name].discard(name)
    return graph


def circles(graph: Graph) -> list[list[str]]:
    """Return the groups of more than one module that import each other, the largest group first."""
    return sorted(
        (sorted(group) for group in components(graph) if len(group) > 1), key=lambda group: (-len(group), group)
    )


def components(graph: Graph) -> list[list[str]]:
    """Return the strongly connected components (Tarjan's algorithm, without recursion), imported ones first."""
    order: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []
    for root in sorted(graph):
        if root in order:
            continue
        work = [(root, iter(sorted(graph[root])))]
        order[root] = low[root] = len(order)
        stack.append(root)
        while work:
            name, targets = work[-1]
            new = next((to for to in targets if _visit(name, to, order, low, stack)), None)
            if new is not None:
                order[new] = low[new] = len(order)
                stack.append(new)
                work.append((new, iter(sorted(graph[new]))))
                continue
            work.pop()
            if work:
                low[work[-1][0]] = min(low[work[-1][0]], low[name])
            if low[name] == order[name]:
                at = stack.index(name)
                found.append(stack[at:])
                del stack[at:]
    return found


def circle_places(graph: Graph) -> list[Place]:
    """Return the circles as places."""
    return [Place(f"{at:>3}", len(group), ", ".join(group)) for at, group in enumerate(circles(graph), 1)]


def _visit(name: str, to: str, order: dict[str, int], low: dict[str, int], stack: list[str]) -> bool:
    if to not in order:
        return True
    if to in stack:
        low[name] = min(low[name], order[to])
    return False


def _module(source: Source) -> str:
    return source.path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def _is_lazy(source: Source) -> bool:
    return source.name == "__init__" and any(name == "__getattr__" for name, _ in source.functions)


def _homes(name: str, source: Source, known: set[str]) -> dict[str, str]:
    """Return for each name of a lazy package the module that defines it; `*` for those imported by a star."""
    inner = ((f"{base}.{item}", base, item) for base, item in _imported(name, source, known, types=True))
    return {item: whole if whole in known else base for whole, base, item in inner}


def _imported(name: str, source: Source, known: set[str], *, types: bool) -> Iterator[tuple[str, str]]:
    """Return the imports of a module: the package or module, and the name that is taken from it."""
    package = name if source.name == "__init__" else name.rpartition(".")[0]
    for node in _statements(source.tree, types=types):
        if isinstance(node, ast.Import):
            bare = (alias.name.removeprefix("rundry.") for alias in node.names)
            yield from ((to, "") for to in bare if to in known)
        elif isinstance(node, ast.ImportFrom):
            base = _base(node, package)
            for alias in node.names:
                if base in known:
                    yield base, alias.name
                elif (inner := f"{base}.{alias.name}".lstrip(".")) in known:
                    yield inner, ""


def _statements(node: ast.AST, *, types: bool) -> Iterator[ast.AST]:
    for child in ast.iter_child_nodes(node):
        if types or not (isinstance(child, ast.If) and ast.unparse(child.test) == "TYPE_CHECKING"):
            yield child
            yield from _statements(child, types=types)


def _base(node: ast.ImportFrom, package: str) -> str:
    named = node.module or ""
    if not node.level:
        return named.removeprefix("rundry.")
    parts = package.split(".")
    parent = parts[: len(parts) - node.level + 1]
    return ".".join([*parent, named] if named else parent)
