"""Give each file one spelling, so that calls that name the same file by its real path count as the same call."""

from __future__ import annotations

import os
import re
import shlex
from pathlib import Path
from typing import cast

from ...host.meant_paths import meant_path
from ...host.real_paths import followed
from ...host.workspace_paths import Workspace

_PATHS = frozenset({"path", "file", "file_path", "filepath", "filename", "folder", "cwd", "dir", "directory"})
"""Names of arguments that are a path, also if nothing exists there."""
_LONGEST = 4096
"""Characters of the longest text that may be a path."""
_MOST_WORDS = 100
"""Words of a command line that are looked up."""
_SPELLED = re.compile(r"(^|[\s=:'\"])(?:\./|/)|//|/\./|/\.\./")
"""Matches a command line that contains a path with a shorter spelling."""


def normalise_paths(arguments: object, root: str) -> object:
    """Return the arguments with each path as its real path relative to `root`, also those in a command line.

    `./a.py`, `x/../a.py`, the absolute path, a link to the file and a spelling that is read as the file (`meant_path`)
    are one path. In arguments of another name a text counts as a path if something exists there.
    """
    return normalise_call(arguments, "", root)[0]


def normalise_call(arguments: object, result: str, root: str) -> tuple[object, str]:
    """Return the arguments as `normalise_paths` does, and the result with the same spelling of these paths."""
    if not isinstance(arguments, dict):
        return arguments, result
    names = _Names(root)
    spelled = {name: names.spelled(name, value) for name, value in cast("dict[str, object]", arguments).items()}
    for written in sorted(names.changed, key=len, reverse=True):
        result = result.replace(written, names.changed[written])
    return spelled, result


class _Names:
    """Spells the paths of one workspace. Only names are looked at, so no rule about access is needed."""

    def __init__(self, root: str) -> None:
        self._workspace = Workspace(Path(root))
        self.changed: dict[str, str] = {}
        """Maps each path that was written in another way to its spelling."""

    def spelled(self, name: str, value: object) -> object:
        """Return an argument with its paths in one spelling."""
        if isinstance(value, list):
            return [self.spelled(name, each) for each in cast("list[object]", value)]
        if not isinstance(value, str):
            return value
        if name == "command":
            return self._command(value)
        stripped = value.strip()
        if name in _PATHS:
            return self._real(meant_path(self._workspace, stripped, is_new=True), stripped)
        return self._real(stripped) if self._exists(stripped) else value

    def _command(self, line: str) -> str:
        """Normalise the paths in a command line; return it unchanged if its quoting cannot be parsed."""
        try:
            words = shlex.split(line) if _SPELLED.search(line) or "'" in line or '"' in line else line.split()
        except ValueError:
            return line
        return " ".join(
            self._real(word)
            if "://" not in word and ("/" in word or (i < _MOST_WORDS and self._exists(word)))
            else word
            for i, word in enumerate(words)
        )

    def _exists(self, text: str) -> bool:
        if not text or len(text) > _LONGEST or "\0" in text or "\n" in text:
            return False
        try:
            return os.path.lexists(self._workspace.root / text)
        except (OSError, ValueError):
            return False

    def _real(self, path: str, written: str = "") -> str:
        if not path or len(path) > _LONGEST or "\0" in path:
            return path
        root = self._workspace.root
        real = followed(root / path)
        inside = real is not None and real.is_relative_to(root)
        short = real.relative_to(root).as_posix() if real is not None and inside else os.path.normpath(path)
        written = written or path
        if short != written and len(written) > 1:
            self.changed[written] = short
        return short
