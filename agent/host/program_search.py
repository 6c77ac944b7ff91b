"""Find the helper programs that rundry itself starts, such as git, but never one that a model could have created."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from .real_paths import real_path


def find_program(name: str, avoid: Iterable[Path], path: str | None = None) -> Path | None:
    """Return the absolute path of the first program of this name on the PATH, or None if there is none.

    `avoid`: folders that a model may write to. Entries of the PATH in them, links that lead into them, relative
    entries and unreadable entries are skipped. `path`: a PATH to use instead of that of this process.
    """
    kept_out = [real_path(folder) for folder in avoid]
    for entry in (os.environ.get("PATH", os.defpath) if path is None else path).split(os.pathsep):
        program = Path(entry) / name
        if program.is_absolute() and _can_run(program) and not _is_in(program, kept_out):
            return program
    return None


def path_outside(path: str, avoid: Iterable[Path]) -> str:
    """Return a PATH without its relative entries and without those in folders that a model may write to."""
    kept_out = [real_path(folder) for folder in avoid]
    entries = [Path(entry) for entry in path.split(os.pathsep)]
    return os.pathsep.join(str(entry) for entry in entries if entry.is_absolute() and not _is_in(entry, kept_out))


def _can_run(program: Path) -> bool:
    try:
        return program.is_file() and os.access(program, os.X_OK)
    except (OSError, ValueError):  # a folder that cannot be searched, a name that is too long, a NUL
        return False


def _is_in(path: Path, folders: list[Path]) -> bool:
    """Return whether the path, its parent or the target of either link is in one of these folders."""
    places = (path, real_path(path.parent), real_path(path))
    return any(place.is_relative_to(folder) for place in places for folder in folders)
