"""Parse git's index and check it (gitformat-index(5)).

git checks the paths of entries when it adds them, but not when it reads an index: a forged index could make the next
`git checkout -- .` write `.git/hooks/post-checkout`.
"""

from __future__ import annotations

import struct
from typing import NamedTuple

from ..host.protected_names import folded_name

_HEADER = struct.Struct(">4sLL")
_STAT = 40
"""Bytes of an entry before its object id: times, device, inode, mode, owner, size."""
_MODE_AT = 24
_EXTENDED, _STAGE, _LENGTH = 0x4000, 0x3000, 0xFFF
_KNOWN_EXTENDED = 0x6000
"""`skip-worktree` and `intent-to-add`."""
_MODES = frozenset({0o100644, 0o100755, 0o120000, 0o160000})


class BadIndex(ValueError):
    """The bytes are not an acceptable index; the message says why."""


class IndexEntry(NamedTuple):
    """One path of the index."""

    stat: bytes
    """The stat fields and the mode, as in the file."""
    sha: bytes
    flags: int
    extended: int
    path: bytes

    @property
    def mode(self) -> int:
        """Return the file type and the permissions."""
        return int.from_bytes(self.stat[_MODE_AT : _MODE_AT + 4], "big")

    @property
    def key(self) -> tuple[bytes, int, int, bytes, int]:
        """Return all of the entry except for the stat fields, for comparisons."""
        return self.path, self.flags & ~_LENGTH, self.mode, self.sha, self.extended


def parse(data: bytes, width: int) -> list[IndexEntry]:
    """Return the entries. `width`: bytes of an object id. Raises BadIndex for anything that git would not write."""
    try:
        return _parse(data, width)
    except (struct.error, IndexError):
        raise BadIndex("it is incomplete") from None


def _parse(data: bytes, width: int) -> list[IndexEntry]:
    magic, version, count = _HEADER.unpack_from(data)
    if magic != b"DIRC" or version not in (2, 3, 4):
        raise BadIndex("it is not an index of version 2, 3 or 4")
    at, end = _HEADER.size, len(data) - width
    entries, previous = list[IndexEntry](), b""
    last = (b"", -1)
    for _ in range(count):
        start = at
        fixed = data[at : at + _STAT + width + 2]
        (flags,) = struct.unpack_from(">H", fixed, _STAT + width)
        at += len(fixed)
        extended = 0
        if flags & _EXTENDED:
            if version == 2:  # git reads these flags, so it would see other paths than rundry
                raise BadIndex("an entry has flags that version 2 does not have")
            (extended,) = struct.unpack_from(">H", data, at)
            at += 2
        if version == 4:
            kept, at = _varint(data, at)
            previous = previous[: len(previous) - kept] if kept else previous
        stop = data.find(0, at, end)
        if stop < 0:
            raise BadIndex("it is incomplete")
        path = (previous if version == 4 else b"") + data[at:stop]
        at = stop + 1 if version == 4 else start + ((stop - start) // 8 + 1) * 8
        previous = path
        entry = IndexEntry(fixed[:_STAT], fixed[_STAT : _STAT + width], flags & ~_EXTENDED, extended, path)
        last = _checked(entry, last, at <= end)
        entries.append(entry)
    _no_required_extension(data, at, end)
    return entries


def _checked(entry: IndexEntry, last: tuple[bytes, int], is_whole: bool) -> tuple[bytes, int]:
    """Return the sort key of the entry. Raises BadIndex if the entry is invalid or not in order."""
    place = (entry.path, entry.flags & _STAGE)
    if not is_whole or place <= last:
        raise BadIndex("its entries are truncated or not in order")
    if entry.mode not in _MODES or entry.extended & ~_KNOWN_EXTENDED:
        raise BadIndex(f"an entry has the mode {entry.mode:o}")
    if not is_plain_path(entry.path):
        raise BadIndex(f"it has an entry {entry.path.decode('utf-8', 'replace')!r}")
    return place


def is_plain_path(path: bytes) -> bool:
    """Return whether the path stays below the top, and outside of git folders on any file system."""
    if b"git" not in path.lower() and path.isascii() and b"//" not in path and b"." not in path:
        return bool(path) and path[:1] != b"/" and path[-1:] != b"/"
    parts = path.decode("utf-8", "surrogateescape").replace("\\", "/").split("/")
    return all(part not in ("", ".", "..") and not _is_git(part) for part in parts)


def _is_git(part: str) -> bool:
    """Return whether a file system may read the name as `.git`; NTFS does so for `git~1` and names with `:`."""
    return folded_name(part.partition(":")[0]) in (".git", "git~1")


def _no_required_extension(data: bytes, at: int, end: int) -> None:
    while at + 8 <= end:
        name, size = data[at : at + 4], int.from_bytes(data[at + 4 : at + 8], "big")
        if name[:1].islower():  # a split or sparse index, which does not hold all entries
            raise BadIndex(f"it needs the extension {name.decode('ascii', 'replace')!r}")
        at += 8 + size


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """Return the number of bytes to drop, encoded as the offsets of a pack, and the position after it."""
    byte = data[at]
    value, at = byte & 0x7F, at + 1
    while byte & 0x80:
        byte = data[at]
        value, at = ((value + 1) << 7) | (byte & 0x7F), at + 1
    return value, at
