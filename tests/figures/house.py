"""Print the figures of decision 0041: how many files an idea takes, and how many names it has.

cd tests && python -m figures.house                  # the table, as Markdown
cd tests && python -m figures.house --against v0.9   # with the column of an earlier revision before today's
cd tests && python -m figures.house --list single    # the places of one figure
cd tests && python -m figures.house --screen         # also import the screen, and count its modules and their time
"""

from __future__ import annotations

import argparse
import ast
import re
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path

from .imports import circles, import_graph
from .source import ROOT, Function, Place, Source, code_of, read_tree, tree_at
from .table import Figure
from .walks import walks

SMALL = 40
"""Modules below this many lines are counted apart."""

SHORT = 5
"""Functions of at most this many lines are counted."""

CUTS = re.compile(r"cut|clip|trim|shorten|truncat|elide|ellips|fit|brief|abbrev|one_line|first_line")
NAMES = ("lines", "files", "single", "slivers", "names", "publics", "callbacks", "cutters", "short", "circles", "walks")
IMPORTS = """
import sys, time
at = time.perf_counter()
import rundry.tui.app.app
print(time.perf_counter() - at, *sys.modules)
"""


def house(root: Path) -> list[Figure]:
    """Measure the tree at `root`."""
    sources = read_tree(root)
    code = code_of(sources)
    single = list(single_importers(code))
    return [
        Figure("lines", "lines of `agent/` and `tui/`", str(sum(map(_lines, code))), _by_folder(code, _lines)),
        Figure("files", "files of `agent/` and `tui/`", str(len(code)), _by_folder(code, lambda _: 1)),
        _counted("single", "modules that one other module imports", single),
        _counted("slivers", f"of these below {SMALL} lines", [place for place in single if place.amount < SMALL]),
        _counted("names", "modules that share their name with another", list(shared_names(code))),
        _counted("publics", "public names that three modules or more define", list(shared_publics(code))),
        _counted("callbacks", "callbacks that a constructor takes", list(constructor_callbacks(code))),
        _counted("cutters", "functions that shorten a text", list(cutters(code))),
        _counted("short", f"functions of {SHORT} lines or fewer", list(short_functions(code))),
        _counted("circles", "circles of imports", [Place(group[0], 1, ", ".join(group)) for group in _circles(code)]),
        *(
            Figure("walks", f"files of the walk: {title}", str(len(places)), places)
            for title, places in walks(root).items()
        ),
    ]


def single_importers(code: list[Source]) -> Iterator[Place]:
    """Return the modules that exactly one other module imports, with their lines as the amount."""
    importers: defaultdict[str, set[str]] = defaultdict(set)
    for name, targets in import_graph(code).items():
        for target in targets:
            importers[target].add(name)
    for source in code:
        by = importers[_module(source)]
        if source.name != "__init__" and len(by) == 1:
            yield Place(source.path, 1, f"{_lines(source)} lines, imported by {min(by)}", _lines(source))


def shared_names(code: list[Source]) -> Iterator[Place]:
    """Return the modules whose file name occurs more than once, the names that are shared most first."""
    count = Counter(source.name for source in code if not source.name.startswith("__"))
    shared = [source for source in code if count[source.name] > 1]
    for source in sorted(shared, key=lambda source: (-count[source.name], source.name, source.path)):
        yield Place(source.path, 1, f"{source.name} ({count[source.name]})")


def shared_publics(code: list[Source]) -> Iterator[Place]:
    """Return the public top-level names that three modules or more define."""
    homes: defaultdict[str, list[str]] = defaultdict(list)
    for source in code:
        for node in source.tree.body:
            if isinstance(node, Function | ast.ClassDef) and not node.name.startswith("_"):
                homes[node.name].append(source.path)
    for name, paths in sorted(homes.items(), key=lambda pair: (-len(pair[1]), pair[0])):
        if len(paths) > 2:
            yield Place(paths[0], 1, f"{name}: {', '.join(paths)}")


def constructor_callbacks(code: list[Source]) -> Iterator[Place]:
    """Return the parameters of constructors, and the fields of data classes, that are functions."""
    aliases = _callable_aliases(code)
    for source in code:
        names = _names_of_functions(source, aliases)
        for node in ast.walk(source.tree):
            if isinstance(node, ast.ClassDef):
                for name, annotation in _constructor(node):
                    if _is_function(annotation, names):
                        yield Place(source.path, annotation.lineno, f"{node.name}.{name}: {ast.unparse(annotation)}")


def cutters(code: list[Source]) -> Iterator[Place]:
    """Return the functions that take a text and shorten it: named so, or with a slice and an ellipsis."""
    for source in code:
        for name, node in source.functions:
            cut = any(isinstance(inner, ast.Slice) for inner in ast.walk(node))
            ellipsis = any(isinstance(inner, ast.Constant) and inner.value in ("…", "...") for inner in ast.walk(node))
            returns_text = isinstance(node.returns, ast.Name) and node.returns.id == "str"
            if returns_text and cut and (ellipsis or CUTS.search(node.name)):
                yield Place(source.path, node.lineno, name)


