"""Find the files in which the user's programs store keys, tokens and passwords, as `secret_places.toml` lists them."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path

import msgspec

from ....system.plain_files import read_plain
from ....system.real_paths import real_path
from ....system.tables import read_table

_FILE = Path(__file__).with_name("secret_places.toml")
_LINE = re.compile(
    rb"(?:passw|token|secret|_auth\b|api_?key|authorization)[^\n]*[=:>]\s*\S|://[^\s/@:]*:[^\s/@]+@|://(?!git@)[^\s/@:]{12,}@",
    re.IGNORECASE,
)
"""A line of a settings file that looks like a secret."""
_XDG = {"config": ".config", "data": ".local/share", "state": ".local/state", "cache": ".cache"}


class _Names(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    names: list[str]


class _System(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    paths: list[str]


class _Perhaps(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    home: list[str]
    system: list[str]


class _Table(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    home: dict[str, list[str]]
    config: _Names
    data: _Names
    state: _Names
    cache: _Names
    variables: dict[str, list[str]]
    files: _Names
    system: _System
    when_it_holds_one: _Perhaps


def secret_places(env: Mapping[str, str]) -> list[Path]:
    """Return the existing files and folders with secrets, links resolved. `env`: the environment of the user."""
    home = Path.home()
    found = {real_path(path) for path in _candidates(home, env)}
    real_home = real_path(home)
    kept = [path for path in found if (path.is_dir() or path.is_file()) and not real_home.is_relative_to(path)]
    return outermost(kept)


def outermost(places: Sequence[Path]) -> list[Path]:
    """Return the places that are not inside another one of them, sorted."""
    found: list[Path] = []
    for place in sorted(set(places)):
        if not any(place.is_relative_to(other) for other in found):
            found.append(place)
    return found


def _candidates(home: Path, env: Mapping[str, str]) -> Iterator[str]:
    table = _table()
    for names in table.home.values():
        yield from _existing(home, names)
    for kind, usual in _XDG.items():
        names = {"config": table.config, "data": table.data, "state": table.state, "cache": table.cache}[kind].names
        yield from _existing(home / usual, names)
        given = env.get(f"XDG_{kind.upper()}_HOME", "")
        if Path(given).is_absolute() and Path(given) != home / usual:
            yield from _existing(Path(given), names)
    for variable, names in table.variables.items():
        if Path(env.get(variable, "")).is_absolute():
            yield from _existing(Path(env[variable]), names)
    for variable in table.files.names:
        yield from (path for path in env.get(variable, "").split(os.pathsep) if Path(path).is_absolute())
    yield from _existing(Path("/"), [path.lstrip("/") for path in table.system.paths])
    perhaps = [
        *_existing(home, table.when_it_holds_one.home),
        *_existing(Path("/"), [path.lstrip("/") for path in table.when_it_holds_one.system]),
    ]
    yield from (path for path in perhaps if _holds_a_secret(path))


def _existing(base: Path, names: Sequence[str]) -> Iterator[str]:
    for name in names:
        path = str(base / name)
        if "*" in name:
            yield from map(str, base.glob(name))
        elif os.path.lexists(path):
            yield path


def _holds_a_secret(path: str) -> bool:
    if Path(path).is_dir():
        return False
    try:
        return _LINE.search(read_plain(path)) is not None
    except OSError:  # too large for a settings file, or unreadable for commands too
        return True


@cache
def _table() -> _Table:
    return read_table(_FILE, _Table)
