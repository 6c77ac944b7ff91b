"""Prepare a layer or a copy in which given paths are as they were before, and all others as they are now.

In a layer this happens from outside, before it is mounted: what was not there becomes a whiteout, a folder that covers
something else becomes opaque (overlayfs.rst), and old contents are written with their times and their execute bit.
"""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import IO, TYPE_CHECKING

import msgspec

from .layer_effects import OPAQUE, Type, refuse_long, status_at
from .open_below import FOLDER, open_below
from .overwritten import digest_or_size
from .workspace_copies import CopyFolders, and_above, clone_blocks, differing_paths

if TYPE_CHECKING:
    from .layer import Layer
    from .start_copy import StartCopy
    from .workspace_copies import CopyLayer

JUDGE = "judge"
"""How the folder of such a layer is named."""
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
_PIECE = 1 << 20
_RUNS = stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH
_READS = stat.S_IRUSR | stat.S_IRGRP | stat.S_IROTH


class Past(msgspec.Struct, frozen=True, kw_only=True):
    """A path as it was at the start."""

    type: Type = "file"
    data: bytes = b""
    """Bytes of the file, or target of the link."""
    source: Path | None = None
    """A file of rundry that has the bytes instead of `data`, because they are too many."""
    mtime_ns: int = 0
    """Not for folders."""
    executable: bool = False


def put_past(layer: Layer, past: Mapping[str, Past | None]) -> None:
    """Restore these paths in a layer that is not mounted yet. Raises OSError.

    `past`: relative paths, as effects name them, or None if nothing was there. If a folder was not there, or was
    something else, what lies in it now may be left out. Raises ValueError for paths that lead out of the workspace or
    contradict each other, and TooMuch for one that is too long.
    """
    shown = _shown_past(past)
    upper, live = os.open(layer.upper, FOLDER | os.O_CLOEXEC), os.open(layer.workspace, FOLDER | os.O_CLOEXEC)
    try:
        view = _View(upper, live)
        for path, was in shown:
            view.put(tuple(path.split(b"/")), was)
        view.finish()
    finally:
        os.close(upper)
        os.close(live)


def put_in_copy(copy: CopyLayer, past: Mapping[str, Past | None]) -> None:
    """Restore these paths in a copy. Raises OSError, and ValueError and TooMuch as `put_past`."""
    with CopyFolders(copy.workspace, copy.tree) as folders:
        for path, was in _shown_past(past):
            if was is not None and was.type == "folder":
                folders.make_folder(path)
                continue
            now = status_at(copy.root, path)
            if was is None and now is None:
                continue
            folders.remove(path)
            if was is None:
                continue
            folders.make_parents(path)
            parent, _, name = path.rpartition(b"/")
            opened = folders.open_parent(parent)
            try:
                _write_past(opened, name, was, now)
            finally:
                os.close(opened)


def put_start_in_copy(
    copy: CopyLayer, start: StartCopy, past: Mapping[str, Past | None], outputs: Collection[str]
) -> dict[str, Past | None]:
    """Restore what nobody can decide on as it was at the start: git, byte-code, and output. Returns the rest of `past`.

    Raises OSError.
    """
    before, tops = start.layer, {os.fsencode(path) for path in outputs}
    paths = {
        path
        for path in differing_paths(before.source, copy.source)
        if start.has(path) or not tops.isdisjoint(and_above(path))
    }
    with CopyFolders(before.tree, copy.tree) as folders:
        for path in sorted(paths, reverse=True):
            folders.delete(path, before.own)
        for path in sorted(paths & before.own.entries.keys()):
            folders.copy(path, before.own.entries[path].side)
    return {path: was for path, was in past.items() if tops.isdisjoint(and_above(os.fsencode(path)))}


def overwritten_in_copy(copy: CopyLayer) -> dict[str, str]:
    """Return the files that were in a prepared copy and that checks wrote or deleted.

    The values are those of `overwritten`. No process may run in the copy any more. Raises OSError.
    """
    return dict(_overwritten(copy))


def _overwritten(copy: CopyLayer) -> Iterator[tuple[str, str]]:
    before = copy.own.entries
    for path in sorted(differing_paths(copy.own, copy.read())):
        if path not in before or before[path].side.type == "folder":
            continue
        status = status_at(copy.root, path)
        is_gone = status is None or stat.S_ISDIR(status.st_mode)
        yield os.fsdecode(path), "" if is_gone else digest_or_size(copy.root, path)


