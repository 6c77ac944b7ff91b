"""The places that commands can read under Landlock, whose rules can only grant access."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from ....system.real_paths import exists, is_link, real_path
from ....system.tables import read_table
from .mounts import PACKAGE, tool_folders
from .secret_places import outermost

if TYPE_CHECKING:
    from .hidden_places import HiddenPlaces

_FILE = Path(__file__).with_name("landlock_places.toml")
_LEAST_DEEP = 3
"""Minimum number of parts of a path from the environment: `/home` is not the folder of a toolchain."""
_INTERPRETERS = ("python3", "node", "ruby")
"""Links in a folder of PATH that lead to the folder of a toolchain."""


class _Table(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    system: list[str]
    kernel: list[str]
    runtime: list[str]
    devices: list[str]


def devices() -> list[Path]:
    """Return the devices that every command can read and write."""
    return [Path(name) for name in _table().devices]


def readable_places(hidden_places: HiddenPlaces, more: Iterable[Path] = ()) -> list[Path]:
    """Return the folders and files that commands can read, except for hidden places in them; links are resolved.

    `more`: places that the user shows to commands.
    """
    table = _table()
    given = [Path(name) for name in (*table.system, *table.kernel, *table.runtime)]
    own = [place for place in _of_user() if len(place.parts) >= _LEAST_DEEP or place == Path.home()]
    places = {real_path(place) for place in (*given, *own, *more)}
    return outermost([p for p in places if p != Path("/") and exists(p) and not hidden_places.covers(p)])


def _of_user() -> Iterator[Path]:
    yield Path.home()
    for folder in tool_folders():
        yield folder
        for name in _INTERPRETERS:
            program = folder / name
            if is_link(program):
                yield real_path(program).parent.parent
    yield PACKAGE
    yield from (Path(entry) for entry in sys.path if Path(entry).is_absolute())


@cache
def _table() -> _Table:
    return read_table(_FILE, _Table)
