"""Build the bubblewrap arguments that show the readable places and hide others in them."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from ..host.real_paths import is_folder

if TYPE_CHECKING:
    from .hidden_places import HiddenPlaces

_REPLACED = (Path("/tmp"), Path("/var/tmp"))
"""Folders that are replaced by the temp folder of commands."""
_OWN = (Path("/dev"), Path("/proc"))
"""Folders of which each command has its own."""
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
)
"""Variables whose values are folders of toolchains."""
PACKAGE = Path(__file__).resolve().parents[2]
"""The folder that holds rundry's own code."""
CODE = tuple(PACKAGE / name for name in ("agent", "tui", "themes"))
"""The folders of rundry's own code."""
_KEPT_BY_ROOT = ("CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "SETGID", "SETUID", "NET_BIND_SERVICE")


def drop_capabilities() -> list[str]:
    """Return the arguments that drop the capabilities with which a command of root could unmount its mounts."""
    kept = [word for name in _KEPT_BY_ROOT for word in ("--cap-add", f"CAP_{name}")]
    return ["--cap-drop", "ALL", *kept] if os.geteuid() == 0 else []


def tool_folders() -> list[Path]:
    """Return the folders of the user's toolchains, as the environment names them, and of rundry's own code."""
    folders = [sys.prefix, sys.base_prefix]
    folders += [os.environ.get(name, "") for name in _TOOLS]
    for entry in os.environ.get("PATH", "").split(os.pathsep):
        # The files of a toolchain are next to the folder of its programs.
        folders.append(str(Path(entry).parent) if Path(entry).name in ("bin", "sbin") else entry)
        folders.append(entry)
    return [Path(folder) for folder in dict.fromkeys(folders) if Path(folder).is_absolute()]


class Places:
    """A set of places that contains all paths in them: `path in Places([folder])`. Links are not resolved."""

    def __init__(self, places: Iterable[Path]) -> None:
        self._places = {str(place) for place in places}

    def __contains__(self, path: Path | str) -> bool:
        text = str(path)
        while text not in self._places:
            above = text.rpartition("/")[0] or "/"
            if above == text:
                return False
            text = above
        return True


def mountable(places: Iterable[Path], temp: Path) -> list[Path]:
    """Return the places that can be mounted as they are on this machine. `temp`: the folder that replaces /tmp."""
    own, replaced, inside_temp = Places(_OWN), Places(_REPLACED), Places([temp])
    return [
        place
        for place in places
        if place not in own
        and (
            place not in replaced
            or (place not in _REPLACED and temp not in Places([place]) and place not in inside_temp)
        )
    ]


def links_to(places: Iterable[Path], visible: Iterable[Path]) -> list[tuple[str, str]]:
    """Return the links on the way to these places, with their targets, that are not inside a visible place.

    Those of the top folders and of /var are included (`/bin`, `/var/run`).
    """
    seen = Places([*visible, *_OWN, *_REPLACED, Path("/run")])
    found: dict[str, str] = {}
    plain: set[str] = {"/"}
    waiting = [*map(str, places), *_links_in("/"), *_links_in("/var")]
    while waiting:
        path, part = waiting.pop(), ""
        for name in path.strip("/").split("/"):
            part += f"/{name}"
            if part in plain:
                continue
            if part in found or part in seen:
                break
            try:
                found[part] = os.readlink(part)  # noqa: PTH115 - its text, not a path
            except OSError:  # it is not a link
                plain.add(part)
                continue
            waiting.append(
                os.path.normpath(f"{part}/../{found[part]}" if found[part][:1] != "/" else found[part])
                + path[len(part) :]
            )
            break
    return sorted(found.items())


def _links_in(folder: str) -> list[str]:
    try:
        with os.scandir(folder) as entries:
            return [entry.path for entry in entries if entry.is_symlink()]
    except OSError:
        return []


def hide_parents(hidden_places: HiddenPlaces, ws: Path) -> list[str]:
    """Return the arguments that hide the parent folders of the workspace, before it is mounted."""
    return [word for place in hidden_places.hidden if ws.is_relative_to(place) for word in ("--tmpfs", str(place))]


def hide(hidden_places: HiddenPlaces, ws: Path, blank: Path, *, root: Path | None = None) -> list[str]:
    """Return the arguments that mount an empty file or folder on all other hidden places.

    `blank`: an empty file. `root`: the folder that commands see at `ws`.
    """
    words = _fixed_parents(hidden_places, ws) if root is None else []
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


def _fixed_parents(hidden_places: HiddenPlaces, ws: Path) -> list[str]:
    """Return the arguments that mount each folder between the workspace and rundry's folders on itself.

    A mount point cannot be renamed. Otherwise the folder would not be hidden from the next command.
    """
    inside = [place for place in hidden_places.own if place.is_relative_to(ws)]
    parents = {parent for place in inside for parent in place.parents if parent.is_relative_to(ws) and parent != ws}
    return [word for parent in sorted(parents) for word in ("--bind", str(parent), str(parent))]
