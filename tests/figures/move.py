"""Move the modules of a room to where decision 0041 wants them, and rewrite everything that names them.

cd tests && python -m figures.move agent/host tui/text   # the rows of house_moves.txt that lead into these folders

It moves files with `git mv`, with the data files that one moved module reads, and rewrites imports, dotted names and
paths in all files that git tracks. What it cannot decide it prints as `look: ...`. Run it on a clean tree. A second run
changes nothing; on a branch that has new code with the old names, it rewrites that.
"""

from __future__ import annotations

import argparse
import ast
import re
import shutil
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from .house import MOVES
from .source import ALL, DEMO, ROOT, Function

KEPT = (
    *(f"tests/figures/{name}" for name in ("house_moves.txt", "move.py", "test_move.py")),
    "docs/decisions/0041-the-house.md",
    "CHANGELOG.md",
)
"""Files that name old modules on purpose."""
DOTTED = re.compile(r"(?<![\w.])(rundry\.)?((?:agent|tui)(?:\.\w+)+)")
PATHS = re.compile(r"(?<![\w*/.-])(?:[\w*.-]+/)+[\w*-]*(?:\.[\w*-]+)*")
OWN_PLACE = re.compile(r"\b(?:__file__|__package__|import_module|importlib\.resources)\b")
BESIDE = re.compile(r"__file__\)\.with_name\(\"([\w.-]+)\"\)")
"""Where a module may depend on its own place."""


@dataclass
class Moves:
    """What moves in one tree. Modules and folders are paths without `.py`, such as `agent/run/drive`."""

    root: Path
    files: set[str]
    """What git tracks before the move."""
    modules: dict[str, str]
    """The new module for each old one."""
    data: dict[str, str] = field(default_factory=dict[str, str])
    """The new path for each file that is not a module."""
    folders: dict[str, str] = field(default_factory=dict[str, str])
    """The new folder for each old one that moves as a whole."""
    gone: dict[str, str] = field(default_factory=dict[str, str])
    """Each folder that has no module any more, with the room of most of them."""
    known: set[str] = field(default_factory=set[str])
    """All modules and packages, also those that moved before."""
    made: set[str] = field(default_factory=set[str])
    """All modules and packages to which something moves."""
    look: list[str] = field(default_factory=list[str])
    """Places that a person has to look at."""

    def new(self, module: str) -> str:
        """Return where a module or a package is after the move."""
        return self.modules.get(module) or self.folders.get(module, module)

    def under(self, path: str) -> str:
        """Return where something else is after the move: it stays in its folder."""
        whole = [folder for folder in self.folders if path.startswith(f"{folder}/")]
        return self.folders[max(whole, key=len)] + path.removeprefix(max(whole, key=len)) if whole else path


def rows_of(rooms: list[str], listed: str) -> dict[str, str]:
    """Return the moves of the list into these folders."""
    rows = [line.split() for line in listed.splitlines()]
    return {old: new for old, kind, new in rows if kind == "->" and f"{new}/".startswith(tuple(f"{r}/" for r in rooms))}


def plan(root: Path, rows: dict[str, str]) -> Moves:
    """Find out what the rows move in a tree. A row is of two modules, files or folders; the deepest one counts."""
    files = set(_git(root, "ls-files").splitlines())
    moves = Moves(root, files, {})
    for old, new in sorted(rows.items(), key=lambda row: row[0].count("/")):
        if old in files:
            moves.data[old] = new
        elif f"{old}.py" in files or f"{new}.py" in files:
            moves.modules[old] = new
        for path in () if old in moves.modules else (path for path in files if path.startswith(f"{old}/")):
            if path.endswith(".py"):
                moves.modules[_module(path)] = new + _module(path).removeprefix(old)
            else:
                moves.data[path] = new + path.removeprefix(old)
    code = {path for path in files if path.endswith(".py") and path.startswith(ALL) and not path.startswith(DEMO)}
    moves.known = {_module(path) for path in code} | set(moves.modules)
    moves.known |= {folder for module in moves.known for folder in _above(module)}
    moves.made = {*moves.modules.values(), *(folder for new in moves.modules.values() for folder in _above(new))}
    homes: defaultdict[str, list[str]] = defaultdict(list)
    for module, new in moves.modules.items():
        for folder in _above(module):
            homes[folder].append(_folder(new).removesuffix(_folder(module).removeprefix(folder)))
    for folder, new in homes.items():
        left = {_module(path) for path in code if path.startswith(f"{folder}/") and not path.endswith("/__init__.py")}
        if not left - set(moves.modules) and not any(one.startswith(f"{folder}/") for one in moves.modules.values()):
            moves.gone[folder] = Counter("/".join(one.split("/")[:2]) for one in new).most_common(1)[0][0]
            if len(set(new)) == 1:
                moves.folders[folder] = new[0]
    _find_data(moves)
    return moves


