"""Find programs in the workspace that are found before those of the system."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path, PurePosixPath

_VENVS = (".venv", "venv", "env", ".env", ".virtualenv")
_RUNS_BIN = {"npm", "npx", "yarn", "pnpm", "bun", "bunx", "pnpx"}
_RUNS_VENV = {"uv", "poetry", "pipenv", "pdm", "hatch", "rye", "uvx"}
_SHIPPED = ("node_modules/.bin",)
"""Ends of folders with installed programs, in addition to the `bin` of a virtual environment."""


def program_files(program: str, folder: str, wrapped: Iterable[str], path: str, root: Path) -> list[str]:
    """Return the workspace paths at which a program without a slash is searched, up to the one where it exists."""
    found: list[str] = []
    wrapped = set(wrapped)
    places = [Path(entry) for entry in path.split(os.pathsep) if entry and entry != "."]
    local = [root / folder / place for place in _local_bins(folder, wrapped, root)]
    for place in [*local, *places]:
        candidate = Path(os.path.normpath(root / place / program))
        if candidate.is_relative_to(root):
            found.append(candidate.relative_to(root).as_posix())
        if candidate.is_file():
            break
    return found


def _local_bins(folder: str, wrapped: set[str], root: Path) -> Iterator[str]:
    if wrapped & _RUNS_BIN:
        here = PurePosixPath(folder)
        for place in (here, *here.parents):
            yield str(root / place / "node_modules/.bin")
    if wrapped & _RUNS_VENV:
        yield from (str(root / name / "bin") for name in _VENVS)


def program_folders(folder: str, wrapped: Iterable[str], path: str, root: Path) -> list[str]:
    """Return the workspace folders that are searched for programs, whether they exist or not."""
    places = [Path(entry) for entry in path.split(os.pathsep) if entry and entry != "."]
    places = [*(root / folder / place for place in _local_bins(folder, set(wrapped), root)), *places]
    found = [Path(os.path.normpath(root / place)) for place in places]
    return [place.relative_to(root).as_posix() for place in found if place.is_relative_to(root) and place != root]


def outside_programs(path: str, root: Path) -> set[str]:
    """Return the names of all programs in PATH outside the workspace."""
    found: set[str] = set()
    for entry in filter(None, path.split(os.pathsep)):
        if not Path(os.path.normpath(root / entry)).is_relative_to(root):
            with suppress(OSError):
                found.update(program.name for program in Path(entry).iterdir())
    return found


def own_programs(place: str, names: Iterable[str], root: Path) -> Iterator[str]:
    """Yield the files of a PATH folder that decide a verdict: installed ones, and ones with these names."""
    known = frozenset(names)
    is_installed = place.endswith(_SHIPPED) or (root / place).parent.joinpath("pyvenv.cfg").is_file()
    with suppress(OSError):
        for entry in sorted((root / place).iterdir()):
            if (is_installed or entry.name in known) and not entry.is_dir():
                yield entry.name
