"""Make the scope of a run from the workspace at its start."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from ..judge.start_files import read_start
from ..predicates.required import required_commands
from .check_parts import CheckParts
from .scope import Scope

if TYPE_CHECKING:
    from ...protocol import RunSpec

EVERY_FILE = "**/*"
_NONE = "none"
"""The value of `--guard` that puts everything into the scope."""

_PREFIXES = (Path("/usr"), Path("/usr/local"))
_INSTALLED = ("versions/*", "installs/python/*")
_ENVIRONMENTS = (".venv", "venv", "env", ".virtualenv")
_SUFFIXES = (".py", ".pyc", ".pyo", ".pyw", ".so", ".pyd")
_PACKAGES = ("lib/python3*/site-packages", "lib/python3*/dist-packages", "lib/python3/dist-packages")


def scope_of(
    spec: RunSpec,
    root: Path,
    env: Mapping[str, str],
    first_output: str = "",
    *,
    undecided: Mapping[str, str] | None = None,
) -> Scope:
    """Return what a run may change. It reads files and executes nothing.

    `root`: the workspace as it was at the start. `env`: of the checks. `first_output`: what the first checks printed.
    `undecided`: the paths that earlier runs changed and nobody decided on, each with its text before.
    """
    wanted = spec.predicates
    taken_away = [*(each for each in wanted.guard if each != _NONE), *wanted.holdout_files]
    added, taken = (_relative(globs, root) for globs in (wanted.scope, taken_away))
    if _NONE in wanted.guard:
        return Scope(everything=True, added=added, taken=taken)
    start = read_start(root, env)
    parts = CheckParts(start, env)
    for script in wanted.until_py:
        for path in _inside([script.rpartition(":")[0]], root):
            parts.add_script(path)
    for path in _inside([wanted.schema] if wanted.schema else [], root):
        parts.paths[path] = "the schema of the answer"
    parts.add_commands(checks_of(spec))
    parts.add_tests()
    parts.add_undecided(undecided or {})
    finder = spec.finder
    items = [glob for glob in finder.globs if glob != EVERY_FILE] if finder is not None and finder.check else []
    scope = Scope(
        added=added,
        taken=taken,
        items=tuple(items),
        named=frozenset(_inside(wanted.until_file, root)),
        results=frozenset(path for path in parts.results - parts.paths.keys() if _is_text(path)),
        about=frozenset(path for path in _inside(wanted.about, root) if _is_text(path)),
        scripts=frozenset(path for path in start.scripts if _is_text(path)),
        decides={path.casefold(): why for path, why in sorted(parts.paths.items()) if _is_text(path)},
        patterns=tuple((glob.casefold(), why) for glob, why in sorted(parts.patterns.items()) if _is_text(glob)),
        ignore=start.ignore,
        excludes=start.excludes,
        closed=frozenset(path for path in start.closed if _is_text(path)),
        roots=frozenset(path for path in (start.python_roots() | parts.roots) if _is_text(path)),
        modules=module_names_of(root, env),
        endings=start.endings,
        inner=frozenset(path for path in start.inner if _is_text(path)),
        doctests=parts.doctests,
    )
    return scope.with_first_output(first_output, root)


def checks_of(spec: RunSpec) -> list[str]:
    """Return the command lines that decide about a run or its items."""
    wanted = spec.predicates
    confirming = [wanted.confirm_with] if wanted.confirm_with is not None else []
    of_items = [spec.finder.check] if spec.finder is not None and spec.finder.check else []
    score = [spec.improve.score] if spec.improve is not None else spec.guarded_commands
    return [*wanted.until, *confirming, *required_commands(wanted.require), *of_items, *score]


def _inside(paths: Iterable[str], root: Path) -> list[str]:
    """Return paths relative to the workspace, without those outside."""
    real = os.path.realpath(root)
    found = (os.path.relpath(os.path.normpath(Path(real) / path), real) for path in paths)
    return [PurePosixPath(path).as_posix() for path in found if not path.startswith("..")]


def _relative(globs: Iterable[str], root: Path) -> tuple[str, ...]:
    """Return globs as the scope keeps them: an absolute path becomes one of the workspace."""
    real = os.path.realpath(root)
    return tuple(dict.fromkeys(glob.removeprefix(real) if glob.startswith(f"{real}/") else glob for glob in globs))


def _is_text(path: str) -> bool:
    """Return whether the journal can keep the path."""
    return not any("\ud800" <= sign <= "\udfff" for sign in path)


def module_names_of(root: Path, env: Mapping[str, str]) -> frozenset[str]:
    """Return the names of modules that checks import from outside of the sources, and that a new file could replace."""
    prefixes = [*_PREFIXES, *(root / name for name in _ENVIRONMENTS)]
    for entry in map(Path, filter(None, env.get("PATH", "").split(os.pathsep))):
        if entry.name == "bin":
            prefixes.append(entry.parent)
        elif entry.name == "shims":  # of pyenv, asdf and mise: the programs lie elsewhere
            prefixes += [found for glob in _INSTALLED for found in entry.parent.glob(glob)]
    installed = frozenset(_installed(dict.fromkeys(prefixes))) - {"__pycache__"}
    return frozenset(sys.stdlib_module_names) | installed | {"sitecustomize", "usercustomize"}


def _installed(prefixes: Iterable[Path]) -> Iterator[str]:
    """Yield the top-level modules that are installed below these prefixes (`/usr`, a virtual environment)."""
    for folder in (folder for prefix in prefixes for pattern in _PACKAGES for folder in prefix.glob(pattern)):
        try:
            names = [entry.name for entry in folder.iterdir()]
        except OSError:
            continue
        yield from (name.partition(".")[0] for name in names if name.isidentifier() or name.endswith(_SUFFIXES))