def _find_data(moves: Moves) -> None:
    """Let data files move with their folder, or with the only module next to them that names them."""
    for path in sorted(path for path in moves.files if not path.endswith(".py") or path.startswith(DEMO)):
        name, beside = path.rpartition("/")[2], [one for one in moves.files if _folder(one) == _folder(path)]
        if path in moves.data:
            continue
        if (new := moves.under(path)) != path:
            moves.data[path] = new
        elif moved := [one for one in beside if _module(one) in moves.modules and path.startswith(("agent/", "tui/"))]:
            readers = [one for one in beside if one.endswith(".py") and name in (moves.root / one).read_text("utf-8")]
            if len(readers) == 1 and readers[0] in moved:
                moves.data[path] = f"{_folder(moves.modules[_module(readers[0])])}/{name}"
            elif set(readers) & set(moved) or (not readers and _folder(path) in moves.gone):
                moves.look.append(f"{path}: stays; modules that name it: {', '.join(readers) or 'none next to it'}")


def carry_out(moves: Moves) -> None:
    """Rewrite the files, and move them."""
    root = moves.root
    for path in sorted(moves.files - set(KEPT)):
        try:
            text = (root / path).read_text(encoding="utf-8")
        except (UnicodeDecodeError, FileNotFoundError, IsADirectoryError):  # a picture, or a link to a folder
            continue
        is_code = path.endswith(".py") and not path.startswith(DEMO)
        new = _with_names(moves, path, _with_imports(moves, path, text) if is_code else text)
        if new != text:
            (root / path).write_text(new, encoding="utf-8")
    _move_files(moves)
    _move_packages(moves)


def _move_files(moves: Moves) -> None:
    modules = {f"{old}.py": f"{new}.py" for old, new in moves.modules.items()}
    for old, new in {**modules, **moves.data}.items():
        if old in moves.files and old != new and (moves.root / new).exists():
            moves.look.append(f"{old}: does not move, because {new} exists")
        elif old in moves.files and old != new:
            (moves.root / new).parent.mkdir(parents=True, exist_ok=True)
            _git(moves.root, "mv", old, new)


def _move_packages(moves: Moves) -> None:
    """Give each new package its `__init__.py`, and remove the packages without modules."""
    root = moves.root
    for folder in sorted({folder for new in moves.modules.values() for folder in _above(new)}):
        made = root / folder / "__init__.py"
        if not folder.startswith(("agent/", "tui/")) or made.exists() or not made.parent.is_dir():
            continue
        sources = Counter(_folder(old) for old, new in moves.modules.items() if new.startswith(f"{folder}/"))
        old = [old for old in sources if f"{old}/__init__.py" in moves.files and "/" in old]
        old.sort(key=lambda old: (old.count("/"), moves.folders.get(old) != folder, -sources[old]))
        made.write_bytes((root / old[0] / "__init__.py").read_bytes() if old else b"")
        _git(root, "add", str(made))
        if not old or moves.folders.get(old[0]) != folder:
            moves.look.append(f"{folder}/__init__.py: {f'its text is that of {old[0]}' if old else 'it is empty'}")
    for folder in moves.gone:
        if f"{folder}/__init__.py" in moves.files and not list((root / folder).rglob("[!_]*.py")):
            _git(root, "rm", "-qf", f"{folder}/__init__.py")
        if not [path for path in (root / folder).rglob("*") if path.is_file() and path.suffix != ".pyc"]:
            shutil.rmtree(root / folder, ignore_errors=True)


