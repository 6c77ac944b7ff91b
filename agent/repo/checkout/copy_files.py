"""Copy the files of a workspace that belong to a checkout: those not ignored, and those that load by themselves."""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from ...host.ignored_files import Ignore
from ...host.plain_files import reader_of
from ...host.protected_names import why_cautioned

if TYPE_CHECKING:
    from ...host.workspace_paths import Workspace


def copy_files(workspace: Workspace, folder: Path) -> None:
    """Copy the files into an empty folder, with their permissions; links stay links. Raises OSError."""
    for path, status in _files(workspace):
        place = folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        with suppress(FileNotFoundError):  # it was removed meanwhile
            if stat.S_ISLNK(status.st_mode):
                place.symlink_to((workspace.root / path).readlink())
            else:
                _copy(workspace.root / path, place)


def stamp_of_files(workspace: Workspace) -> str:
    """Return a stamp that changes with any of these files or its times."""
    found = hashlib.sha256()
    for path, at in sorted(_files(workspace), key=lambda one: one[0]):
        facts = (path, at.st_mode, at.st_ino, at.st_size, at.st_mtime_ns, at.st_ctime_ns)
        found.update(repr(facts).encode("utf-8", "surrogateescape"))
    return found.hexdigest()


def _files(workspace: Workspace) -> Iterator[tuple[str, os.stat_result]]:
    """Yield the files and links, relative. What cannot be listed is left out."""
    root, skipped = str(workspace.root), workspace.skipped
    ignore, waiting = Ignore(workspace.root), [""]
    while waiting:
        folder = waiting.pop()
        ignore.refresh(folder)
        for entry in ignore.entries(folder):
            path, is_folder = f"{folder}{entry.name}", entry.is_dir(follow_symlinks=False)
            is_ignored = ignore.ignores_entry(folder, entry.name, is_folder)
            if f"{root}/{path}" in skipped or (is_ignored and (is_folder or why_cautioned((entry.name,)) is None)):
                continue
            if is_folder:
                waiting.append(f"{path}/")
                continue
            try:
                status = entry.stat(follow_symlinks=False)
            except FileNotFoundError:
                continue
            if stat.S_ISREG(status.st_mode) or stat.S_ISLNK(status.st_mode):
                yield path, status


def _copy(source: Path, place: Path) -> None:
    """Copy a file; a link or a device that has replaced it meanwhile is refused or left out."""
    reading = os.open(source, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with reader_of(reading) as found:
        status = os.fstat(reading)
        if not stat.S_ISREG(status.st_mode):
            return
        with place.open("xb") as made:
            shutil.copyfileobj(found, made)
            os.fchmod(made.fileno(), stat.S_IMODE(status.st_mode))
