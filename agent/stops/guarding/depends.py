"""Find what a check depends on besides the code under test: scripts, helpers, configuration, installed tools."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path, PurePosixPath

from ...shell.words import UNKNOWN
from ..executed import Started, executed
from .dependencies import Dependencies
from .helper_names import is_helper, is_test_helper, test_files
from .imports import imports_of
from .installed import package_files, package_of, venv_files, venv_places, venvs_of
from .programs import outside_programs, own_programs, program_files, program_folders
from .shadows import Shadows, installed_names, standard_names
from .tool_table import Tool, names_in_scripts, tools_of

_MOST = 600
"""Most scripts whose imports are read."""
_MOST_PACKAGES = 60
"""Most installed packages of the tests that are guarded file by file."""
_PYTHON = re.compile(r"(python|pypy)[\d.]*$")
_SUFFIXES = (".sh", ".bash", ".py", ".js", ".mjs", ".cjs", ".ts", ".rb", ".pl", ".php", ".lua")
_ENDINGS = ("js", "mjs", "cjs", "ts", "mts", "json", "yml", "yaml", "toml")
_PREFIXES = (Path("/usr"), Path("/usr/local"))


def depends_on(commands: Iterable[str], predicates: Iterable[str], root: Path, env: Mapping[str, str]) -> Dependencies:
    """Return what these check commands and Python predicates (`FILE`) depend on. Reads files and executes nothing."""
    return _Search(root, env).find(list(commands), list(predicates))


class _Search:
    def __init__(self, root: Path, env: Mapping[str, str]) -> None:
        self._root, self._env = Path(os.path.realpath(root)), env
        self._found = Dependencies()
        self._roots: dict[str, None] = {}
        """Folders that Python searches first."""
        self._modules: set[str] = set()
        self._helpers: set[str] = set()
        """Modules of the check itself. A new module of that name in an earlier folder would replace it."""
        self._packages: set[tuple[str, str]] = set()
        self._programs: set[str] = set()
        self._read: set[str] = set()
        self._bins: dict[str, None] = {}
        """Workspace folders in PATH."""
        self._has_python = False

    def find(self, commands: Sequence[str], predicates: Sequence[str]) -> Dependencies:
        for command in commands:
            self._command(command, ".")
        for predicate in predicates:
            self._has_python = True
            folder = str(PurePosixPath(predicate).parent)
            self._roots[folder] = None
            self._found.files.add(predicate)
            self._follow(predicate, whole=True)
        if commands:
            self._tests()
        self._tools(tools_of(self._programs))
        self._installed()
        self._programs_in_path()
        self._shadows()
        self._found.files = {path for path in self._found.files if path and not path.startswith("../")}
        return self._found

    def _command(self, command: str, folder: str) -> None:
        runs = executed(command, self._root, folder)
        for path in sorted(runs.files):
            if path.startswith("**/"):
                self._found.patterns.add(path)
            else:
                self._found.files.add(path)
                self._follow(path)
        self._found.goals.update(runs.goals)
        for started in runs.started:
            self._start(started)

    def _start(self, started: Started) -> None:
        name = started.words[0].rpartition("/")[2]
        self._programs.update({name, *started.wrapped} - {UNKNOWN})
        folder = "." if started.folder.startswith(("/", "..")) else started.folder
        given = {item.partition("=")[0]: item.partition("=")[2] for item in started.given}
        if _PYTHON.match(name) or name == UNKNOWN:
            self._python(started.words, folder)
        if tools_of([name]) and any(
            "pytest" in tool.modules or "unittest" in tool.modules for tool in tools_of([name])
        ):
            self._has_python = True
            self._roots[folder] = None
        path = given.get("PATH") or self._env.get("PATH", "")
        self._found.files.update(program_files(name, folder, started.wrapped, path, self._root))
        self._bins.update(dict.fromkeys(program_folders(folder, started.wrapped, path, self._root)))
        for place in filter(None, (given.get("PYTHONPATH") or self._env.get("PYTHONPATH", "")).split(os.pathsep)):
            self._root_folder(place, folder)
        for tool in tools_of([name, *self._module_of(started.words)]):
            self._options(tool, started.words, folder)
            for variable in tool.env:
                self._named(given.get(variable) or self._env.get(variable, ""), folder)

    def _python(self, words: Sequence[str], folder: str) -> None:
        """Add the folder that Python searches first for a script, `python -m pkg` or `python -c`."""
        self._has_python = True
        modules = self._module_of(words)
        self._programs.update(modules)
        rest = [word for word in words[1:] if not word.startswith("-")]
        script = next((word for word in rest if word.endswith(".py")), None)
        if modules or script is None or UNKNOWN in script:
            self._roots[folder] = None
        else:
            place = (self._root / folder / script).parent
            self._root_folder(str(place), folder)
            if folder != ".":
                self._follow(os.path.relpath(os.path.normpath(self._root / folder / script), self._root))

    def _module_of(self, words: Sequence[str]) -> list[str]:
        if not _PYTHON.match(words[0].rpartition("/")[2]):
            return []
        return [words[i + 1].partition(".")[0] for i in range(1, len(words) - 1) if words[i] == "-m"][:1]

    def _root_folder(self, place: str, folder: str) -> None:
        real = Path(os.path.normpath(self._root / folder / place))
        if real.is_relative_to(self._root):
            self._roots[real.relative_to(self._root).as_posix()] = None

    def _options(self, tool: Tool, words: Sequence[str], folder: str) -> None:
        """Add the values of options that name a configuration, joined by `=` or as the next word."""
        for at, word in enumerate(words[1:], 1):
            name, joined, value = word.partition("=")
            if name not in tool.options and not (word.startswith("--") and "config" in name):
                continue
            value = value if joined else next(iter(words[at + 1 : at + 2]), "")
            if value and not value.startswith("-") and UNKNOWN not in value:
                self._named(value, folder)
                if name == "-p" and re.fullmatch(r"[\w.]+", value):
                    self._found.files.add(f"{value.replace('.', '/')}.py")

    def _named(self, value: str, folder: str) -> None:
        """Add the workspace files and folders that a value names; a value can name several."""
        for token in re.split(r"[\s:,]+|(?<=[a-z])=", value):
            if not token or UNKNOWN in token or not ("/" in token or "." in token):
                continue
            place = Path(os.path.normpath(self._root / folder / token))
            if not place.is_relative_to(self._root) or place == self._root:
                continue
            path = place.relative_to(self._root).as_posix()
            if place.is_dir():
                self._found.patterns.update(f"/{path}/{name}" for name in ("*.json", "*.toml", "*.cfg", "*.ini"))
            else:
                self._found.files.add(path)
                self._follow(path)

    def _follow(self, path: str, *, whole: bool = False, of_test: bool = False) -> None:
        """Add the files that a script imports or mentions.

        `whole`: all its imports decide (for a user's predicate). `of_test`: the script is a test that a runner finds.
        """
        if path in self._read or len(self._read) >= _MOST:
            return
        self._read.add(path)
        folder = str(PurePosixPath(path).parent)
        imports = imports_of(path, self._root, list(dict.fromkeys([folder, *self._roots, "."])))
        self._roots.update(dict.fromkeys(place or "." for place in imports.roots))
        for file in imports.files:
            is_beside = whole and (folder == "." or file.startswith(f"{folder}/"))
            is_own = is_test_helper(file, path) if of_test else is_helper(file, path, self._root)
            if is_beside or is_own:
                self._decides(file, imports.instead.get(file, []))
                if file in imports.instead:
                    self._helpers.add(_top_module(file, [folder, *self._roots, "."]))
                self._follow(file, whole=whole, of_test=of_test)
            elif (self._root / file).is_file():
                self._found.work.add(file)
        self._modules.update(imports.modules)
        if not of_test or len(self._packages) < _MOST_PACKAGES:
            self._packages.update((module, folder) for module in imports.modules)
        if not of_test:
            self._mentioned(imports.words, path, folder)

    def _decides(self, file: str, instead: Iterable[str]) -> None:
        self._found.files.add(file)
        for other in instead:
            (self._found.patterns if other.startswith("/") else self._found.files).add(other)

    def _mentioned(self, words: Iterable[str], path: str, folder: str) -> None:
        known = names_in_scripts()
        for word in words:
            first = word.split()[0] if word.split() else ""
            if first.rpartition("/")[2] in known:
                self._programs.add(first.rpartition("/")[2])
            if not first.endswith(_SUFFIXES) or "\0" in first or len(first) > 200:
                continue
            for base in (".", folder):
                file = os.path.normpath(PurePosixPath(base, first))
                if file.startswith(("/", "..")) or not (self._root / file).is_file():
                    continue
                if is_helper(file, path, self._root) or file.endswith((".sh", ".bash")):
                    self._found.files.add(file)
                    self._follow(file)

    def _tests(self) -> None:
        """Add helper modules of the tests that a runner finds, and the folders from which tests are imported."""
        for path in test_files(self._root):
            self._follow(path, of_test=True)
        if not self._has_python:
            return
        for path in sorted(self._root.glob("*.py")):
            if path.name.startswith("test_") or path.name.endswith("_test.py") or path.name == "conftest.py":
                self._follow(path.name)
        self._roots["."] = None
        for folder in ("src", "lib", "tests", "test"):
            if (self._root / folder).is_dir() and not (self._root / folder / "__init__.py").exists():
                self._roots[folder] = None

    def _tools(self, tools: Iterable[Tool]) -> None:
        for tool in tools:
            for file in tool.files:
                anywhere = file if "/" not in file or file.startswith(("**/", ".git/")) else f"**/{file}"
                if tool.holding is not None:
                    self._found.holding.add((anywhere, tool.holding))
                elif file.startswith(".git/"):
                    self._found.files.add(file)
                else:
                    self._found.patterns.add(anywhere)
            self._modules.update(module for module in tool.modules if self._has_python or "python" in module)
            self._outside(tool)

    def _outside(self, tool: Tool) -> None:
        home = Path(self._env.get("HOME") or "/nonexistent")
        self._found.outside.update(str(home / name) for name in tool.home)
        if tool.parents:
            names = [name for file in tool.files if "/" not in file for name in _variants(file)]
            for parent in list(self._root.parents)[:12]:
                self._found.outside.update(str(parent / name) for name in names)

    def _installed(self) -> None:
        """Add the files of packages inside the workspace that the check loads."""
        found, root = self._found, self._root
        venvs = venvs_of(sorted(found.files), root)
        for file in sorted(found.files):
            if "node_modules" in PurePosixPath(file).parts and (package := package_of(root / file, root)):
                self._packages.add(
                    (package.rpartition("node_modules/")[2], package.rpartition("/node_modules/")[0] or ".")
                )
        for venv in sorted(venvs):
            found.files.update(venv_files(venv, self._modules, root))
            found.places.update(venv_places(venv, root))
            for file in sorted(file for file in found.files if file.startswith(f"{venv}/bin/")):
                names = imports_of(file, root, [f"{venv}/bin"]).modules
                found.files.update(venv_files(venv, names, root))
        for package, folder in sorted(self._packages):
            if (root / "node_modules").is_dir() or (root / folder / "node_modules").is_dir():
                found.files.update(package_files(package, folder, root))

    def _programs_in_path(self) -> None:
        """Add workspace folders in PATH, where a new program with the name of a system program would replace it."""
        if not self._bins:
            return
        names = outside_programs(self._env.get("PATH", ""), self._root)
        for place in self._bins:
            self._found.places.add(place)
            self._found.files.update(f"{place}/{name}" for name in own_programs(place, names, self._root))
            self._roots[place] = None  # a Python program searches its own folder first
        self._found.programs = (frozenset(self._bins), frozenset(names))

    def _shadows(self) -> None:
        if not self._has_python:
            return
        prefixes = [*_PREFIXES, *(self._root / venv for venv in venvs_of(sorted(self._found.files), self._root))]
        prefixes += [
            Path(entry).parent for entry in self._env.get("PATH", "").split(os.pathsep) if entry.endswith("/bin")
        ]
        plain = {module for module in self._modules if module.isidentifier()}
        names = standard_names() | installed_names(dict.fromkeys(prefixes)) | plain | {"sitecustomize", "usercustomize"}
        roots = dict.fromkeys([*self._roots, "."])
        self._found.shadows = Shadows(roots, names | (self._helpers - {"__init__"}), self._root)


def _top_module(file: str, roots: Iterable[str]) -> str:
    """Return the top-level name of a module below one of these folders: `a` for `tests/a/b.py`."""
    below = [PurePosixPath(file).relative_to(root) for root in roots if root == "." or file.startswith(f"{root}/")]
    return min(below, key=lambda path: len(path.parts)).parts[0].removesuffix(".py")


def _variants(file: str) -> list[str]:
    """Return the file names that a glob stands for, including those of files that do not exist yet."""
    if "*" not in file:
        return [file]
    return [file.replace("*", ending) for ending in _ENDINGS] if file.endswith(".*") else []
