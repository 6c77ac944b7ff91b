"""Find the folders of a workspace that background commands and MCP servers can write, which work outside of layers.

In an overlay they would not see what is applied meanwhile. So they see the workspace itself, read-only but for these.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from ..host.file_errors import PathRefused
from ..host.real_paths import real_path
from ..repo.checkout.dependency_folders import dependency_folders, ignored_names
from ..repo.protected_places import is_real_folder
from ..repo.repository import repository_top
from .effect_classes import Sorter
from .layer_effects import Effect, Side
from .started_files import SettingsUnreadable, tracked_files
from .surroundings import read_surroundings

if TYPE_CHECKING:
    from ..host.workspace_paths import Workspace

_FILE = Side(type="file")
_SAMPLE = "rundry-sample"
"""Name of a file that stands for all files of a folder."""


def live_folders(
    ws: Workspace,
    named: Sequence[str],
    env: Mapping[str, str],
    is_protected: Callable[[str], bool],
    made: frozenset[str] = frozenset(),
) -> list[Path]:
    """Return the existing ignored folders of output and caches that nothing protects, and those that the user named.

    `named`: paths relative to the workspace. A missing folder is made; a link, a file or a protected one is left out.
    `env`: the environment in which the user works. `is_protected`: whether a rule or the guard asks for a path. `made`:
    the files and folders that this run made.
    """
    own = list[Path]()
    for name in named:
        place = ws.root / name
        with suppress(OSError, PathRefused):  # a file, a protected name, a folder that cannot be made
            ws.refuse(real_path(place), name)
            if real_path(place) == place and not ws.caution(place):
                place.mkdir(parents=True, exist_ok=True)
                own.append(place)
    found = [ws.root / path for path in _output_folders(ws, env, is_protected, made)]
    return [*own, *(path for path in found if not any(path.is_relative_to(place) for place in own))]


def _output_folders(
    ws: Workspace, env: Mapping[str, str], is_protected: Callable[[str], bool], made: frozenset[str]
) -> list[str]:
    samples = {folder: f"{folder}/{_SAMPLE}" for folder in _candidates(ws.root)}
    free = [folder for folder, sample in samples.items() if not (is_protected(folder) or is_protected(sample))]
    effects = [Effect(path=samples[folder], kind="changed", before=_FILE, after=_FILE) for folder in free]
    if not effects:
        return []
    try:
        known = read_surroundings(ws, effects, _no_link, env, made=made)
        tracked = _tracked(ws.root, free)
    except (SettingsUnreadable, OSError):  # what runs by itself is not known
        return []
    sorter, started = Sorter(effects, known), (*known.files, *known.folders)
    return [
        folder
        for folder, effect in zip(free, effects, strict=True)
        if sorter.decide(effect).kind == "built"
        and not any(f"{path}/".startswith(f"{folder}/") for path in (*started, *tracked))
    ]


def _candidates(root: Path) -> list[str]:
    """Return the ignored folders, and of one of dependencies the caches in it."""
    dependencies = dependency_folders(root)
    found = list[str]()
    for path, _, _ in ignored_names(root):
        kind = dependencies.get(path)
        found += [path] if kind is None else [f"{path}/{name}" for name in kind.caches]
    return [path for path in found if is_real_folder(root / path)]


def _tracked(root: Path, folders: Sequence[str]) -> list[str]:
    """Return the files in these folders that are in an index. Raises SettingsUnreadable."""
    found, tops = list[str](), dict[Path, list[str]]()
    for folder in folders:
        if (top := repository_top((root / folder).parent)) is not None:
            tops.setdefault(top, []).append(folder)
    for top, places in tops.items():
        within = top if top.is_relative_to(root) else root
        base = "" if within == root else f"{within.relative_to(root).as_posix()}/"
        found += [base + name for name in tracked_files(top, within, [p.removeprefix(base) for p in places], root)]
    return found


def _no_link(path: str, side: Side) -> bytes:
    raise AssertionError(f"{path} is not a link: {side}")
