"""Find the places in the user's home folder that commands need: toolchains, their caches and settings, git's settings.

Everything else at home is hidden. What the environment and the disk tell (PATH, variables of toolchains, links,
interpreters) is found here; `home_places.toml` lists the documented folders that nothing names.
"""

from __future__ import annotations

import os
import pwd
import re
import shutil
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache, lru_cache
from pathlib import Path

import msgspec

from ..host.plain_files import read_plain
from ..host.protected_names import is_secret
from ..host.real_paths import exists, followed, is_file, is_folder, is_link, real_path
from ..host.toml_tables import read_table
from .command_environment import variables_of_tools

_FILE = Path(__file__).with_name("home_places.toml")
_XDG = {"config": ".config", "data": ".local/share", "state": ".local/state", "cache": ".cache"}
_HOMES = (Path("/home"), Path("/root"))
"""Folders of homes of other users and of root."""
_PROGRAMS = frozenset({"bin", "sbin", "condabin"})
"""Names of folders of programs, which have the files of an installation next to them."""
_SHARED = frozenset({".local", ".config", ".cache", "share", "state"})
"""Folders of several programs, which are never one installation."""
_INSTALLED = ("lib", "lib64", "libexec", "pyvenv.cfg", "conda-meta", "release", "pkg/tool", "jmods")
"""Files next to the programs of an installation, which a folder with somebody's own scripts does not have."""
_WORD = re.compile(r"[\w.+-]+")
_SHEBANG = re.compile(rb"#!\s*(/[^\s\0]+)")
_SECTION = re.compile(r"\s*\[\s*([A-Za-z0-9.-]+)")
_PATH_OF_GIT = re.compile(
    r"\s*(path|excludesfile|attributesfile|template|templatedir)\s*=\s*\"?([^\"\n]+?)\"?\s*$", re.I
)
_GIT_SECTIONS = frozenset({"include", "includeif", "core", "commit", "init"})
_CERTIFICATE = ".pem"
_MOST_INCLUDES = 20
_MOST_SCRIPTS = 2_000
_VENVS = (".venv", "venv", "env", ".env")
"""The usual names of a virtual environment in a project."""