def _shown_past(past: Mapping[str, Past | None]) -> list[tuple[bytes, Past | None]]:
    """Return these paths in order, without those in something that was not there. Raises ValueError and TooMuch."""
    wanted = {_parts(path): was for path, was in past.items()}
    return [(b"/".join(parts), wanted[parts]) for parts in sorted(wanted) if not _is_covered(parts, wanted)]


def _parts(path: str) -> tuple[bytes, ...]:
    name = os.fsencode(path)
    refuse_long(name)
    parts = tuple(name.split(b"/"))
    if b"\0" in name or any(part in (b"", b".", b"..") for part in parts):
        raise ValueError(f"{path!r} is not a path below a workspace")
    return parts


def _is_covered(parts: tuple[bytes, ...], wanted: Mapping[tuple[bytes, ...], Past | None]) -> bool:
    """Return whether nothing can be at a path, because a folder on the way was not there."""
    above = [wanted[parts[:n]] for n in range(1, len(parts)) if parts[:n] in wanted]
    is_covered = any(one is None or one.type != "folder" for one in above)
    if is_covered and wanted[parts] is not None:
        raise ValueError(f"{os.fsdecode(b'/'.join(parts))} cannot have been in something that was not a folder")
    return is_covered


class _View:
    """The upper folder of a layer, as it is filled."""

    def __init__(self, upper: int, live: int) -> None:
        self._upper, self._live = upper, live
        self._made = dict[bytes, os.stat_result | None]()
        """Folders of the upper one, with the status of the workspace's folder below each."""

    def put(self, parts: tuple[bytes, ...], was: Past | None) -> None:
        """Restore a path as it was."""
        path = b"/".join(parts)
        now = status_at(self._live, path)
        if was is None and now is None:
            return
        if was is not None and was.type == "folder":
            self._make_folder(parts)
            return
        self._make_folder(parts[:-1])
        parent = open_below(self._upper, b"/".join(parts[:-1]), FOLDER)
        try:
            if was is None:
                os.mknod(parts[-1], stat.S_IFCHR, 0, dir_fd=parent)  # a whiteout; since Linux 5.8 for every user
            else:
                _write_past(parent, parts[-1], was, now)
        finally:
            os.close(parent)

    def _make_folder(self, parts: tuple[bytes, ...]) -> None:
        """Make a folder and those above it. It shows what the workspace's folder at its path has, if that is one."""
        for n in range(1, len(parts) + 1):
            path = b"/".join(parts[:n])
            if path in self._made:
                continue
            os.mkdir(path, 0o700, dir_fd=self._upper)
            now = status_at(self._live, path)
            is_folder = now is not None and stat.S_ISDIR(now.st_mode)
            self._made[path] = now if is_folder else None
            if not is_folder:
                opened = open_below(self._upper, path, FOLDER)
                try:
                    os.setxattr(opened, OPAQUE, b"y")
                finally:
                    os.close(opened)

    def finish(self) -> None:
        """Give the folders the rights and times that they have in the workspace, the inner ones first."""
        for path in sorted(self._made, reverse=True):
            now = self._made[path]
            opened = open_below(self._upper, path, FOLDER)
            try:
                os.fchmod(opened, 0o755 if now is None else stat.S_IMODE(now.st_mode) & 0o777)
                if now is not None:
                    os.utime(opened, ns=(now.st_atime_ns, now.st_mtime_ns))
            finally:
                os.close(opened)


def _write_past(parent: int, name: bytes, was: Past, now: os.stat_result | None) -> None:
    """Make a file or link as it was. The other rights of a file are those that it has now. Raises OSError."""
    if was.type == "link":
        os.symlink(was.data, name, dir_fd=parent)
        os.utime(name, ns=(was.mtime_ns, was.mtime_ns), dir_fd=parent, follow_symlinks=False)
        return
    mode = stat.S_IMODE(now.st_mode) & 0o777 if now is not None and stat.S_ISREG(now.st_mode) else 0o644
    mode = mode | (mode & _READS) >> 2 if was.executable else mode & ~_RUNS
    with os.fdopen(os.open(name, _NEW, 0o600, dir_fd=parent), "wb") as file:
        _fill(file, was)
        file.flush()
        os.fchmod(file.fileno(), mode)
        os.utime(file.fileno(), ns=(was.mtime_ns, was.mtime_ns))


def _fill(file: IO[bytes], was: Past) -> None:
    """Write the bytes; those of a large file share their blocks with it, if the file system can do that."""
    if was.source is None:
        file.write(was.data)
        return
    with was.source.open("rb") as source:
        if not clone_blocks(source.fileno(), file.fileno()):
            shutil.copyfileobj(source, file, _PIECE)
