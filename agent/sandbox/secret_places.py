"""Find the files in which the user's programs store keys, tokens and passwords, as `secret_places.toml` lists them."""

from __future__ import annotations

import errno
import os
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path

import msgspec

from ..host.plain_files import read_plain
from ..host.real_paths import followed, is_file, is_folder, matches, real_path
from ..host.toml_tables import read_table
from ..protocol.text.shorten_text import end_cut

_FILE = Path(__file__).with_name("secret_places.toml")
_LINE = re.compile(
    rb"(?:passw|token|secret|_auth\b|api_?key|authorization)[^\n]*[=:>]\s*\S|://[^\s/@:]*:[^\s/@]+@|://(?!git@)[^\s/@:]{12,}@",
    re.IGNORECASE,
)
"""Matches a line of a settings file that looks like a secret."""
_MOST_SHOWN = 80
"""Characters of a path that a line shows."""
_NEEDED = ("/usr/bin", "/usr/lib", "/bin", "/lib", "/etc", "/dev", "/proc", "/tmp")
"""Folders without which no command starts."""
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
    found = {path for named in _candidates(Path.home(), env) if (path := followed(named)) is not None}
    there, needed = [path for path in found if is_folder(path) or is_file(path)], _needed()
    return outermost([path for path in there if not is_needed(path, needed)])


def unhidden_variables(env: Mapping[str, str]) -> list[str]:
    """Return a line for each variable whose path commands may see, because it cannot be examined or is needed."""
    found = list[str]()
    for variable, path in sorted(_named_by_variables(env)):
        try:
            is_readable = os.access(path, os.R_OK) or not Path(path).stat()
            why = "" if is_readable else "it cannot be read"
        except OSError as error:
            is_missing = error.errno in (errno.ENOENT, errno.ENOTDIR)
            why = "" if is_missing else f"it cannot be read: {error.strerror or error}"
        real = followed(path)
        if not why and real is not None and is_needed(real):
            why = "commands need it"
        if why:
            found.append(f"{variable} names {end_cut(path, _MOST_SHOWN)}, which is not hidden from commands ({why})")
    return found


def is_needed(path: Path, needed: Sequence[Path] = ()) -> bool:
    """Return whether no command would start if this folder were hidden, or a command could not use its home.

    `needed`: the places for which that holds, if the caller has found them for several paths.
    """
    return any(place.is_relative_to(path) for place in needed or _needed())


def _needed() -> list[Path]:
    return [real_path(place) for place in (Path.home(), *_NEEDED, sys.prefix, sys.base_prefix)]


def outermost(places: Sequence[Path]) -> list[Path]:
    """Return the places that are not inside another one of them, sorted."""
    found: list[Path] = []
    for place in sorted(set(places)):  # what is inside a place comes directly after it
        if not (found and place.is_relative_to(found[-1])):
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
    yield from (path for _, path in _named_by_variables(env))
    yield from _existing(Path("/"), [path.lstrip("/") for path in table.system.paths])
    perhaps = [
        *_existing(home, table.when_it_holds_one.home),
        *_existing(Path("/"), [path.lstrip("/") for path in table.when_it_holds_one.system]),
    ]
    yield from (path for path in perhaps if _holds_a_secret(path))


def _named_by_variables(env: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield each variable that names a place of secrets, with the path of the place."""
    table = _table()
    for variable, names in table.variables.items():
        if Path(env.get(variable, "")).is_absolute():
            yield from ((variable, path) for path in _existing(Path(env[variable]), names))
    for variable in table.files.names:
        for path in env.get(variable, "").split(os.pathsep):
            if Path(path).is_absolute():
                yield variable, path


def _existing(base: Path, names: Sequence[str]) -> Iterator[str]:
    for name in names:
        path = os.path.join(base, name)  # noqa: PTH118 - a `Path` takes four times as long
        if "*" in name:
            yield from matches(base, name)
        elif os.path.lexists(path):
            yield path


def _holds_a_secret(path: str) -> bool:
    if is_folder(path):
        return False
    try:
        return _LINE.search(read_plain(path)) is not None
    except OSError:  # too large for a settings file, or unreadable for commands too
        return True


@cache
def _table() -> _Table:
    return read_table(_FILE, _Table)
