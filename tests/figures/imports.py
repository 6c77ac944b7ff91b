"""The graph of imports among the modules of `agent` and `tui`, its longest chain and its circles.

A circle is a group of modules that import each other, directly or through others. The longest chain is a path through
the graph in which each circle is one node; its length counts all modules, those of a circle too.
Each import statement is an edge, also one inside a function or under `if TYPE_CHECKING`. An `__init__` that loads its
names through `__getattr__` imports nothing.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from .source import Place, Source

Graph = dict[str, set[str]]


def import_graph(code: list[Source]) -> Graph:
    """Return for each module the modules of the program that it imports."""
    named = {_module(source): source for source in code}
    return {
        name: set() if _is_lazy(source) else {to for to in _imported(name, source, set(named)) if to != name}
        for name, source in named.items()
    }


def circles(graph: Graph) -> list[list[str]]:
    """Return the groups of more than one module that import each other, the largest group first."""
    return sorted(
        (sorted(group) for group in components(graph) if len(group) > 1), key=lambda group: (-len(group), group)
    )


def longest_chain(graph: Graph) -> list[str]:
    """Return the modules of the longest chain of imports. All modules of a circle are links of the chain."""
    groups = components(graph)
    group_of = {name: at for at, group in enumerate(groups) for name in group}
    chains: list[list[str]] = []
    for at, group in enumerate(groups):
        below = {group_of[to] for name in group for to in graph[name]} - {at}
        longest = max((chains[to] for to in sorted(below)), key=len, default=[])
        chains.append([*sorted(group), *longest])
    return max(chains, key=len, default=[])


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


def chain_places(graph: Graph) -> list[Place]:
    """Return the links of the longest chain as places."""
    return [Place(f"{at:>3}", 1, name) for at, name in enumerate(longest_chain(graph), 1)]


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


def _imported(name: str, source: Source, known: set[str]) -> Iterator[str]:
    package = name if source.name == "__init__" else name.rpartition(".")[0]
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Import):
            yield from (to for alias in node.names if (to := alias.name.removeprefix("rundry.")) in known)
        elif isinstance(node, ast.ImportFrom):
            base = _base(node, package)
            for alias in node.names:
                inner = f"{base}.{alias.name}" if base else alias.name
                if inner in known or base in known:
                    yield inner if inner in known else base


def _base(node: ast.ImportFrom, package: str) -> str:
    named = node.module or ""
    if not node.level:
        return named.removeprefix("rundry.")
    parts = package.split(".")
    parent = parts[: len(parts) - node.level + 1]
    return ".".join([*parent, named] if named else parent)