def _with_imports(moves: Moves, path: str, text: str) -> str:
    """Rewrite the import statements of a module for its new place and for the new places of what it imports."""
    tree, data, starts = ast.parse(text), text.encode(), [0]
    for line in data.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    edits: list[tuple[int, int, str]] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (base := _base(moves, path, node)) is not None:
            first = starts[node.lineno - 1] + node.col_offset
            end = starts[(node.end_lineno or 0) - 1] + (node.end_col_offset or 0)
            new, renamed = _statement(moves, path, node, base, data[first:end].decode(), tree)
            edits += [(first, end, new)]
            for used in ast.walk(tree):
                if isinstance(used, ast.Name) and used.id in renamed:
                    first = starts[used.lineno - 1] + used.col_offset
                    edits.append((first, first + len(used.id.encode()), renamed[used.id]))
    for first, end, new in sorted(edits, reverse=True):
        data = data[:first] + new.encode() + data[end:]
    if _module(path) not in moves.modules:
        return data.decode()
    text = data.decode()
    own = set(OWN_PLACE.findall(BESIDE.sub(lambda found: "" if _beside(moves, path, found) else found[0], text)))
    moves.look += [f"{path}: it names its own place by {one}" for one in sorted(own)]
    return BESIDE.sub(lambda found: found[0].replace(found[1], _beside(moves, path, found) or found[1]), text)


def _beside(moves: Moves, path: str, found: re.Match[str]) -> str | None:
    """Return the new name of a file next to a module; None: they do not move to the same folder."""
    beside = f"{_folder(path)}/{found[1]}"
    new = moves.data.get(beside) or f"{moves.new(_module(beside))}{beside[len(_module(beside)) :]}"
    return new.rpartition("/")[2] if _folder(new) == _folder(moves.new(_module(path))) else None


def _base(moves: Moves, path: str, node: ast.ImportFrom) -> str | None:
    """Return the module or package from which a statement imports; None: it is not of this repository."""
    inner = (node.module or "").split(".") if node.module else []
    if node.level:
        return "/".join([*path.split("/")[: -node.level], *inner])
    base = "/".join(inner[1:] if inner[0] == "rundry" else ["tests", *inner])
    return base if base in moves.known else None


def _statement(
    moves: Moves, path: str, node: ast.ImportFrom, base: str, was: str, tree: ast.Module
) -> tuple[str, dict[str, str]]:
    """Return the statement as it will be, and the new names of modules that the file uses by name."""
    parts: defaultdict[str, list[str]] = defaultdict(list)
    renamed: dict[str, str] = {}
    for alias in node.names:
        target, name, local = moves.new(base), alias.name, alias.asname
        if (inner := f"{base}/{alias.name}") in moves.known:
            target, _, name = moves.new(inner).rpartition("/")
        if name != alias.name and local is None:
            own, imported = _bound(tree)
            if alias.name in own or name in own | imported:
                local = alias.name
            else:
                renamed[alias.name] = name
        parts[_spelled(moves, path, target, node)].append(f"{name} as {local}" if local else name)
    if len(parts) == 1 and [name.partition(" ")[0] for name in next(iter(parts.values()))] == [
        alias.name for alias in node.names
    ]:
        return re.sub(r"\Afrom\s+\S+\s+import", f"from {next(iter(parts))} import", was), {}
    if "#" in was:
        moves.look.append(f"{path}:{node.lineno}: a comment in this import is lost")
    separator = "\n" + " " * node.col_offset
    return separator.join(f"from {module} import {', '.join(names)}" for module, names in parts.items()), renamed


def _spelled(moves: Moves, path: str, target: str, node: ast.ImportFrom) -> str:
    """Return how a module at its new place names another one: relative if it did so before."""
    own, there = _folder(path), target.split("/")
    here = (moves.folders.get(own, own) if path.endswith("/__init__.py") else _folder(moves.new(_module(path)))).split(
        "/"
    )
    if not node.level:
        return ".".join(there[1:] if there[0] == "tests" else ["rundry", *there])
    same = 0
    while same < min(len(here), len(there)) and here[same] == there[same]:
        same += 1
    return "." * (len(here) - same + 1) + ".".join(there[same:])


def _bound(tree: ast.Module) -> tuple[set[str], set[str]]:
    """Return the names that a module binds itself, and those that it imports."""
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    names |= {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}
    names |= {node.name for node in ast.walk(tree) if isinstance(node, Function | ast.ClassDef)}
    return names, {node.asname or node.name for node in ast.walk(tree) if isinstance(node, ast.alias)}


