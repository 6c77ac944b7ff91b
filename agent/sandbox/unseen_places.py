"""Find paths in the messages of a failed command that exist on this machine but are hidden from commands."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

import msgspec

from ..host.plain_files import read_plain
from ..host.real_paths import exists, followed, home_path, is_folder, is_link, matches
from ..protocol.text.broken_json import BROKEN_JSON
from .refused_access import last_lines, paths_in

if TYPE_CHECKING:
    from ..host.processes.processes import Finished

_ABSENT = re.compile(
    r"no such file|not found|(?:cannot|can't|could not|failed to|unable to) (?:find|open|access|read|load|stat|cd)"
    r"|does not exist|doesn't exist|ENOENT|permission denied|EACCES|not a (?:directory|valid)|is missing",
    re.IGNORECASE,
)
_MODULE = re.compile(r"no module named ['\"]?([\w.]+)|cannot find (?:module|package) ['\"]([^'\"]+)", re.IGNORECASE)
_MOST = 3
"""Maximum number of places that are named."""
_MOST_LINKS = 2_000
_ENVIRONMENTS = (".venv", "venv", "env")


class _Folder(msgspec.Struct, frozen=True):
    editable: bool = False


class _DirectUrl(msgspec.Struct, frozen=True):
    """The record of a package that was not installed from an index (PEP 610)."""

    url: str
    dir_info: _Folder | None = None


class Dependency(msgspec.Struct, frozen=True):
    """A package of the workspace whose files are in another folder."""

    name: str
    """As programs import it, in lower case."""
    place: Path


def unseen_places(done: Finished, ws: Path, is_seen: Callable[[Path], bool]) -> list[Path]:
    """Return the places that the messages of a failed command name, and that exist although it cannot see them.

    `is_seen`: whether commands can read a path.
    """
    if not done.exit_code:
        return []
    found: dict[Path, None] = {}
    modules = set[str]()
    for line in last_lines(done):
        modules |= {(match[1] or match[2]).partition(".")[0].partition("/")[0] for match in _MODULE.finditer(line)}
        if not _ABSENT.search(line):
            continue
        for named in paths_in(line):
            if not named.isprintable():
                continue
            path = Path(os.path.normpath(ws / os.path.expanduser(named)))  # noqa: PTH111 - `~nobody` raises there
            if _exists_unseen(path, is_seen):
                found[path] = None
    if modules:
        found |= {
            one.place: None for one in unseen_dependencies(ws, is_seen) if one.name in {_plain(m) for m in modules}
        }
    return list(found)[:_MOST]


def unseen_dependencies(ws: Path, is_seen: Callable[[Path], bool]) -> list[Dependency]:
    """Return the editable installs and linked packages of the workspace whose folders commands cannot see."""
    return [one for one in (*_editable(ws), *_linked(ws)) if _exists_unseen(one.place, is_seen)]


def unseen_line(places: list[Path]) -> str:
    """Return the line that names the places and the setting that shows them."""
    shown = ", ".join(f'"{home_path(place)}"' for place in places)
    are = "are" if len(places) > 1 else "is"
    return f"{shown} {are} hidden from commands: [sandbox] show = [{shown}] in the user's own config shows it"


def _exists_unseen(path: Path, is_seen: Callable[[Path], bool]) -> bool:
    real = followed(path)
    return real is not None and exists(real) and not is_seen(real)


def _plain(name: str) -> str:
    return name.lower().replace("-", "_")


def _editable(ws: Path) -> Iterator[Dependency]:
    """Yield the editable installs in virtual environments: their records, and the folders that `.pth` files add."""
    given = os.environ.get("VIRTUAL_ENV", "")
    for environment in {*(ws / name for name in _ENVIRONMENTS), *([Path(given)] if Path(given).is_absolute() else [])}:
        packages = f"{environment}/lib/python3*/site-packages"
        for record in matches("/", f"{packages.lstrip('/')}/*.dist-info/direct_url.json")[:_MOST_LINKS]:
            try:
                origin = msgspec.json.decode(read_plain(record), type=_DirectUrl)
            except (OSError, *BROKEN_JSON):
                continue
            if origin.dir_info is not None and origin.dir_info.editable:
                folder = Path(unquote(urlsplit(origin.url).path))
                yield Dependency(_plain(Path(record).parent.name.partition("-")[0]), folder)
                for top in _text_lines(Path(record).with_name("top_level.txt")):
                    yield Dependency(_plain(top), folder)


def _linked(ws: Path) -> Iterator[Dependency]:
    """Yield the packages of `node_modules` that are links to folders elsewhere."""
    for path in [*matches(ws / "node_modules", "*"), *matches(ws / "node_modules", "@*/*")][:_MOST_LINKS]:
        real = followed(path) if is_link(path) else None
        if real is not None and is_folder(real) and not real.is_relative_to(ws):
            name = Path(path).relative_to(ws / "node_modules").as_posix()
            yield Dependency(_plain(name.partition("/")[0]), real)


def _text_lines(file: Path) -> list[str]:
    try:
        return read_plain(file).decode("utf-8", "replace").split()
    except OSError:
        return []
