"""Names of the standard and the installed modules of Python, which a new file could replace."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

_PREFIXES = (Path("/usr"), Path("/usr/local"))
_INSTALLED = ("versions/*", "installs/python/*")
_ENVIRONMENTS = (".venv", "venv", "env", ".virtualenv")
_SUFFIXES = (".py", ".pyc", ".pyo", ".pyw", ".so", ".pyd")
_PACKAGES = ("lib/python3*/site-packages", "lib/python3*/dist-packages", "lib/python3/dist-packages")


def module_names_of(root: Path, env: Mapping[str, str]) -> frozenset[str]:
    """Return the names of modules that the checks of a workspace could import from outside of its sources."""
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
