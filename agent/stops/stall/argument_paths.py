"""Normalise paths, so that `a.py`, `./a.py`, `x/../a.py` and the absolute path count as one file."""

from __future__ import annotations

import posixpath
import re
import shlex
from typing import cast

_PATHS = frozenset({"path", "file", "file_path", "folder", "cwd", "dir"})
"""Names of arguments that are a path."""
_SPELLED = re.compile(r"(^|[\s=:'\"])(?:\./|/)|//|/\./|/\.\./")
"""Matches a command line that contains a path with a shorter spelling."""


def normalise_paths(arguments: object, root: str) -> object:
    """Return the arguments with all paths, also those in a command line, in their shortest form relative to `root`."""
    if not isinstance(arguments, dict):
        return arguments
    named = cast("dict[str, object]", arguments)
    return {name: _spelled(name, value, root) for name, value in named.items()}


def _spelled(name: str, value: object, root: str) -> object:
    if not isinstance(value, str):
        return value
    if name in _PATHS:
        return _short(value.strip(), root)
    return _command(value, root) if name == "command" else value


def _command(line: str, root: str) -> str:
    """Normalise the paths in a command line; return it unchanged if its quoting cannot be parsed."""
    try:
        words = shlex.split(line) if _SPELLED.search(line) or "'" in line or '"' in line else line.split()
    except ValueError:
        return line
    return " ".join(_short(word, root) if "/" in word and "://" not in word else word for word in words)


def _short(path: str, root: str) -> str:
    if not path:
        return path
    normal = posixpath.normpath(path)
    inside = posixpath.relpath(normal, root) if normal.startswith("/") else normal
    return normal if inside.startswith("../") else inside
