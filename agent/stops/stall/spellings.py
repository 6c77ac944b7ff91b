"""One file under several spellings is one file: `a.py`, `./a.py`, `x/../a.py` and its absolute path."""

from __future__ import annotations

import posixpath
import re
import shlex
from typing import cast

_PATHS = frozenset({"path", "file", "file_path", "folder", "cwd", "dir"})
"""Arguments that are a path."""
_SPELLED = re.compile(r"(^|[\s=:'\"])(?:\./|/)|//|/\./|/\.\./")
"""Something in a command line could be spelled shorter."""


def one_spelling(arguments: object, root: str) -> object:
    """The arguments with paths relative to the workspace, in their shortest form, also those in a command line."""
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
    """The line word by word; as it is where the shell's quoting cannot be read."""
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
