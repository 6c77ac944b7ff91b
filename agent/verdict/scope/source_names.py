"""Distinguish sources, tests and settings by their names alone. The data is in `scope.toml`."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import msgspec

from ...host.files.quick_spec import QuickSpec

_FILE = Path(__file__).with_name("scope.toml")
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")


class Shadow(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The names and the signs of the test frameworks and the standard library of one language."""

    language: str
    endings: frozenset[str]
    """Endings of its sources."""
    frameworks: list[str] = []
    standard: list[str] = []
    marks: list[str] = []
    """Patterns of a line that only a test has."""


class Printed(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How a runner prints the place of a test."""

    runner: str
    pattern: str


class _Source(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    programs: list[str]
    styles: list[str]
    templates: list[str]


class _Programs(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    programs: frozenset[str]


class _Tests(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    words: frozenset[str]
    folders: frozenset[str]


class _Folders(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    folders: frozenset[str]


class _Globs(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    globs: list[str]


class _Table(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    source: _Source
    dependencies: _Folders
    installers: _Programs
    tests: _Tests
    configuration: _Globs
    shadow: list[Shadow]
    printed: list[Printed]


@cache
def table() -> _Table:
    """Return the table of `scope.toml`."""
    return msgspec.toml.decode(_FILE.read_bytes(), type=_Table)


@cache
def source_endings() -> frozenset[str]:
    """Return the endings of programs, styles and templates, in lower case."""
    source = table().source
    return frozenset([*source.programs, *source.styles, *source.templates])


def ending_of(path: str) -> str:
    """Return the ending of a file in lower case, as `PurePath.suffix` does, which takes ten times as long."""
    name = path[path.rfind("/") + 1 :]
    dot = name.rfind(".")
    return name[dot:].casefold() if 0 < dot < len(name) - 1 else ""


def is_source(path: str) -> bool:
    """Return whether the file is the product of a project by its ending."""
    return ending_of(path) in source_endings()


def is_markup(path: str) -> bool:
    """Return whether the file is a style or a template."""
    ending = ending_of(path)
    return ending in table().source.styles or ending in table().source.templates


def is_test_name(path: str) -> bool:
    """Return whether a folder on the path, or the file itself, has the name of a test."""
    folders, _, name = path.rpartition("/")
    return is_test_folder(folders) or has_test_word(name.rpartition(".")[0] or name)


def is_test_folder(folders: str) -> bool:
    """Return whether one of these folders (`a/b`) has the name of a folder of tests."""
    return any(has_test_word(part) or part.casefold() in table().tests.folders for part in folders.split("/") if part)


@cache
def has_test_word(name: str) -> bool:
    """Return whether a part of the name between dots begins or ends with a word for tests: `calc.test`, `FooTests`."""
    return any(
        words[0] in table().tests.words or words[-1] in table().tests.words
        for part in name.split(".")
        if (words := _words(part))
    )


def in_dependencies(path: str) -> bool:
    """Return whether the path lies in a folder that package managers fill."""
    return any(is_dependency_folder(part) for part in path.split("/")[:-1])


def is_dependency_folder(name: str) -> bool:
    """Return whether package managers fill folders of this name."""
    return name.casefold() in table().dependencies.folders


def installers() -> frozenset[str]:
    """Return the names of package managers and build tools."""
    return table().installers.programs


def is_hidden(path: str) -> bool:
    """Return whether a name on the path begins with a dot: settings of tools and CI."""
    return any(part.startswith(".") for part in path.split("/"))


@cache
def configuration() -> QuickSpec:
    """Return the names of code that a runner or a tool loads by itself."""
    return QuickSpec(glob.casefold() for glob in table().configuration.globs)


@cache
def frameworks() -> QuickSpec:
    """Return the names of the modules, headers and packages of test frameworks."""
    return QuickSpec(_anywhere(name) for shadow in table().shadow for name in shadow.frameworks)


@cache
def standard() -> QuickSpec:
    """Return the names of modules, headers and packages of standard libraries."""
    return QuickSpec(_anywhere(name) for shadow in table().shadow for name in shadow.standard)


@cache
def marks_of(ending: str) -> re.Pattern[str] | None:
    """Return a pattern of lines that only tests have, in sources with this ending, or None if there is none."""
    marks = [mark for shadow in table().shadow if ending in shadow.endings for mark in shadow.marks]
    return re.compile("|".join(f"(?:{mark})" for mark in marks), re.MULTILINE) if marks else None


@cache
def printed() -> list[re.Pattern[str]]:
    """Return how runners print the place of a test."""
    return [re.compile(row.pattern, re.MULTILINE) for row in table().printed]


def _anywhere(name: str) -> str:
    return f"**/{name}".casefold() if "/" in name else name.casefold()


def _words(part: str) -> list[str]:
    """Split a name at signs and capitals, in lower case, without digits at the end of a word."""
    found: list[str] = []
    for piece in re.split(r"[\W_]+", part):
        plain = piece.casefold().rstrip("0123456789")
        if plain in table().tests.words:
            found.append(plain)
        elif piece:
            found += [word.casefold() for word in _WORD.findall(piece)] or [plain]
    return found
