"""The links on the way to a path, and what they lead to: each of them decides what is read there."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

from ...system import walk_folders
from .names import SKIPPED

_DEPTH = 8
_FOLLOWED = 5_000
"""Files behind a link to a folder."""


def through_links(root: Path, path: str, accepts: Callable[[str], bool], depth: int = _DEPTH) -> Iterator[str]:
    """The path itself, or the links on its way and the paths behind them; relative to `root` where they lie inside."""
    base = Path("/") if path.startswith("/") else root
    parts = path.strip("/").split("/")
    for at, part in enumerate(parts):
        base = base / part
        if not base.is_symlink():
            continue
        yield _named(root, base)
        if depth:
            there = Path(os.path.normpath(base.parent.resolve() / base.readlink()))
            yield from through_links(root, _named(root, there.joinpath(*parts[at + 1 :])), accepts, depth - 1)
            if at == len(parts) - 1 and base.is_dir():
                yield from _below(root, base.resolve(), path, accepts)
        return
    yield path


def _below(root: Path, folder: Path, alias: str, accepts: Callable[[str], bool]) -> Iterator[str]:
    """The files behind a link to a folder, where the link's name makes them guarded."""
    count = 0
    for top, folders, files in walk_folders(folder):
        folders[:] = [name for name in folders if name not in SKIPPED]
        for name in files:
            whole = Path(top, name)
            if accepts(f"{alias}/{whole.relative_to(folder).as_posix()}"):
                count += 1
                if count > _FOLLOWED:
                    return
                yield _named(root, whole)


def _named(root: Path, whole: Path) -> str:
    """Relative to the workspace where it lies inside, else absolute."""
    return whole.relative_to(root).as_posix() if whole.is_relative_to(root) else str(whole)
