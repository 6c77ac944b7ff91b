"""The contents that git has of files which a command changed in place, so that an undo can restore them.

The index tells by the times, inode and size of a file which blob it had before the command. Where the bytes were read
before, their digest decides instead.
"""

from __future__ import annotations

import hashlib
import stat
import struct
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ..host.plain_files import read_plain
from ..repo.index_file import BadIndex, IndexEntry, parse
from ..repo.real_git import RealGit, RealGitFailed
from ..repo.repository import repository_top
from .git.layer_git_folders import git_folders_of
from .layer_effects import Side

if TYPE_CHECKING:
    from .layer_effects import Effect

_LARGEST_INDEX = 200_000_000
_STAGE = 0x3000
_STAT = struct.Struct(">10I")
"""Change time, modification time (seconds and nanoseconds), device, inode, mode, user, group, size."""
_SHORT = 0xFFFFFFFF
_SECOND = 1_000_000_000


class GitContents:
    """The index of a workspace's repository at one time."""

    def __init__(self, workspace: Path) -> None:
        """Read the index, without parsing it. If there is none, nothing is known."""
        self._workspace, self._top = workspace, repository_top(workspace)
        self._folders = git_folders_of(workspace)
        self._data, self._written_ns = b"", 0
        if self._folders is None:
            return
        index = self._folders.own / "index"
        try:
            self._data, self._written_ns = read_plain(index, _LARGEST_INDEX), index.stat().st_mtime_ns
        except OSError:
            self._data = b""

    @property
    def is_there(self) -> bool:
        """Whether the workspace is in a repository."""
        return self._folders is not None

    def find(self, changed: Sequence[Effect], limit: int) -> dict[str, bytes]:
        """Return the content from before, by path, of those of these files that git has it of.

        `limit`: bytes of the largest one.
        """
        wanted = {one.path: one.before for one in changed if one.before is not None and one.before.size <= limit}
        if not wanted or not self._data or self._folders is None or self._top is None:
            return {}
        entries = self._entries(wanted)
        git = RealGit(self._folders, self._workspace)
        try:
            blobs = read_blobs(git, {entry.sha.hex() for entry in entries.values()})
        except RealGitFailed:
            return {}
        found = dict[str, bytes]()
        for path, entry in entries.items():
            data, before = blobs.get(entry.sha.hex()), wanted[path]
            if data is None:
                continue
            if before.digest:
                is_it = hashlib.sha256(data).hexdigest() == before.digest
            else:
                is_it = len(data) == before.size and self._is_unchanged(entry, before) and not self._is_filtered(path)
            if is_it:
                found[path] = data
        return found

    def has(self, path: str) -> bool:
        """Return whether git tracks a file of the workspace."""
        return self._top is not None and bool(self._data) and bool(self._entries({path: Side(type="file")}))

    def _entries(self, wanted: Mapping[str, Side]) -> dict[str, IndexEntry]:
        """Return the entries of these paths."""
        assert self._top is not None  # the caller looked
        prefix = self._workspace.relative_to(self._top).as_posix()
        prefix = "" if prefix == "." else f"{prefix}/"
        for width in (20, 32):
            try:
                entries = parse(self._data, width)
            except BadIndex:
                continue
            paths = {f"{prefix}{path}".encode("utf-8", "surrogateescape"): path for path in wanted}
            return {
                paths[entry.path]: entry
                for entry in entries
                if entry.path in paths and not entry.flags & _STAGE and _fits(entry, wanted[paths[entry.path]])
            }
        return {}

    def _is_unchanged(self, entry: IndexEntry, before: Side) -> bool:
        """Return whether the file was as git saw it last, and git saw it late enough to tell."""
        known = _Known(*_STAT.unpack(entry.stat))
        mtime = known.mtime * _SECOND + known.mtime_ns
        return (
            mtime < self._written_ns
            and mtime == before.mtime_ns
            and known.ctime * _SECOND + known.ctime_ns == before.ctime_ns
            and known.inode == before.inode & _SHORT
            and known.size == before.size & _SHORT
        )

    def _is_filtered(self, path: str) -> bool:
        """Return whether attributes on the way to a file name a filter: then git has other bytes than the file."""
        assert self._folders is not None and self._top is not None  # the caller looked
        place = self._workspace / path
        above = [folder for folder in place.parents if folder.is_relative_to(self._top)]
        for file in (*(folder / ".gitattributes" for folder in above), self._folders.common / "info/attributes"):
            try:
                if b"filter" in read_plain(file):
                    return True
            except OSError:
                continue
        return False


class _Known(NamedTuple):
    """The fields of a file in the index."""

    ctime: int
    ctime_ns: int
    mtime: int
    mtime_ns: int
    device: int
    inode: int
    mode: int
    user: int
    group: int
    size: int


def _fits(entry: IndexEntry, before: Side) -> bool:
    is_kind = stat.S_ISLNK if before.type == "link" else stat.S_ISREG
    return before.type != "folder" and is_kind(entry.mode)


def read_blobs(git: RealGit, ids: set[str]) -> dict[str, bytes]:
    """Return these blobs by their ids, without those that are missing. Raises RealGitFailed."""
    if not ids:
        return {}
    data = git.run("cat-file", "--batch", stdin="".join(f"{one}\n" for one in sorted(ids)).encode())
    found, at = dict[str, bytes](), 0
    while at < len(data):
        end = data.index(b"\n", at)
        name, kind, *size = data[at:end].decode("ascii", "replace").split(" ")
        at = end + 1
        if kind == "missing" or not size:
            continue
        length = int(size[0])
        if kind == "blob":
            found[name] = data[at : at + length]
        at += length + 1
    return found
