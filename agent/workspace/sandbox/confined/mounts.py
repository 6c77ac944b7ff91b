"""Build the bubblewrap arguments that hide files and sockets and that replace the temp folder."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ....system.real_paths import is_folder
from .sockets import sockets_of_services

if TYPE_CHECKING:
    from .hidden_places import HiddenPlaces

_REPLACED = (Path("/tmp"), Path("/var/tmp"))
"""Folders that are replaced by the temp folder of commands."""
_EMPTY = (*_REPLACED, Path("/run"), Path("/var/run"), Path("/dev"))
_TOOLS = (
    "VIRTUAL_ENV",
    "CONDA_PREFIX",
    "PYENV_ROOT",
    "UV_TOOL_DIR",
    "CARGO_HOME",
    "RUSTUP_HOME",
    "NVM_DIR",
    "GOPATH",
    "GOROOT",
    "GOMODCACHE",
    "JAVA_HOME",
    "GEM_HOME",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "XDG_CACHE_HOME",
)
"""Variables whose values are folders of toolchains."""
PACKAGE = Path(__file__).resolve().parents[4]
"""The folder that holds rundry's own code."""
_KEPT_BY_ROOT = ("CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "SETGID", "SETUID", "NET_BIND_SERVICE")


def drop_capabilities() -> list[str]:
    """Return the arguments that drop the capabilities with which a command of root could unmount its mounts."""
    kept = [word for name in _KEPT_BY_ROOT for word in ("--cap-add", f"CAP_{name}")]
    return ["--cap-drop", "ALL", *kept] if os.geteuid() == 0 else []


def tool_folders() -> list[Path]:
    """Return the folders of the user's toolchains, as the environment names them, and of rundry's own code."""
    folders = [sys.prefix, sys.base_prefix, str(PACKAGE)]
    folders += [os.environ.get(name, "") for name in _TOOLS]
    for entry in os.environ.get("PATH", "").split(os.pathsep):
        # The files of a toolchain are next to the folder of its programs.
        folders.append(str(Path(entry).parent) if Path(entry).name in ("bin", "sbin") else entry)
        folders.append(entry)
    return [Path(folder) for folder in dict.fromkeys(folders) if Path(folder).is_absolute()]


def kept_below_temp(temp: Path) -> list[Path]:
    """Return the folders of the user and of toolchains inside a replaced temp folder, which must stay visible."""
    places = {Path(os.path.realpath(folder)) for folder in (Path.home(), *tool_folders())}
    kept = [
        place
        for place in places
        if any(place.is_relative_to(top) and place != top for top in _REPLACED)
        and is_folder(place)
        and not temp.is_relative_to(place)
        and not place.is_relative_to(temp)
    ]
    return sorted(kept)


def hide_parents(hidden_places: HiddenPlaces, ws: Path) -> list[str]:
    """Return the arguments that hide the parent folders of the workspace, before it is mounted."""
    return [word for place in hidden_places.hidden if ws.is_relative_to(place) for word in ("--tmpfs", str(place))]


def hide(hidden_places: HiddenPlaces, ws: Path, blank: Path, *, root: Path | None = None) -> list[str]:
    """Return the arguments that mount an empty file or folder on all other hidden places.

    `blank`: an empty file. `root`: the folder that commands see at `ws`.
    """
    words = list[str]()
    for place in hidden_places.hidden:
        if ws.is_relative_to(place):
            continue
        real = root / place.relative_to(ws) if root is not None and place.is_relative_to(ws) else place
        if is_folder(real):
            words += ["--tmpfs", str(place)]
            inner = [path for path in hidden_places.shown if path.is_relative_to(place)]
            words += [word for path in inner for word in ("--ro-bind", str(path), str(path))]
            if place.is_relative_to(ws):
                words += ["--remount-ro", str(place)]
        else:
            words += ["--ro-bind", str(blank), str(place)]
    return words


def hide_sockets(blank: Path, visible: Iterable[Path], hidden: Sequence[Path], *, but: Sequence[Path]) -> list[str]:
    """Return the arguments that mount an empty file on each socket that would otherwise be reachable.

    `visible`: folders of /tmp that stay visible. `but`: folders where the run's own servers may listen.
    """
    seen = list(visible)
    words = list[str]()
    for path in sockets_of_services():
        is_gone = any(path.is_relative_to(top) for top in _EMPTY) and not any(path.is_relative_to(v) for v in seen)
        if is_gone or any(path.is_relative_to(place) for place in (*hidden, *but)):
            continue
        words += ["--tmpfs", str(path)] if is_folder(path) else ["--ro-bind", str(blank), str(path)]
    return words
