"""Read the files of a workspace that are sent to workers. Ignored, secret, hidden and denied files are never sent."""

from __future__ import annotations

import asyncio
import os
import stat
import threading
import time
from collections.abc import Collection, Mapping
from io import BufferedReader
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from ....host.file_errors import PathRefused
from ....host.ignored_files import Ignore
from ....host.plain_files import reader_of
from ....protocol import UserError
from ....sandbox.denied_paths import denied_paths
from .tree_manifest import LARGEST_TREE, MOST_FILES, PIECE, ManifestEntry, digest_of_piece, encode_manifest

if TYPE_CHECKING:
    from ....host.workspace_paths import Workspace
    from ....sandbox.sandbox import Sandbox
    from ....state.facts.run_facts import RunFacts

_SETTLED_NS = 2_000_000_000
"""Age of the last change of a file after which its digest is remembered: a younger file could change once more without
a new time stamp."""

_Stamp = tuple[int, int, int, int, int]


class TreeChanged(Exception):
    """A file changed after the workspace was read."""


class TreeTooLarge(UserError):
    """The workspace is too large to be sent to workers."""


class WorkspaceTree(msgspec.Struct, frozen=True, eq=False):
    """The files of a workspace at one moment."""

    root: Path
    digest: str
    """Digest of the manifest."""
    manifest: bytes
    paths: frozenset[str]
    """All files, links and folders."""
    withheld: frozenset[str]
    """Files that are listed without their content, because no worker may have it."""
    places: Mapping[str, tuple[str, int]]
    """Each piece with a file that has it, and its number in the file."""

    def piece(self, digest: str) -> bytes:
        """Return the manifest or a piece of a file. Raises TreeChanged."""
        if digest == self.digest:
            return self.manifest
        path, number = self.places[digest]
        try:
            with _open(self.root / path) as file:
                file.seek(number * PIECE)
                data = file.read(PIECE)
        except OSError as error:
            raise TreeChanged(f"{path}: {error.strerror or error}") from None
        if digest_of_piece(data) != digest:
            raise TreeChanged(f"{path} changed while it was sent")
        return data


class TreeReader:
    """Reads the workspace repeatedly. Files that did not change are read only once."""

    def __init__(self, workspace: Workspace, sandbox: Sandbox | None = None, rules_of: RunFacts | None = None) -> None:
        """`sandbox`: what commands cannot read in it is not sent. `rules_of`: what the rules of this run deny to
        reading tools is not sent either, and what is not sent is listed as empty files.
        """
        self._workspace, self._sandbox, self._rules_of = workspace, sandbox, rules_of
        self._ignore = Ignore(workspace.root, workspace.skipped)
        self._known: dict[str, tuple[_Stamp, list[str]]] = {}
        self._reading, self._turn = threading.Lock(), asyncio.Lock()
        self._begun = 0
        self._latest: tuple[int, WorkspaceTree] | None = None

    async def current(self) -> WorkspaceTree:
        """Return the workspace as it was at some moment after this call began. Raises TreeTooLarge.

        Callers that wait at the same time share one read.
        """
        begun = self._begun
        async with self._turn:
            if self._latest is None or self._latest[0] <= begun:
                self._begun += 1
                self._latest = self._begun, await asyncio.to_thread(self.read)
            return self._latest[1]

    def hidden(self) -> Collection[Path]:
        """Return the places that no worker may have now."""
        root = self._workspace.root
        places = [] if self._sandbox is None else [*self._sandbox.hidden_below(root)]
        if self._rules_of is not None:
            places += [root / path for path in denied_paths(self._rules_of.rules, root)]
        return places

    def read(self) -> WorkspaceTree:
        """Read the workspace now. Raises TreeTooLarge."""
        with self._reading:
            return self._read()

    def _read(self) -> WorkspaceTree:
        entries: list[ManifestEntry] = []
        known: dict[str, tuple[_Stamp, list[str]]] = {}
        places: dict[str, tuple[str, int]] = {}
        hidden, size, withheld = self.hidden(), 0, list[str]()
        for path, found in self._ignore.walk():
            if self._is_kept_here(path, hidden):
                withheld.append(path)
                continue
            entry, status = self._entry(path, found, known)
            if entry is None or status is None:
                continue
            entries.append(entry)
            size += status.st_size
            places.update((piece, (path, number)) for number, piece in enumerate(entry.pieces))
            if size > LARGEST_TREE or len(entries) > MOST_FILES:
                raise TreeTooLarge(_too_large(self._workspace.root))
        self._known = known
        if self._rules_of is not None:
            entries += [ManifestEntry(path, "file") for path in withheld]
        manifest = encode_manifest(entries)
        paths = frozenset(part for entry in entries for part in _with_parents(entry.path))
        return WorkspaceTree(
            self._workspace.root, digest_of_piece(manifest), manifest, paths, frozenset(withheld), places
        )

    def _is_kept_here(self, path: str, hidden: Collection[Path]) -> bool:
        """Return whether no worker may have the file."""
        place = self._workspace.root / path
        try:
            self._workspace.refuse(place)
        except PathRefused:
            return True
        return any(place.is_relative_to(one) for one in hidden)

    def _entry(
        self, path: str, found: os.DirEntry[str], known: dict[str, tuple[_Stamp, list[str]]]
    ) -> tuple[ManifestEntry | None, os.stat_result | None]:
        """Return the entry and status of a file or link, or None if it is gone, unreadable or special."""
        try:
            status = found.stat(follow_symlinks=False)
            if stat.S_ISLNK(status.st_mode):
                return ManifestEntry(path, "link", target=str(Path(found.path).readlink())), status
            if not stat.S_ISREG(status.st_mode):
                return None, None
            if status.st_size > LARGEST_TREE:
                raise TreeTooLarge(_too_large(self._workspace.root))
            pieces = self._pieces(path, Path(found.path), status, known)
        except OSError:
            return None, None
        return ManifestEntry(path, "program" if status.st_mode & 0o100 else "file", pieces), status

    def _pieces(
        self, path: str, file: Path, status: os.stat_result, known: dict[str, tuple[_Stamp, list[str]]]
    ) -> list[str]:
        stamp = (status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino, status.st_dev)
        old = self._known.get(path)
        if old is not None and old[0] == stamp:
            pieces = old[1]
        else:
            pieces = list[str]()
            with _open(file) as opened:
                while data := opened.read(PIECE):
                    pieces.append(digest_of_piece(data))
        if time.time_ns() - max(status.st_ctime_ns, status.st_mtime_ns) > _SETTLED_NS:
            known[path] = stamp, pieces
        return pieces


def _open(file: Path) -> BufferedReader:
    return reader_of(os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC))


def _with_parents(path: str) -> list[str]:
    parts = path.split("/")
    return ["/".join(parts[:end]) for end in range(1, len(parts) + 1)]


def _too_large(root: Path) -> str:
    limit = f"{LARGEST_TREE // 1_000_000} MB or {MOST_FILES:,} files that are not ignored"
    return (
        f"--executor: {root} has more than {limit}, too much to send to workers; "
        "use --executor dask, whose workers share the folder"
    )
