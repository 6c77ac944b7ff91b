"""Detect new Python modules that would be imported instead of standard or installed ones."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

_SUFFIXES = (".py", ".pyc", ".pyo", ".pyw", ".so", ".pyd")
_INSTALLED = ("lib/python3*/site-packages", "lib/python3*/dist-packages", "lib/python3/dist-packages")


class Shadows:
    """Matches paths that would replace a module, below the folders that Python searches first."""

    def __init__(self, roots: Iterable[str], names: Iterable[str], workspace: Path) -> None:
        """Record the modules that exist now, which belong to the project. `roots`: folders relative to `workspace`."""
        self._roots = tuple(dict.fromkeys("" if root in (".", "") else f"{root}/" for root in roots))
        self._names = frozenset(names)
        self.known: frozenset[str] = frozenset(self._standing(workspace)) if self._names else frozenset()
        """Modules with such names that existed at the start."""

    def forget_new(self, known: Iterable[str]) -> None:
        """Treat the modules that are not in `known` as new ones, although they exist."""
        self.known &= frozenset(known)

    def matches(self, path: str) -> bool:
        """Return whether a file at this path is a new module with the name of one that the check imports."""
        if not self._names:
            return False
        for root in self._roots:
            if path.startswith(root) and (name := self._module(path[len(root) :])) is not None:
                return f"{root}{name}" not in self.known
        return False

    def _module(self, rest: str) -> str | None:
        """Return the name of the module that the path defines below a root; None if it is not one of the names."""
        first, _, inner = rest.partition("/")
        stem = first.partition(".")[0]
        if stem not in self._names:
            return None
        if not inner:
            return stem if first.endswith(_SUFFIXES) else None
        is_package = first == stem and inner.startswith("__init__.") and inner.endswith(_SUFFIXES)
        return stem if is_package else None

    def _standing(self, workspace: Path) -> Iterator[str]:
        for root in self._roots:
            folder = workspace / root
            try:
                entries = list(folder.iterdir())
            except OSError:
                continue
            for entry in entries:
                stem = entry.name.partition(".")[0]
                if stem in self._names and (entry.name.endswith(_SUFFIXES) or any(entry.glob("__init__.*"))):
                    yield f"{root}{stem}"


def standard_names() -> frozenset[str]:
    """Return the names of the standard library's modules."""
    return frozenset(sys.stdlib_module_names)


def installed_names(prefixes: Iterable[Path]) -> set[str]:
    """Return the top-level modules that are installed below these prefixes (`/usr`, a virtual environment)."""
    found: set[str] = set()
    for prefix in prefixes:
        for pattern in _INSTALLED:
            for folder in prefix.glob(pattern):
                try:
                    names = [entry.name for entry in folder.iterdir()]
                except OSError:
                    continue
                found.update(
                    name.partition(".")[0] for name in names if name.isidentifier() or name.endswith(_SUFFIXES)
                )
    return found - {"__pycache__"}
