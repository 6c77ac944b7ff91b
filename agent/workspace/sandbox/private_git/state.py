"""Read the parts of a repository that a command may change: HEAD, refs, the index, and the files of an operation."""

from __future__ import annotations

import hashlib
import re
import time
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from ....system.plain_files import read_plain, walk_folders
from .index_file import BadIndex, parse
from .refs import ID, head_of, is_log, read_refs, ref_marks, stat_of

if TYPE_CHECKING:
    from .folders import GitFolders

STASH_LOG = "logs/refs/stash"
"""File with the list of stashes, in the common folder."""
_IDS = re.compile(rb"(?:[0-9a-f]{40}(?:[0-9a-f]{24})?\n?)*")
_TEXT = re.compile(rb"[^\0]*", re.DOTALL)
FILES = {
    "MERGE_HEAD": _IDS,
    "MERGE_MODE": re.compile(rb"(?:no-ff)?\n?"),
    "MERGE_MSG": _TEXT,
    "SQUASH_MSG": _TEXT,
    "AUTO_MERGE": _IDS,
    "CHERRY_PICK_HEAD": _IDS,
    "REVERT_HEAD": _IDS,
    "ORIG_HEAD": _IDS,
}
"""Files of a working tree that git only reads as data, and the format that each must have."""
OPERATION_FOLDERS = ("rebase-merge", "rebase-apply", "sequencer")
_OPERATION_FILES = re.compile(r"BISECT_\w+")
_MOST_FILE = 1_000_000
_MOST_INDEX = 500_000_000
_MOST_FILES = 2_000


class RepositoryState(msgspec.Struct, frozen=True):
    """The state of a repository, as seen from one working tree."""

    head: str
    refs: dict[str, str]
    index: bytes
    """A digest of the entries without the stat fields of the files; empty if there is no index."""
    files: dict[str, bytes]
    """Contents of `FILES` and of the list of stashes."""
    operation: dict[str, bytes]
    """Contents of the files of a rebase, a cherry-pick or a bisection."""


class StateReader:
    """Reads the state of a repository, and skips files that did not change since the last time."""

    def __init__(self, folders: GitFolders) -> None:
        self._folders = folders
        self._marks: dict[str, tuple[int, ...]] = {}
        self._refs: dict[str, str] = {}
        self._index: tuple[tuple[int, ...], bytes] = ((), b"")

    def read(self) -> RepositoryState:
        """Return the state. Its format was checked, but its content is untrusted."""
        own, common = self._folders.own, self._folders.common
        files = {name: data for name in FILES if (data := _file(own / name)) is not None}
        stashes = _file(common / STASH_LOG)
        if stashes is not None:
            files[STASH_LOG] = stashes
        return RepositoryState(head_of(own), self._read_refs(), self._index_digest(), files, _operation(own))

    def _read_refs(self) -> dict[str, str]:
        """Return all refs. Recent marks are compared twice, because time stamps have a limited resolution."""
        marks = {name: stat_of(name) for name in ref_marks(self._folders.common)}
        if marks != self._marks or not _are_old(marks):
            self._refs = read_refs(self._folders.common)
            self._marks = marks
        return self._refs

    def _index_digest(self) -> bytes:
        file = self._folders.own / "index"
        mark = stat_of(str(file))
        if mark != self._index[0] or not _are_old({"": mark}):
            self._index = (mark, index_digest(read_index(self._folders)))
        return self._index[1]


def read_index(folders: GitFolders) -> bytes:
    """Return the bytes of the index; empty if there is none."""
    try:
        return read_plain(folders.own / "index", _MOST_INDEX)
    except OSError:
        return b""


def index_digest(data: bytes) -> bytes:
    """Return a digest of the entries of the index, or of its bytes if it cannot be parsed."""
    if not data:
        return b""
    for width in (20, 32):
        try:
            keys = [entry.key for entry in parse(data, width)]
        except BadIndex:
            continue
        return hashlib.sha256(repr(keys).encode()).digest()
    return hashlib.sha256(data).digest()


def id_width(state: RepositoryState) -> int:
    """Return the size of an object id: 20 bytes, or 32 bytes in a repository with SHA-256."""
    values = (value for value in (state.head, *state.refs.values()) if ID.fullmatch(value))
    return len(next(values, "0" * 40)) // 2


def has_form(name: str, data: bytes) -> bool:
    """Return whether the file of an operation has the format that git writes."""
    return is_log(data) if name == STASH_LOG else FILES[name].fullmatch(data) is not None


def _file(path: Path) -> bytes | None:
    try:
        return read_plain(path, _MOST_FILE)
    except OSError:
        return None


def _operation(own: Path) -> dict[str, bytes]:
    found = dict[str, bytes]()
    paths = [path for path in own.iterdir() if _OPERATION_FILES.fullmatch(path.name)]
    for name in OPERATION_FOLDERS:
        if (own / name).is_symlink():
            continue
        paths += [Path(place) / file for place, _, files in walk_folders(own / name) for file in files]
    for path in sorted(paths)[:_MOST_FILES]:
        data = _file(path)
        found[str(path.relative_to(own))] = b"" if data is None else data
    return found


def _are_old(marks: dict[str, tuple[int, ...]]) -> bool:
    """Return whether the newest time stamp is so old that a later change has another one."""
    newest = max((mark[-1] for mark in marks.values() if mark), default=0)
    return newest < time.time_ns() - 50_000_000
