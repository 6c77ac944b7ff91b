"""Tables of options that are known to be harmless (`harmless.toml`), and of launchers (`launchers.toml`)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from fnmatch import translate
from functools import cache, cached_property
from pathlib import Path

import msgspec

_HERE = Path(__file__).parent


class Harmless(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, dict=True):
    """A program whose harmless options are all listed. Any other option asks."""

    programs: list[str]
    options: list[str]
    """Globs. A long option also matches with `=VALUE`."""
    never: list[str] = []
    """Globs of options that match `options` but are not harmless."""
    commands: list[str] = []
    """If given, any other subcommand of the program asks."""
    plain: list[str] = []
    """Those of the programs whose arguments are files, patterns or expressions: none is a subcommand."""
    forbids_assignments: bool = False
    """Whether `NAME=VALUE` asks, because it sets a variable for the program that is run."""
    source: list[str]

    @cached_property
    def _known(self) -> re.Pattern[str]:
        return _any_of(self.options)

    @cached_property
    def _never(self) -> re.Pattern[str]:
        return _any_of(self.never)

    def knows(self, word: str) -> bool:
        """Return whether the option is listed: alone, with its value, or bundled with other listed ones."""
        if self._never.match(word):
            return False
        if self._known.match(word) or (word.startswith("--") and self._known.match(word.partition("=")[0])):
            return True
        bundle = re.match(r"-([A-Za-z]{2,5})", word)
        for at, letter in enumerate(bundle[1] if bundle is not None else ""):
            if not self._known.match(f"-{letter}") or self._never.match(f"-{letter}"):
                return False
            if self._known.match(f"-{letter}\0"):
                return True  # the rest is its value
            if at + 2 == len(word):
                return True
        return False


class Launcher(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A program that runs the words after its subcommand and its own options."""

    programs: list[str]
    commands: list[str]
    """Its subcommands that launch; "" means the program itself."""
    before: frozenset[str] = frozenset()
    """Harmless options between the program and the subcommand."""
    before_valued: frozenset[str] = frozenset()
    flags: frozenset[str] = frozenset()
    """Harmless options between the subcommand and the launched command."""
    valued: frozenset[str] = frozenset()
    """Harmless options between the subcommand and the launched command that take the next word as their value."""
    source: list[str]


class _HarmlessTable(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    harmless: list[Harmless]


class _LauncherTable(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    launcher: list[Launcher]


def unlisted(program: str, given: Sequence[str]) -> str | None:
    """Return the first word that is not listed as harmless, or None if all are listed, or the program has no row."""
    row = harmless_rows().get(program)
    if row is None:
        return None
    command = None
    for word in given:
        if word in ("--", "-args"):
            break
        if word.startswith("-") and len(word) > 1 and not row.knows(word):
            return word
        if row.forbids_assignments and "=" in word and not word.startswith("-"):
            return word
        if command is None and not word.startswith("-"):
            command = word
    return command if row.commands and command is not None and command not in row.commands else None


@cache
def harmless_rows() -> dict[str, Harmless]:
    """Return the rows of `harmless.toml` by program."""
    table = msgspec.toml.decode((_HERE / "harmless.toml").read_bytes(), type=_HarmlessTable)
    return {program: row for row in table.harmless for program in row.programs}


@cache
def launcher_rows() -> dict[str, list[Launcher]]:
    """Return the rows of `launchers.toml` by program."""
    found: dict[str, list[Launcher]] = {}
    for row in msgspec.toml.decode((_HERE / "launchers.toml").read_bytes(), type=_LauncherTable).launcher:
        for program in row.programs:
            found.setdefault(program, []).append(row)
    return found


def _any_of(globs: Sequence[str]) -> re.Pattern[str]:
    return re.compile("|".join(translate(glob) for glob in globs) or "(?!)")
