"""Names of the standard and the installed modules of Python, which a new file could replace."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from ..stops.guarding.shadows import installed_names, standard_names

_PREFIXES = (Path("/usr"), Path("/usr/local"))
_INSTALLED = ("versions/*", "installs/python/*")
_ENVIRONMENTS = (".venv", "venv", "env", ".virtualenv")


def module_names_of(root: Path, env: Mapping[str, str]) -> frozenset[str]:
    """Return the names of modules that the checks of a workspace could import from outside of its sources."""
    prefixes = [*_PREFIXES, *(root / name for name in _ENVIRONMENTS)]
    for entry in map(Path, filter(None, env.get("PATH", "").split(os.pathsep))):
        if entry.name == "bin":
            prefixes.append(entry.parent)
        elif entry.name == "shims":  # of pyenv, asdf and mise: the programs lie elsewhere
            prefixes += [found for glob in _INSTALLED for found in entry.parent.glob(glob)]
    return standard_names() | frozenset(installed_names(dict.fromkeys(prefixes))) | {"sitecustomize", "usercustomize"}