class _Names(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    names: list[str]


class _Settings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    home: list[str]
    config: list[str]


class _NotToolchains(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    names: list[str]
    groups: list[str]


class _Caches(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    home: list[str]
    data: list[str]
    cache: list[str]
    programs: frozenset[str]
    made: dict[str, list[str]]
    limit: int
    variables: dict[str, list[str]]


class _Table(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    home: dict[str, list[str]]
    config: _Names
    data: _Names
    state: _Names
    cache: _Names
    caches: _Caches
    unless_it_holds_a_secret: _Settings
    not_toolchains: _NotToolchains


def homes() -> list[Path]:
    """Return the home folder of this process and that of the account, links resolved; they differ under `sudo`."""
    found = [Path.home()]
    with suppress(KeyError, OSError):
        found.append(Path(pwd.getpwuid(os.getuid()).pw_dir))
    real = [path for home in found if (path := followed(home)) is not None and path != Path("/")]
    return list(dict.fromkeys(real))


def is_at_home(path: Path, own_homes: Iterable[Path] | None = None) -> bool:
    """Return whether the path, links resolved, is a home folder, contains one or is inside one.

    `own_homes`: the result of `homes`, for a caller that asks about many paths.
    """
    text = f"{path}/"  # compared as texts in a tenth of the time of `Path.is_relative_to`
    known = (*(homes() if own_homes is None else own_homes), *_HOMES)
    return text == "//" or any(text.startswith(f"{home}/") or f"{home}/".startswith(text) for home in known)


def home_places(env: Mapping[str, str], ws: Path) -> list[Path]:
    """Return the existing places that commands may read at home, as they are named; links are not resolved.

    `ws`: the workspace, whose virtual environment names its interpreter.
    """
    found: dict[Path, None] = {}
    own_homes = homes()
    for path in (
        *_documented(env, own_homes),
        *_of_variables(env),
        *_of_search_path(env, own_homes),
        *_of_git(env, ws),
        *_of_environments(ws),
    ):
        if not exists(path):  # most of them: to follow a path costs ten times as much
            continue
        real = followed(path)
        if real is not None and not _contains_a_home(real, own_homes):
            found[Path(os.path.normpath(path))] = None
            found[real] = None
    return list(found)


def caches_at_home(env: Mapping[str, str], ws: Path) -> list[Path]:
    """Return the existing caches of package managers that lie apart from the workspace; links are resolved."""
    table = _table().caches
    named = [(env.get(name, ""), below) for name, below in table.variables.items()]
    found = [
        Path(part, name)
        for value, below in named
        for part in value.split(os.pathsep)
        if Path(part).is_absolute()
        for name in below
    ]
    found += [Path.home() / name for name in table.home]
    for kind, names in (("data", table.data), ("cache", table.cache)):
        given = Path(env.get(f"XDG_{kind.upper()}_HOME", ""))
        found += [(given if given.is_absolute() else Path.home() / _XDG[kind]) / name for name in names]
    real = {place for path in found if (place := followed(path)) is not None and is_folder(place)}
    apart = sorted(one for one in real if not (one.is_relative_to(ws) or ws.is_relative_to(one)))
    inner = {one for one in apart if any(one != other and one.is_relative_to(other) for other in apart)}
    return [one for one in apart if one not in inner][: table.limit]


def fills_caches(line: str) -> bool:
    """Return whether a command line names a program that fills such a cache, or starts those that do."""
    return not _table().caches.programs.isdisjoint(_WORD.findall(line))


@cache
def caches_to_make() -> list[Path]:
    """Return the caches at home that the package managers of this machine make and need."""
    made = _table().caches.made
    return [Path.home() / name for program, names in made.items() if shutil.which(program) for name in names]


def installations_of(program: Path) -> list[Path]:
    """Return the installations of which a program and the one to which it links are a part: prefixes, environments."""
    folders = (program.parent, real_path(program).parent)
    own_homes, places = homes(), [place for folder in folders for place in _installation(folder)]
    return [place for place in places if not _contains_a_home(real_path(place), own_homes)]


def secrets_in(places: Iterable[Path]) -> list[Path]:
    """Return the files directly in these folders whose names say that they hold secrets, such as `.env`."""
    found = list[Path]()
    for place in places:
        if is_folder(place):
            with suppress(OSError), os.scandir(place) as listing:
                found += [Path(entry.path) for entry in listing if _is_hidden_file(entry)]
    return found


def _is_hidden_file(entry: os.DirEntry[str]) -> bool:
    return is_secret(entry.name) and not entry.name.endswith(_CERTIFICATE) and entry.is_file()


def _contains_a_home(path: Path, own_homes: Iterable[Path]) -> bool:
    return path in _HOMES or any(home.is_relative_to(path) for home in own_homes)


def _documented(env: Mapping[str, str], own_homes: Iterable[Path]) -> Iterator[str]:
    table = _table()
    for home in dict.fromkeys((Path.home(), *own_homes)):
        settings = table.unless_it_holds_a_secret
        for names in (*table.home.values(), settings.home):
            yield from (f"{home}/{name}" for name in names)
        for kind, usual in _XDG.items():
            names = {"config": table.config, "data": table.data, "state": table.state, "cache": table.cache}[kind].names
            names = [*names, *settings.config] if kind == "config" else names
            given = Path(env.get(f"XDG_{kind.upper()}_HOME", ""))
            for base in {home / usual, *([given] if given.is_absolute() else [])}:
                yield from (f"{base}/{name}" for name in names)


def _of_variables(env: Mapping[str, str]) -> Iterator[Path]:
    """Yield the paths that variables of toolchains name: folders, files, and lists of them."""
    table = _table().not_toolchains
    for name in variables_of_tools(env, table.groups):
        if name not in table.names:
            yield from (Path(part) for part in env[name].split(os.pathsep) if Path(part).is_absolute())


def _of_search_path(env: Mapping[str, str], own_homes: Sequence[Path]) -> Iterator[Path]:
    """Yield the folders of PATH, and the installations and interpreters of the programs in them."""
    folders = [Path(entry) for entry in env.get("PATH", "").split(os.pathsep) if Path(entry).is_absolute()]
    for folder in (*folders, Path(sys.executable).parent):
        yield folder
        yield from _installation(folder)
        real = followed(folder)
        if real is not None:
            yield from _installation(real)
            with suppress(OSError):
                yield from _programs_in(str(real), real.stat().st_mtime_ns, tuple(own_homes))
    yield from map(Path, (sys.prefix, sys.base_prefix))


@lru_cache(maxsize=256)
def _programs_in(folder: str, changed: int, own_homes: Sequence[Path]) -> list[Path]:
    """Return the other places at home that the programs of a folder need. `changed`: the mtime of the folder."""
    del changed
    at_home = is_at_home(Path(folder), own_homes)
    found = list[Path]()
    with os.scandir(folder) as listing:
        entries = [entry.path for entry in listing if at_home or entry.is_symlink()][:_MOST_SCRIPTS]
    for path in entries:
        real = followed(path)
        if real is None or not (at_home or is_at_home(real, own_homes)) or not is_file(real):
            continue
        if is_link(path):
            found += [Path(os.path.normpath(Path(folder, Path(path).readlink()))), real, *_installation(real.parent)]
        found += _interpreter_of(real, own_homes)
    return found


def _interpreter_of(script: Path, own_homes: Sequence[Path]) -> Iterator[Path]:
    """Yield the program that a script names in its first line, with its installation, if it is at home."""
    try:
        with script.open("rb") as file:
            named = _SHEBANG.match(file.read(400))
    except OSError:
        return
    program = Path(os.fsdecode(named[1])) if named is not None else None
    real = followed(program) if program is not None else None
    if program is None or real is None or not is_file(real):
        return
    if not (is_at_home(program, own_homes) or is_at_home(real, own_homes)):
        return
    yield from (program, real, *_installation(program.parent), *_installation(real.parent))


def _installation(folder: Path) -> Iterator[Path]:
    """Yield the folder above a folder of programs if it is an installation: a prefix, an SDK, a virtual environment."""
    above = folder.parent
    if folder.name not in _PROGRAMS or above.name in _SHARED or is_folder(above / ".git"):
        return
    if any(exists(above / name) for name in _INSTALLED):
        yield above


def _of_environments(ws: Path) -> Iterator[Path]:
    """Yield the Python of a virtual environment in the workspace. A command may have made it: only a Python counts."""
    for name in _VENVS:
        real = followed(ws / name / "bin" / "python") if exists(ws / name / "pyvenv.cfg") else None
        if real is not None and real.parent.name == "bin":
            prefix = real.parent.parent
            if any(exists(folder / "os.py") for folder in prefix.glob("lib/python3*")):
                yield prefix


def _of_git(env: Mapping[str, str], ws: Path) -> Iterator[Path]:
    """Yield git's settings of the user, the files that they include, and those that they name.

    What a file in the workspace names does not count, because a model can write there.
    """
    config = Path(env.get("XDG_CONFIG_HOME", "") or Path.home() / ".config")
    waiting = [Path.home() / ".gitconfig", config / "git" / "config"]
    if given := env.get("GIT_CONFIG_GLOBAL", ""):
        waiting = [Path(given)]
    seen = set[Path]()
    while waiting and len(seen) < _MOST_INCLUDES:
        file = waiting.pop()
        if file in seen or not is_file(file):
            continue
        seen.add(file)
        yield file
        real = followed(file)
        if real is None or (real.is_relative_to(ws) and ws not in homes()):
            continue
        for section, key, path in _paths_in(file):
            if section.startswith("include"):
                waiting.append(path)
            elif key != "templatedir" or is_folder(path):
                yield path


def _paths_in(file: Path) -> Iterator[tuple[str, str, Path]]:
    """Yield the files that settings of git name (git-config(1)): section, key and absolute path."""
    try:
        lines = read_plain(file).decode("utf-8", "replace").splitlines()
    except OSError:
        return
    section = ""
    for line in lines:
        if found := _SECTION.match(line):
            section = found[1].lower()
        named = _PATH_OF_GIT.match(line)
        if named is not None and section in _GIT_SECTIONS:
            path = Path(named[2].strip())
            with suppress(RuntimeError):  # `~someone` who does not exist
                yield section, named[1].lower(), file.parent / path.expanduser()


@cache
def _table() -> _Table:
    return read_table(_FILE, _Table)