def short_functions(code: list[Source]) -> Iterator[Place]:
    """Return the functions of at most `SHORT` lines, signature and docstring included."""
    for source in code:
        for name, node in source.functions:
            if (node.end_lineno or node.lineno) - node.lineno < SHORT:
                yield Place(source.path, node.lineno, name)


def screen_imports() -> list[tuple[str, str]]:
    """Return how many modules of the program the screen imports, and in how many milliseconds (fastest of five)."""
    runs = [
        subprocess.run([sys.executable, "-c", IMPORTS], capture_output=True, text=True, check=True).stdout.split()
        for _ in range(5)
    ]
    own = sum(name.startswith("rundry.") for name in runs[0][1:])
    return [
        ("modules of the program that the screen imports", str(own)),
        ("time of the imports of the screen, ms", f"{min(float(run[0]) for run in runs) * 1000:.0f}"),
    ]


def main() -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(prog="python -m figures.house", description="Print the figures of decision 0041.")
    parser.add_argument("--list", metavar="NAME", choices=NAMES, help=f"print the places of: {', '.join(NAMES)}")
    parser.add_argument("--against", metavar="REF", help="print the figures of a git revision before today's")
    parser.add_argument("--screen", action="store_true", help="also import the screen and measure it")
    wanted = parser.parse_args()
    today = house(ROOT)
    if wanted.list:
        print(*(place for row in today if row.name == wanted.list for place in row.places), sep="\n")
        return 0
    before: dict[str, str] = {}
    if wanted.against:
        with tree_at(ROOT, wanted.against) as root:
            before = {row.label: row.value for row in house(root)}
    rows = [(row.label, row.value) for row in today] + (screen_imports() if wanted.screen else [])
    print(f"| figure | {wanted.against or 'before'} | today |\n| --- | --- | --- |")
    for label, value in rows:
        print(f"| {label} | {before.get(label, '')} | {value} |")
    return 0


def _lines(source: Source) -> int:
    return source.text.count("\n")


def _by_folder(code: list[Source], amount: Callable[[Source], int]) -> list[Place]:
    sums: Counter[str] = Counter()
    for source in code:
        sums["/".join(source.path.split("/")[:2])] += amount(source)
    return [Place(folder, 1, str(count), count) for folder, count in sums.most_common()]


def _circles(code: list[Source]) -> list[list[str]]:
    return circles(import_graph(code))


def _counted(name: str, label: str, places: list[Place]) -> Figure:
    return Figure(name, label, str(len(places)), places)


def _module(source: Source) -> str:
    return source.path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def _callable_aliases(code: list[Source]) -> set[tuple[str, str]]:
    """Return each name that stands for a function type, with the file name of the module that defines it."""
    return {
        (source.name, target.id)
        for source in code
        for node in source.tree.body
        if isinstance(node, ast.Assign) and ast.unparse(node.value).startswith("Callable[")
        for target in node.targets
        if isinstance(target, ast.Name)
    }


def _names_of_functions(source: Source, aliases: set[tuple[str, str]]) -> set[str]:
    """Return the names of a module that stand for function types: its own, and those that it imports."""
    names = {"Callable"} | {name for home, name in aliases if home == source.name}
    public = {name for _, name in aliases}
    for node in ast.walk(source.tree):
        if isinstance(node, ast.ImportFrom):
            home = (node.module or "").rpartition(".")[2]
            for alias in node.names:
                if (home, alias.name) in aliases or (home in ("protocol", "agent") and alias.name in public):
                    names.add(alias.asname or alias.name)
    return names


def _constructor(node: ast.ClassDef) -> Iterator[tuple[str, ast.expr]]:
    """Return what makes an object of a class, with the annotations: the parameters of `__init__`, or the fields."""
    own = next((inner for inner in node.body if isinstance(inner, Function) and inner.name == "__init__"), None)
    if own is not None:
        every = [*own.args.posonlyargs, *own.args.args, *own.args.kwonlyargs]
        yield from ((each.arg, each.annotation) for each in every if each.annotation is not None)
        return
    bases = " ".join(ast.unparse(each) for each in [*node.decorator_list, *node.bases])
    if "dataclass" in bases or "Struct" in bases or "NamedTuple" in bases:
        for inner in node.body:
            if isinstance(inner, ast.AnnAssign) and isinstance(inner.target, ast.Name):
                yield inner.target.id, inner.annotation


def _is_function(annotation: ast.expr, names: set[str]) -> bool:
    return any(isinstance(inner, ast.Name) and inner.id in names for inner in ast.walk(annotation))


if __name__ == "__main__":
    sys.exit(main())
