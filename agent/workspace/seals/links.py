"""Find the links on a path and their targets, because changing one of them changes the content that is read."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from ...system.plain_files import walk_folders
from .names import SKIPPED

_DEPTH = 8
_GUARDED = 5_000
"""Maximum number of guarded files behind one link to a folder."""
_LISTED = 20_000
"""Maximum number of files that are listed behind all links to folders; a link can lead to the root folder."""

_KERNEL = ("/proc", "/sys", "/dev")
"""Folders whose files the kernel generates and changes."""


@dataclass
class LinkedFiles:
    """How many files may still be listed behind links to folders, and which links were listed only in part."""

    private: frozenset[str] = frozenset()
    """Folders of rundry, which changes their files itself. They are not listed."""
    left: int = _LISTED
    cut: set[str] = field(default_factory=set[str])


def through_links(
    root: Path, path: str, accepts: Callable[[str], bool], linked: LinkedFiles, depth: int = _DEPTH
) -> Iterator[str]:
    """Yield the path. If parts of it are links, yield these and their targets instead, relative to `root` if inside."""
    base = Path("/") if path.startswith("/") else root
    parts = path.strip("/").split("/")
    for at, part in enumerate(parts):
        base = base / part
        if not base.is_symlink():
            continue
        yield _named(root, base)
        if depth:
            there = Path(os.path.normpath(base.parent.resolve() / base.readlink()))
            yield from through_links(root, _named(root, there.joinpath(*parts[at + 1 :])), accepts, linked, depth - 1)
            if at == len(parts) - 1 and base.is_dir():
                yield from _below(root, base.resolve(), path, accepts, linked)
        return
    yield path


def _below(root: Path, folder: Path, alias: str, accepts: Callable[[str], bool], linked: LinkedFiles) -> Iterator[str]:
    """Yield the files behind a link to a folder that are guarded under their path through the link."""
    guarded, left_out = 0, {*_KERNEL, *linked.private}
    for top, folders, files in walk_folders(folder):
        if top in left_out:
            folders.clear()
            continue
        folders[:] = [name for name in folders if name not in SKIPPED and f"{top.rstrip('/')}/{name}" not in left_out]
        linked.left -= 1 + len(files)
        if linked.left < 0 or guarded > _GUARDED:
            linked.cut.add(alias)
            return
        for name in files:
            whole = Path(top, name)
            if accepts(f"{alias}/{whole.relative_to(folder).as_posix()}"):
                guarded += 1
                yield _named(root, whole)


def _named(root: Path, whole: Path) -> str:
    """Return the path relative to the workspace if it is inside, else the absolute path."""
    return whole.relative_to(root).as_posix() if whole.is_relative_to(root) else str(whole)