def _with_names(moves: Moves, path: str, text: str) -> str:
    """Rewrite dotted names and paths, and note those of folders that are gone and have no successor."""

    def dotted(found: re.Match[str]) -> str:
        parts = found[2].split(".")
        for end in range(len(parts), 1, -1):
            old = "/".join(parts[:end])
            if (new := moves.new(old)) != old:
                return (found[1] or "") + ".".join([*new.split("/"), *parts[end:]])
            if old in moves.made:
                break
        return found[0]

    new = PATHS.sub(lambda found: _path(moves, path, found[0]), DOTTED.sub(dotted, text))
    if path == "pyproject.toml":
        new = _with_contracts(moves, new)
    for at, line in enumerate(new.split("\n"), 1):
        named = {found.strip("/") for found in PATHS.findall(line)}
        named |= {found[2].replace(".", "/") for found in DOTTED.finditer(line)}
        moves.look += [f"{path}:{at}: names {one}, which is gone" for one in sorted(named & set(moves.gone))]
    return new


def _path(moves: Moves, path: str, found: str) -> str:
    """Return the new text of a path. In prose it may begin within `agent/` or `tui/`: its end says which it is."""
    lead = "rundry/" if found.startswith("rundry/") else ""
    old = found.removeprefix(lead)
    stem, suffix = (old[:-3], ".py") if old.endswith(".py") else (old.rstrip("/"), old[len(old.rstrip("/")) :])
    if old in moves.data:
        return lead + moves.data[old]
    if "*" in old:
        return _glob(moves, path, old)
    if path.endswith(".md") or path.startswith(("agent/", "tui/")):
        ends = [module for module in moves.known if module == stem or (suffix == ".py" and module.endswith(f"/{stem}"))]
        if stem not in ends and len(ends) == 1:
            return "/".join(moves.new(ends[0]).split("/")[-stem.count("/") - 1 :]) + suffix
    return lead + (moves.new(stem) if stem in moves.known else moves.under(stem)) + suffix


def _glob(moves: Moves, path: str, old: str) -> str:
    """Return the new text of a pattern: its folder if that moves, and the name of its file if one module has it."""
    folder, star, rest = old.partition("/*")
    name = old.rpartition("/")[2].removesuffix(".py")
    moving = [module for module in moves.modules if f"{module}.py" in moves.files]
    named = [module for module in moving if module.startswith(f"{folder}/") and module.endswith(f"/{name}")]
    news = {moves.modules[module].rpartition("/")[2] for module in named}
    rest = rest.replace(f"/{name}.py", f"/{min(news)}.py") if len(news) == 1 else rest
    new = f"{moves.folders.get(folder, folder)}{star}{rest}"
    if new != old or len(news) > 1 or folder in moves.gone:
        moves.look.append(f"{path}: is the pattern {new} right? It was {old}")
    return new


def _with_contracts(moves: Moves, text: str) -> str:
    """Name the new rooms in the layers of import-linter, in place of the old folders that are gone."""
    contracts = text.split("[[tool.importlinter.contracts]]")
    for at, contract in enumerate(contracts):
        for top in (top for top in ("agent", "tui") if f'containers = ["rundry.{top}"]' in contract):
            for old, new in moves.gone.items():
                if old.startswith(f"{top}/") and old.count("/") == 1:
                    contract = re.sub(rf'(?<=[" (]){old[len(top) + 1 :]}(?=[") ])', new[len(top) + 1 :], contract)
            contracts[at] = contract
            rooms = {
                new.split("/")[1] for new in moves.modules.values() if new.startswith(f"{top}/") and new.count("/") > 1
            }
            missing = sorted(room for room in rooms if not re.search(rf'[" (]{room}[") ]', contract))
            moves.look += [f"pyproject.toml: no layer of {top} is {room}" for room in missing]
    return "[[tool.importlinter.contracts]]".join(contracts)


def _above(module: str) -> Iterator[str]:
    """Return the folders above a module, without `agent`, `tui` and `tests` themselves."""
    while "/" in (module := _folder(module)):
        yield module


def _module(path: str) -> str:
    return path.removesuffix(".py").removesuffix("/__init__")


def _folder(path: str) -> str:
    return path.rpartition("/")[0]


def _git(root: Path, *args: str) -> str:
    return subprocess.run(["git", *args], cwd=root, check=True, capture_output=True, text=True).stdout


def main() -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(prog="python -m figures.move", description="Move modules to their rooms.")
    parser.add_argument("rooms", nargs="+", metavar="ROOM", help="a new folder, such as agent/host")
    moves = plan(ROOT, rows_of(parser.parse_args().rooms, MOVES.read_text(encoding="utf-8")))
    carry_out(moves)
    for command in (["check", "-q", "--fix", "--select", "I"], ["format", "-q"]):
        subprocess.run([sys.executable, "-m", "ruff", *command, "."], cwd=ROOT, check=False)
    print(*(f"look: {line}" for line in moves.look), sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
