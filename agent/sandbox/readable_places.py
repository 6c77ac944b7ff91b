"""The places that commands can read: the system, toolchains, and what the home folder has of them."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from ..host.real_paths import exists, followed, is_link, real_path
from ..host.toml_tables import read_table
from .home_places import is_at_home
from .sandbox_mounts import CODE, tool_folders
from .secret_places import outermost

if TYPE_CHECKING:
    from .hidden_places import HiddenPlaces

_FILE = Path(__file__).with_name("system_places.toml")
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
    places = {real_path(place) for place in (*given, *_outside_of_home(), *CODE, *hidden_places.at_home, *more)}
    return outermost([p for p in places if p != Path("/") and exists(p) and not hidden_places.covers(p)])


def _outside_of_home() -> Iterator[Path]:
    """Yield the folders of toolchains in other places than the home folder."""
    for folder in (*tool_folders(), *(Path(entry) for entry in sys.path if Path(entry).is_absolute())):
        real = followed(folder)
        if real is None or is_at_home(real) or len(real.parts) < _LEAST_DEEP:
            continue
        yield folder
        for name in _INTERPRETERS:
            program = followed(folder / name) if is_link(folder / name) else None
            if program is not None and not is_at_home(program.parent.parent):
                yield program.parent.parent


@cache
def _table() -> _Table:
    return read_table(_FILE, _Table)
