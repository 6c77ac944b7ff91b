"""Restore a path to its approved state, and store its present content first, so that the person's work is not lost."""

from __future__ import annotations

import os
import secrets
import shutil
import stat
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from ...system.crash import crash_point
from ..errors import StaleFile
from ..files.beneath import exchange
from ..files.temporary import temporary_name
from ..leftovers.record import Leftovers
from .file_flags import clear_flags
from .marks import ABSENT, FILE, LINK, Mark

if TYPE_CHECKING:
    from ..files.own_writes import OwnWrites

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_MOST = 64_000_000
"""Maximum bytes of a file that is read into memory; a larger one is moved to the overflow folder."""


class Displaced(msgspec.Struct, frozen=True):
    """A file or folder that was replaced, and where it is kept."""

    path: str
    """Path relative to the workspace."""
    blob: str | None
    """Id of its stored bytes, or of the target of a link; None if it was moved to `moved_to`."""
    moved_to: Path | None = None


class SealRestorer:
    """Restores paths of one workspace without following links."""

    def __init__(
        self,
        root: Path,
        overflow: Path,
        own_writes: OwnWrites,
        keep: Callable[[bytes], str],
        leftovers: Leftovers | None = None,
    ) -> None:
        """`overflow`: a private folder outside of the workspace for large files and for folders.

        `keep` stores bytes durably and is called before anything is removed.
        """
        self._root, self._overflow, self._own_writes, self._keep = root, overflow, own_writes, keep
        self._leftovers = leftovers or Leftovers(None)

    def restore(self, path: str, want: Mark, load: Callable[[str], bytes]) -> list[Displaced]:
        """Restore the path to the state `want`. Return what was replaced. Raises OSError, KeyError, StaleFile.

        `load` returns the bytes of a digest. A new file is written, because the old one may have other hard links.
        """
        if want.kind not in (ABSENT, FILE, LINK):
            raise StaleFile(f"{path}: a {want.kind} cannot be restored")
        data = b"" if want.kind == ABSENT else load(want.digest)
        try:
            return self._restore(path, want, data)
        except PermissionError:
            if not clear_flags(self._root, path):
                raise
        return self._restore(path, want, data)

    def _restore(self, path: str, want: Mark, data: bytes) -> list[Displaced]:
        displaced: list[Displaced] = []
        folder = self._enter(path, displaced, make=want.kind != ABSENT)
        if folder is None:
            return displaced
        try:
            self._swap(folder, path, want, data, displaced)
        finally:
            os.close(folder)
        return displaced

    def _enter(self, path: str, displaced: list[Displaced], *, make: bool) -> int | None:
        """Return a descriptor of the parent folder; None if it is missing and `make` is False."""
        fd = os.open(self._root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        here = ""
        try:
            for part in path.split("/")[:-1]:
                here = f"{here}{part}"
                status = _lstat(fd, part)
                if status is not None and not stat.S_ISDIR(status.st_mode):
                    displaced.append(self._displace(fd, part, here))
                    status = None
                if status is None:
                    if not make:
                        os.close(fd)
                        return None
                    os.mkdir(part, dir_fd=fd)
                inner = os.open(part, _FOLDER, dir_fd=fd)
                os.close(fd)
                fd, here = inner, f"{here}/"
        except BaseException:
            os.close(fd)
            raise
        return fd

    def _swap(self, folder: int, path: str, want: Mark, data: bytes, displaced: list[Displaced]) -> None:
        real, aside = self._root / path, temporary_name()
        with self._leftovers.recorded(real, aside, "made"):
            self._replace(folder, path, aside, want, data, displaced)
        if want.kind == FILE:
            self._own_writes.wrote(real, os.stat(real.name, dir_fd=folder, follow_symlinks=False), want.digest)

    def _replace(self, folder: int, path: str, aside: str, want: Mark, data: bytes, displaced: list[Displaced]) -> None:
        name, real = Path(path).name, self._root / path
        old = _lstat(folder, name)
        if want.kind == FILE:
            fd = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600, dir_fd=folder)
            with os.fdopen(fd, "wb") as file:
                file.write(data)
                os.fchmod(fd, want.mode)
            self._date(folder, aside, real, old, len(data))
        elif want.kind == LINK:
            os.symlink(os.fsdecode(data), aside, dir_fd=folder)
        try:
            if (
                old is not None
                and want.kind == FILE
                and (found := self._exchange(folder, aside, path, want)) is not None
            ):
                displaced.append(found)
                return
            if old is not None:
                displaced.append(self._displace(folder, name, path))
            if want.kind != ABSENT:
                os.rename(aside, name, src_dir_fd=folder, dst_dir_fd=folder)
        except BaseException:
            if want.kind != ABSENT and _lstat(folder, aside) is not None:
                os.unlink(aside, dir_fd=folder)
            raise

    def _date(self, folder: int, aside: str, real: Path, old: os.stat_result | None, size: int) -> None:
        """Set a time that lets build caches notice the change (docs/requirements.md 6.8)."""
        natural = os.stat(aside, dir_fd=folder).st_mtime_ns
        plain = old if old is not None and stat.S_ISREG(old.st_mode) else None
        later = self._own_writes.time_for(real, plain, size, natural)
        if later is not None:
            os.utime(aside, ns=(later, later), dir_fd=folder)

    def _exchange(self, folder: int, aside: str, path: str, want: Mark) -> Displaced | None:
        """Swap the restored file with the present one atomically. Return None if the file system cannot do this."""
        name, real = Path(path).name, self._root / path
        with self._leftovers.recorded(real, aside, "displacing", new=want.digest):
            if not exchange(folder, aside, name):
                return None
            crash_point("restore: exchanged")
            try:
                return self._keep_moved(folder, aside, name, path)
            except BaseException:
                exchange(folder, aside, name)
                raise

    def _displace(self, folder: int, name: str, path: str) -> Displaced:
        """Move the entry to a temporary name, store its content, then remove it, so that no later write is lost."""
        aside = temporary_name()
        with self._leftovers.recorded(self._root / path, aside, "moved"):
            os.rename(name, aside, src_dir_fd=folder, dst_dir_fd=folder)
            crash_point("restore: moved aside")
            return self._keep_moved(folder, aside, name, path)

    def _keep_moved(self, folder: int, aside: str, name: str, path: str) -> Displaced:
        try:
            status = os.stat(aside, dir_fd=folder, follow_symlinks=False)
            if stat.S_ISLNK(status.st_mode):
                data = os.fsencode(os.readlink(aside, dir_fd=folder))
            elif stat.S_ISREG(status.st_mode) and status.st_size <= _MOST:
                fd = os.open(aside, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
                with os.fdopen(fd, "rb") as file:
                    data = file.read()
            else:
                return Displaced(path, None, self._to_overflow(folder, aside, name))
            found = Displaced(path, self._keep(data))
            os.unlink(aside, dir_fd=folder)
        except BaseException:
            if _lstat(folder, aside) is not None and _lstat(folder, name) is None:
                os.rename(aside, name, src_dir_fd=folder, dst_dir_fd=folder)
            raise
        return found

    def _to_overflow(self, folder: int, aside: str, name: str) -> Path:
        self._overflow.mkdir(mode=0o700, parents=True, exist_ok=True)
        place = self._overflow / f"{name}.{secrets.token_hex(4)}"
        try:
            os.rename(aside, place, src_dir_fd=folder)
        except OSError:  # another file system
            shutil.move(os.path.realpath(f"/proc/self/fd/{folder}") + f"/{aside}", place)
        return place


def _lstat(folder: int, name: str) -> os.stat_result | None:
    try:
        return os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return None
