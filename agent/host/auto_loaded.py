"""The table of files that programs load by themselves, read from `auto_loaded_files.toml`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from fnmatch import translate
from functools import cache, lru_cache
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
        self.names, self.folders, self.exceptions = _Globs(row.names), _Globs(row.folders), _Globs(row.except_)
        self.below = frozenset(row.below)
        self.paths = [[_Globs([part]) for part in path.split("/")] for path in row.paths]

    def fits(self, folded: Sequence[str], number: int) -> bool:
        """Return whether the row is for this path. `number`: that of the row."""
        if self.exceptions.match(folded[-1]):
            return False
        if any(number in _folder_rows(part) for part in folded) or any(_has(folded, path) for path in self.paths):
            return True
        return number in _name_rows(folded[-1]) and (not self.below or not self.below.isdisjoint(folded[:-1]))


def _has(folded: Sequence[str], path: Sequence[_Globs]) -> bool:
    """Return whether these parts follow each other somewhere in the path."""
    starts = range(len(folded) - len(path) + 1)
    return any(all(glob.match(folded[at + i]) for i, glob in enumerate(path)) for at in starts)


def why_auto_loaded(folded: Sequence[str]) -> str | None:
    """Return why a program loads the file at this path by itself, or None. `folded`: its parts after `names.fold`."""
    if not folded:
        return None
    numbers = sorted({*_name_rows(folded[-1]), *(number for part in folded for number in _any_rows(part))})
    return next((row.why for number in numbers if (row := _rows()[number]).fits(folded, number)), None)


@lru_cache(maxsize=1 << 16)
def _name_rows(name: str) -> frozenset[int]:
    """Return the numbers of the rows with a name like this."""
    return frozenset(number for number, row in enumerate(_rows()) if row.names.match(name))


@lru_cache(maxsize=1 << 16)
def _folder_rows(part: str) -> frozenset[int]:
    return frozenset(number for number, row in enumerate(_rows()) if row.folders.match(part))


@lru_cache(maxsize=1 << 16)
def _any_rows(part: str) -> frozenset[int]:
    """Return the numbers of the rows that may be for a path with this part, whatever its last one is."""
    starts = {number for number, row in enumerate(_rows()) if any(path[0].match(part) for path in row.paths)}
    return _folder_rows(part) | starts


@cache
def rows() -> list[AutoLoaded]:
    """Return the rows of the table."""
    return msgspec.toml.decode(_FILE.read_bytes(), type=_Table).auto_loaded


@cache
def _rows() -> list[_Row]:
    return [_Row(row) for row in rows()]
