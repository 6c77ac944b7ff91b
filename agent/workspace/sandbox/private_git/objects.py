"""Read the new objects of a private git folder as data; git hashes and checks each one during the import."""

from __future__ import annotations

import hashlib
import os
import re
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path

from ....system.plain_files import read_plain
from .refs import stat_of

_FANOUT = re.compile(r"[0-9a-f]{2}")
_REST = re.compile(r"[0-9a-f]{38}(?:[0-9a-f]{24})?")
_PACK = re.compile(r"pack-[0-9a-f]{40,64}\.pack")
_KINDS = {b"commit": 1, b"tree": 2, b"blob": 3, b"tag": 4}
_MOST_BYTES = 512_000_000
"""Maximum size, in bytes, of the content of all objects that one command made."""
_HEADER = re.compile(rb"(commit|tree|blob|tag) (\d{1,12})\0")


class TooMany(ValueError):
    """The new objects are larger than rundry imports in one step."""


class Objects:
    """The object store of a private folder, with a record of the imported objects."""

    def __init__(self, store: Path) -> None:
        self._store = store
        self._known = set[str]()
        self._marks = dict[str, tuple[int, ...]]()

    def new_loose(self) -> list[Path]:
        """Return the loose objects that were not imported yet."""
        found = list[Path]()
        for name in _names(self._store):
            folder = self._store / name
            if not _FANOUT.fullmatch(name) or folder.is_symlink():
                continue
            mark = stat_of(str(folder))
            if self._marks.get(name) != mark:
                found += [folder / rest for rest in _names(folder) if _REST.fullmatch(rest)]
        return [path for path in found if f"{path.parent.name}{path.name}" not in self._known]

    def new_packs(self) -> list[Path]:
        """Return the packs that were not imported yet."""
        folder = self._store / "pack"
        if folder.is_symlink():
            return []
        return [folder / name for name in _names(folder) if _PACK.fullmatch(name) and name not in self._known]

    def imported(self, loose: list[Path], packs: list[Path]) -> None:
        """Remember these objects as imported."""
        self._known |= {f"{path.parent.name}{path.name}" for path in loose} | {path.name for path in packs}


def pack_of(loose: list[Path], width: int) -> bytes:
    """Return a pack of these loose objects, without the unreadable ones. Raises TooMany."""
    parts, room = list[bytes](), _MOST_BYTES
    for path in loose:
        data = _content(path, room)
        if data is None:
            continue
        kind, content = data
        room -= len(content)
        parts.append(_entry_head(kind, len(content)) + zlib.compress(content, 1))
    body = b"".join((struct.pack(">4sLL", b"PACK", 2, len(parts)), *parts))
    return body + (hashlib.sha1(body, usedforsecurity=False) if width == 20 else hashlib.sha256(body)).digest()


def _content(path: Path, room: int) -> tuple[int, bytes] | None:
    try:
        packed = read_plain(path, _MOST_BYTES)
        unpacking = zlib.decompressobj()
        whole = unpacking.decompress(packed, room + 64)
    except (OSError, zlib.error):
        return None
    head = _HEADER.match(whole[:40])
    if head is None:
        return None
    if int(head[2]) > room:
        raise TooMany(f"more than {_MOST_BYTES // 1_000_000} MB of new objects")
    content = whole[head.end() :]
    return (_KINDS[head[1]], content) if len(content) == int(head[2]) else None


def _entry_head(kind: int, size: int) -> bytes:
    """Return the head of a pack entry: the type, and the size in groups of 4 and 7 bits (gitformat-pack(5))."""
    out = bytearray()
    byte, size = kind << 4 | size & 15, size >> 4
    while size:
        out.append(byte | 0x80)
        byte, size = size & 0x7F, size >> 7
    out.append(byte)
    return bytes(out)


def _names(folder: Path) -> Iterator[str]:
    try:
        with os.scandir(folder) as listing:
            names = [entry.name for entry in listing]
    except OSError:
        return iter(())
    return iter(sorted(names))
