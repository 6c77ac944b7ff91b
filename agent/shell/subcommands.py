"""The subcommands of well-known programs, read from `subcommands.toml`."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import msgspec

_FILE = Path(__file__).with_name("subcommands.toml")


class Subcommands(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One row of the table."""

    program: str
    names: frozenset[str]
    """All built-in subcommands of the program."""
    has_aliases: bool = True
    """Whether users, repositories or extensions can add subcommands, so that an unlisted name may mean anything."""
    groups: frozenset[str] = frozenset()
    """Subcommands that take a subcommand of their own: `stash` of git."""
    aliases: dict[str, str] = {}
    """Alternative names that the program itself defines."""
    valued: frozenset[str] = frozenset()
    """Options before the subcommand that take the next word as their value."""
    source: str


class _Table(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    program: list[Subcommands]


def subcommands(program: str) -> Subcommands | None:
    """Return the row of a program, or None."""
    return _table().get(program)


@cache
def _table() -> dict[str, Subcommands]:
    return {row.program: row for row in msgspec.toml.decode(_FILE.read_bytes(), type=_Table).program}
