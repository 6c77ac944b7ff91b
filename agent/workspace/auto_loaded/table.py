"""The table of files that programs load by themselves, read from `auto_loaded_files.toml`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from fnmatch import translate
from functools import cache
from pathlib import Path

import msgspec

_FILE = Path(__file__).with_name("auto_loaded_files.toml")


class AutoLoaded(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One row of the table. All names are in lower case."""

    why: str
    """The reason that the person reads at the gate."""
    names: list[str] = []
    """Globs for the last part of a path."""
    folders: list[str] = []
    """Globs for any part: the folder itself and all of its content."""
    below: list[str] = []
    """If given, `names` match only below one of these folders."""
    paths: list[str] = []
    """Globs for consecutive parts (`.venv/bin`): the entry itself and all of its content."""
    except_: list[str] = msgspec.field(default=[], name="except")
    """Globs for the last part that exclude a path from the row."""
    source: list[str]
    """Where this is documented: an address, a manual page or a CVE."""


class _Table(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    auto_loaded: list[AutoLoaded]


class _Globs:
    """Names in a set and globs in a pattern, because most rows name files exactly and a set is faster."""

    def __init__(self, globs: Sequence[str]) -> None:
        self._exact = frozenset(glob for glob in globs if "*" not in glob)
        patterns = [translate(glob) for glob in globs if "*" in glob]
        self._pattern = re.compile("|".join(patterns)) if patterns else None

    def match(self, name: str) -> bool:
        return name in self._exact or (self._pattern is not None and self._pattern.match(name) is not None)


class _Row:
    def __init__(self, row: AutoLoaded) -> None:
        self.why = row.why
        self._names, self._folders, self._except = _Globs(row.names), _Globs(row.folders), _Globs(row.except_)
        self._below = frozenset(row.below)
        self._paths = [[_Globs([part]) for part in path.split("/")] for path in row.paths]

    def fits(self, folded: Sequence[str]) -> bool:
        name = folded[-1]
        if self._except.match(name):
            return False
        if any(map(self._folders.match, folded)) or any(_has(folded, path) for path in self._paths):
            return True
        return self._names.match(name) and (not self._below or not self._below.isdisjoint(folded[:-1]))


def _has(folded: Sequence[str], path: Sequence[_Globs]) -> bool:
    """Return whether these parts follow each other somewhere in the path."""
    starts = range(len(folded) - len(path) + 1)
    return any(all(glob.match(folded[at + i]) for i, glob in enumerate(path)) for at in starts)


def why_auto_loaded(folded: Sequence[str]) -> str | None:
    """Return why a program loads the file at this path by itself, or None. `folded`: its parts after `names.fold`."""
    return next((row.why for row in _rows() if row.fits(folded)), None) if folded else None


@cache
def rows() -> list[AutoLoaded]:
    """Return the rows of the table."""
    return msgspec.toml.decode(_FILE.read_bytes(), type=_Table).auto_loaded


@cache
def _rows() -> list[_Row]:
    return [_Row(row) for row in rows()]
