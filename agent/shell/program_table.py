"""The tables of programs, options and git commands, read from the TOML files next to this module."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TypeVar

import msgspec

_HERE = Path(__file__).parent

Sourced = dict[str, str]
"""Maps a name to the manual that documents it."""


class _Row(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    pass


class Always(_Row, frozen=True):
    """Programs that must ask even if a rule allows them."""

    why: str
    hides: bool
    """Whether they may run a command that is not visible, and that a rule denies."""
    programs: Sourced


class Alike(_Row, frozen=True):
    """Another name for a program."""

    is_: str = msgspec.field(name="is")
    source: str


class Wrapper(_Row, frozen=True):
    """A wrapper program: the wrapped command is judged in its place."""

    program: str
    flags: str
    """Letters of options that take no value."""
    valued: str
    """Letters of options that take a value."""
    source: str


class Programs(_Row, frozen=True):
    """The content of `programs.toml`: sets of programs by what they can do."""

    always: list[Always]
    shells: Sourced
    writers: Sourced
    readers: Sourced
    placed: Sourced
    inert: Sourced
    neutral: Sourced
    whole: Sourced
    single_dash: Sourced
    lists: Sourced
    alike: dict[str, Alike]
    wrapper: list[Wrapper]


class Options(_Row, frozen=True):
    """Options of one program that run code, run programs or write files."""

    program: str
    options: frozenset[str]
    source: str


class Modules(_Row, frozen=True):
    """Python modules that run other code."""

    names: frozenset[str]
    source: str


class RiskyOptions(_Row, frozen=True):
    """The content of `options.toml`: options that do more than the program's name suggests."""

    interpreter: list[Options]
    python_modules: Modules
    risky: list[Options]


class Before(_Row, frozen=True):
    """Options between `git` and its command."""

    options: frozenset[str]
    source: str


class Edits(_Row, frozen=True):
    """A git command that opens an editor."""

    command: str
    unless: frozenset[str]
    """Words of which any prevents the editor."""
    source: str


class Letters(_Row, frozen=True):
    """The harmless options of a git command that are letters."""

    flags: str
    """Letters without a value."""
    valued: str = ""
    """Letters with a value, which is the rest of the word or the next word."""


class GitOptions(_Row, frozen=True):
    """Long options of git commands."""

    options: frozenset[str]
    """Without `--` and `no-`."""
    source: str


class Git(_Row, frozen=True):
    """The content of `git.toml`: git commands and options that do more than their names suggest."""

    before: Before
    risky: Sourced
    edits: list[Edits]
    may_edit: Sourced
    commands: Sourced
    reads: Sourced
    harmless: GitOptions
    letters: dict[str, Letters]


@cache
def programs() -> Programs:
    """Return the table of programs."""
    return _read("programs.toml", Programs)


@cache
def risky_options() -> RiskyOptions:
    """Return the table of options that do more than the program's name suggests."""
    return _read("options.toml", RiskyOptions)


@cache
def git() -> Git:
    """Return the table of git commands and options that do more than their names suggest."""
    return _read("git.toml", Git)


T = TypeVar("T")


def _read(name: str, kind: type[T]) -> T:
    return msgspec.toml.decode((_HERE / name).read_bytes(), type=kind)
