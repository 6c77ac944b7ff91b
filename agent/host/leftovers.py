"""Record the writes in progress, and remove the temporary files of a killed process.

A temporary file may be the only copy of what another program wrote at the same time. Such a file is kept as
`NAME.kept-X`.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import stat
import threading
from collections.abc import Collection, Generator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Literal

import msgspec

from .crash import crash_point
from .files.no_follow import exchange, rename_new, write_all
from .files.temporary import temporary_name
from .plain_files import reader_of

Use = Literal["made", "swapped", "displacing", "moved", "lock", "in_place"]
"""What a temporary file may contain.

`made`: only new content. `swapped`: after an exchange, also the content of the real name. `displacing`: the same,
but not stored elsewhere yet. `moved`: content moved away from the real name. `lock`: the new content, or the
lock of another process. `in_place`: there is no temporary file, because the file is overwritten.
"""


class _Entry(msgspec.Struct, frozen=True, array_like=True):
    folder: str
    aside: str
    name: str
    use: Use
    old: str | None
    """SHA-256 of the known content that is replaced."""
    new: str | None
    """SHA-256 of the new content."""
    contents: tuple[bytes, bytes] | None = None
    """The old and the new content of a file that is overwritten in place."""


class Displaced:
    """Keeps files that a change displaces, instead of deleting them."""

    def __init__(self, folder: Path, digests: Collection[str], new: Path, moved: Collection[str]) -> None:
        """`folder`: for displaced files; made when it is needed. `digests`: SHA-256 of those that are kept.

        `new`: a folder for new contents that a killed process had moved and not put in place; `moved`: their SHA-256.
        Both folders are on the file system of the workspace.
        """
        self._folder, self._digests = folder, frozenset(digests)
        self._new, self._moved = new, frozenset(moved)

    def take(self, folder: int, name: str, digest: str | None) -> bool:
        """Move a displaced file out of an open folder, and return whether that was done: else the caller deletes it."""
        return digest is not None and digest in self._digests and _moved(folder, name, self._folder, digest)

    def take_left(self, folder: int, name: str, digest: str | None) -> bool:
        """Move a file that a killed process left out of an open folder, like `take`. It may be a new content."""
        if digest is not None and digest in self._moved and _moved(folder, name, self._new, digest):
            return True
        return self.take(folder, name, digest)

    def take_copy(self, data: bytes, digest: str | None) -> None:
        """Keep a copy of a file that is about to be overwritten in place. Raises OSError."""
        if digest is None or digest not in self._digests:
            return
        own, making = _folder(self._folder), temporary_name()
        try:
            made = os.open(making, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600, dir_fd=own)
            try:
                write_all(made, data)
                os.fsync(made)
            finally:
                os.close(made)
            os.replace(making, digest, src_dir_fd=own, dst_dir_fd=own)
        finally:
            os.close(own)


def _moved(folder: int, name: str, place: Path, digest: str) -> bool:
    """Move a file of an open folder to another one. Return False if that is not possible."""
    try:
        own = _folder(place)
        try:
            rename_new(folder, name, digest, own)
        finally:
            os.close(own)
    except OSError:  # the same content is there already, or the disk is full: the change itself is made anyway
        return False
    return True


def _folder(place: Path) -> int:
    place.mkdir(mode=0o700, parents=True, exist_ok=True)
    return os.open(place, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC | os.O_NOFOLLOW)


class Leftovers:
    """The temporary files of one run. Only the runner uses it; it may be used by several threads."""

    def __init__(self, journal: Path | None, displaced: Displaced | None = None) -> None:
        """`journal`: the run's journal, next to which the record is stored, or None if nothing is recorded.

        `displaced`: keeps some of the files that are replaced or removed, or None if none is kept.
        """
        self._path = None if journal is None else journal.with_name(f"{journal.name}.leftovers")
        self.displaced = displaced
        self._lock = threading.Lock()
        self._open = 0

    def recorded(
        self, real: Path, aside: str, use: Use, old: str | None = None, new: str | None = None
    ) -> AbstractContextManager[None]:
        """Record the temporary file `aside` of the file `real` during the block. Raises OSError."""
        return self._recorded(
            _Entry(os.fsencode(real.parent).hex(), aside, os.fsencode(real.name).hex(), use, old, new)
        )

    def in_place(self, real: Path, before: bytes, after: bytes) -> AbstractContextManager[None]:
        """Record during the block that the content of the file is overwritten. Raises OSError."""
        folder, name = os.fsencode(real.parent).hex(), os.fsencode(real.name).hex()
        return self._recorded(_Entry(folder, "", name, "in_place", None, None, (before, after)))

    @contextmanager
    def _recorded(self, entry: _Entry) -> Generator[None]:
        if self._path is None:
            yield
            return
        with self._lock:
            self._append(msgspec.json.encode(entry))
            self._open += 1
        crash_point("temporary file: recorded")
        try:
            yield
        finally:
            with self._lock:
                self._open -= 1
                if not self._open:
                    os.truncate(self._path, 0)
            crash_point("temporary file: gone")

    def sweep(self) -> list[str]:
        """Remove what a killed process left. Return a line for each file that was kept, because it is not a copy."""
        if self._path is None or self._open:
            return []
        try:
            lines = self._path.read_bytes().splitlines()
        except FileNotFoundError:
            return []
        kept = [line for entry in _read(lines) if (line := _clean_up(entry, self.displaced))]
        os.truncate(self._path, 0)
        return kept

    def _append(self, line: bytes) -> None:
        assert self._path is not None  # the caller checked
        if not self._open and self._path.exists() and self._path.stat().st_size:
            for entry in _read(self._path.read_bytes().splitlines()):
                _clean_up(entry, self.displaced)
            os.truncate(self._path, 0)
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
        descriptor = os.open(self._path, flags, 0o600)
        try:
            write_all(descriptor, line + b"\n")
        finally:
            os.close(descriptor)


def _read(lines: Sequence[bytes]) -> list[_Entry]:
    """Parse the entries, newest first. An incomplete line is skipped: its file was not created yet."""
    found: list[_Entry] = []
    for line in reversed(lines):
        try:
            found.append(msgspec.json.decode(line, type=_Entry))
        except msgspec.DecodeError:
            continue
    return found


def _clean_up(entry: _Entry, displaced: Displaced | None) -> str | None:
    """Remove the temporary file, or rename it back. Return a line if it is kept under another name."""
    place, name = Path(os.fsdecode(bytes.fromhex(entry.folder))), os.fsdecode(bytes.fromhex(entry.name))
    try:
        folder = os.open(place, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:  # the folder is gone, and so is the file
        return None
    try:
        if entry.contents is not None:
            return _complete(folder, place / name, *entry.contents)
        if not _exists(folder, entry.aside) or (entry.use == "lock" and _digest(folder, entry.aside) != entry.new):
            return None
        if entry.use == "displacing" and _digest(folder, name) == entry.new and _exists(folder, name):
            exchange(folder, entry.aside, name)  # the resumed run replaces it again, and stores it
        if _is_known(folder, name, entry):
            _discard(folder, entry, displaced)
            return None
        if not _exists(folder, name):
            rename_new(folder, entry.aside, name)
            return None
        kept = f"{name}.kept-{secrets.token_hex(4)}"
        rename_new(folder, entry.aside, kept)
    except OSError as error:
        return f"{place / entry.aside}: a temporary file of this run could not be removed: {error.strerror}"
    finally:
        os.close(folder)
    return f"{place / name}: someone else changed it while it was written; their version is {kept}"


def _discard(folder: int, entry: _Entry, displaced: Displaced | None) -> None:
    if displaced is None or not displaced.take_left(folder, entry.aside, _digest(folder, entry.aside)):
        os.unlink(entry.aside, dir_fd=folder)


def _complete(folder: int, real: Path, before: bytes, after: bytes) -> str | None:
    """Complete a file that was being overwritten when its writer was killed."""
    descriptor = os.open(real.name, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
    with os.fdopen(descriptor, "r+b", buffering=0) as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return None
        now = file.read(max(len(before), len(after)) + 1)
        if now in (before, after):
            return None
        if not _is_half_written(now, before, after):
            return f"{real}: someone else changed it after its writer was killed, so it is not restored"
        file.seek(0)
        write_all(descriptor, after)
        file.truncate(len(after))
        os.fsync(descriptor)
    return None


def _is_half_written(now: bytes, before: bytes, after: bytes) -> bool:
    """Return whether the file begins with new content and continues with old content or reserved space."""
    if len(now) not in (len(before), len(after)):
        return False
    written = next((n for n, (one, other) in enumerate(zip(now, after, strict=False)) if one != other), len(after))
    return now[written:] == before.ljust(len(after), b"\0")[written : len(now)]


def _is_known(folder: int, name: str, entry: _Entry) -> bool:
    """Return whether the content of the temporary file is stored elsewhere too."""
    if entry.use == "made":
        return True
    aside = _digest(folder, entry.aside)
    if aside is not None and aside in (entry.old, entry.new):
        return True
    return entry.use == "swapped" and entry.old is not None and _digest(folder, name) == entry.old


def _exists(folder: int, name: str) -> bool:
    try:
        os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return True


def _digest(folder: int, name: str) -> str | None:
    """Return the digest of a file, or None if it is not a plain file, or not readable."""
    try:
        descriptor = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
    except OSError:
        return None
    with reader_of(descriptor) as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return None
        return hashlib.file_digest(file, "sha256").hexdigest()
