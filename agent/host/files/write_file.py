"""Write exactly the approved bytes to a file, without overwriting changes of other programs.

The file is compared with the state that was read. The new content is written to a temporary file, which is swapped in
atomically. The file that the swap moved out is compared again (docs/attacks.md (b) and (c)), and deleted only if it
has the expected content.
"""

from __future__ import annotations

import errno
import hashlib
import os
import secrets
import stat
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from ..crash import crash_point
from ..file_errors import StaleFile, WriteFailed
from .file_states import FileState, state_of
from .locked_file import READ, Lease, compare, digest_of, from_start, locked
from .no_follow import exchange, folder_of, rename_new, write_all
from .temporary import temporary_name

if TYPE_CHECKING:
    from ..leftovers import Use
    from ..workspace_paths import Workspace

NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class LargeContent(Protocol):
    """The content of a file that is not held in memory."""

    @property
    def digest(self) -> str:
        """The SHA-256 of the bytes, in hex."""
        ...

    def make(self, folder: int, name: str) -> None:
        """Make a file with this content in an open folder, with a name that does not exist. Raises OSError, StaleFile.

        Its permissions are those of a new file of this process.
        """
        ...


def write_file(ws: Workspace, before: FileState, data: bytes) -> FileState:
    """Write new bytes, create missing folders, and return the new state. Mode, owner and attributes are kept.

    Raises PathRefused, StaleFile (the file differs from `before`, and nothing was written) and WriteFailed (the old
    content is intact).
    """
    ws.refuse(before.real)
    return write_any_file(ws, before, data)


def remove_file(ws: Workspace, before: FileState) -> None:
    """Remove the file if it does not differ from `before`. Raises the same errors as `write_file`."""
    ws.refuse(before.real)
    remove_any_file(ws, before)


def write_any_file(ws: Workspace, before: FileState, data: bytes, mode: int | None = None) -> FileState:
    """Write like `write_file`, but also to files that tools must not access, to restore what a command changed.

    `mode`: the permissions of a new file. None means 0666 without the bits of the umask.
    """
    made: list[Path] = []
    with _translated_errors(ws.root, before, made):
        with folder_of(ws.root, before.real, None if before.exists else made) as folder:
            status = _FileWrite(ws, before, data, folder, mode).write()
            os.fsync(folder)
            crash_point("write: folder forced out")
        state = state_of(before.path, before.real, data, status)
        ws.run_writes.wrote(before.real, status, state.sha256)
        return state


def write_large_file(ws: Workspace, before: FileState, content: LargeContent) -> None:
    """Write like `write_any_file`, a content that is not in memory. The bytes in `before` are not used.

    Raises WriteFailed, too, if the file has hard links or attributes that a new file cannot get.
    """
    made: list[Path] = []
    with _translated_errors(ws.root, before, made):
        with folder_of(ws.root, before.real, None if before.exists else made) as folder:
            status = _FileWrite(ws, before, content, folder, None).write()
            os.fsync(folder)
        ws.run_writes.wrote(before.real, status, content.digest)


def remove_any_file(ws: Workspace, before: FileState) -> None:
    """Remove like `remove_file`, but also files that tools must not access."""
    with _translated_errors(ws.root, before, []), folder_of(ws.root, before.real) as folder:
        name, aside = before.real.name, temporary_name()
        with ws.leftovers.recorded(before.real, aside, "moved", before.sha256):
            with locked(folder, name, before) as old:
                rename_new(folder, name, aside)
                crash_point("removal: moved aside")
                if not old.was_moved_to(aside):
                    rename_new(folder, aside, name)
                    raise StaleFile(f"{before.path}: it was changed by someone else meanwhile")
            if ws.leftovers.displaced is None or not ws.leftovers.displaced.take(folder, aside, before.sha256):
                os.unlink(aside, dir_fd=folder)
        os.fsync(folder)
        crash_point("removal: folder forced out")
        ws.run_writes.removed(before.real, old.status)


class _FileWrite:
    """One write to a file whose folder is open."""

    def __init__(
        self, ws: Workspace, before: FileState, new: bytes | LargeContent, folder: int, mode: int | None
    ) -> None:
        self.ws, self.before, self.new, self.folder, self.mode = ws, before, new, folder, mode
        self.name = before.real.name
        self.digest = hashlib.sha256(new).hexdigest() if isinstance(new, bytes) else new.digest

    def write(self) -> os.stat_result:
        """Write the file and return its new status. Raises OSError, StaleFile, WriteFailed."""
        if not self.before.exists:
            return self._create()
        old = compare(self.folder, self.name, self.before)
        if not old.st_mode & 0o222:
            raise WriteFailed(f"{self.before.path}: it is read-only (mode {stat.S_IMODE(old.st_mode):04o}): chmod it")
        if old.st_nlink > 1:
            if old.st_ino != self.before.ino:
                raise StaleFile(f"{self.before.path}: it became a hard link of another file since it was read")
            return self._write_in_place(old)
        return self._swap(old)

    def _create(self) -> os.stat_result:
        with self._temporary_file(0o666 if self.mode is None else 0o600, None, "made") as (fd, aside):
            if self.mode is not None:
                os.fchmod(fd, self.mode)
            try:
                rename_new(self.folder, aside, self.name)
                crash_point("write: new file named")
            except FileExistsError:
                raise StaleFile(f"{self.before.path}: it was made by someone else meanwhile") from None
            return os.fstat(fd)

    def _swap(self, old: os.stat_result) -> os.stat_result:
        with self._temporary_file(0o600, old, "swapped") as (fd, aside):
            if _copy_metadata(fd, self.folder, self.name, old):
                self._exchange(fd, aside)
                return os.fstat(fd)
        return self._write_in_place(old)

    def _exchange(self, fd: int, aside: str) -> None:
        lease = Lease(fd, exclusive=True)
        with locked(self.folder, self.name, self.before) as kept:
            if not exchange(self.folder, aside, self.name):
                os.rename(aside, self.name, src_dir_fd=self.folder, dst_dir_fd=self.folder)
            elif not kept.was_moved_to(aside):
                exchange(self.folder, aside, self.name)
                self._keep_concurrent_versions(fd, aside, lease)
                raise StaleFile(f"{self.before.path}: it was changed by someone else meanwhile")
            crash_point("write: exchanged")
        if self.ws.leftovers.displaced is not None:
            self.ws.leftovers.displaced.take(self.folder, aside, self.before.sha256)

    def _keep_concurrent_versions(self, fd: int, aside: str, lease: Lease) -> None:
        """Keep copies if other programs wrote or opened our version before the swap was reverted.

        A program that read our version may still replace the file with it, and so lose the change of the program
        because of which the swap was reverted.
        """
        kept: list[str] = []
        ours = os.stat(aside, dir_fd=self.folder, follow_symlinks=False).st_ino == os.fstat(fd).st_ino
        if not ours or lease.has_writer or _digest(self.folder, aside) != self.digest:
            kept.append(f"{self.name}.kept-{secrets.token_hex(4)}")
            rename_new(self.folder, aside, kept[-1])
        if lease.is_contested:
            with suppress(FileNotFoundError):  # it was removed: nothing is left to copy
                kept.append(self._copy_of_current())
        if kept:
            raise StaleFile(f"{self.before.path}: two others used it meanwhile; see {' and '.join(kept)}")

    def _copy_of_current(self) -> str:
        """Copy the file as it is now, and return the name of the copy."""
        kept = f"{self.name}.kept-{secrets.token_hex(4)}"
        source = os.open(self.name, READ, dir_fd=self.folder)
        try:
            copy = os.open(kept, NEW_FILE, stat.S_IMODE(os.fstat(source).st_mode), dir_fd=self.folder)
            try:
                write_all(copy, from_start(source, os.fstat(source).st_size))
                os.fsync(copy)
            finally:
                os.close(copy)
        finally:
            os.close(source)
        return kept

    def _write_in_place(self, old: os.stat_result) -> os.stat_result:
        """Overwrite a file, because a new file would lose its hard links, owner or attributes."""
        new = self.new
        if not isinstance(new, bytes):
            raise WriteFailed(
                f"{self.before.path}: it is too large to be overwritten in place, which its links or owner need"
            )
        fd = os.open(self.name, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=self.folder)
        try:
            if os.fstat(fd).st_ino != old.st_ino:
                raise StaleFile(f"{self.before.path}: it was replaced meanwhile")
            if len(new) > old.st_size and hasattr(os, "posix_fallocate"):
                self._reserve(fd, old.st_size, len(new))
            if hashlib.sha256(from_start(fd, old.st_size)).hexdigest() != self.before.sha256:
                os.ftruncate(fd, old.st_size)
                raise StaleFile(f"{self.before.path}: it was changed meanwhile")
            if self.ws.leftovers.displaced is not None:
                self.ws.leftovers.displaced.take_copy(self.before.data, self.before.sha256)
            with self.ws.leftovers.in_place(self.before.real, self.before.data, new):
                try:
                    _overwrite(fd, new)
                except OSError:
                    _overwrite(fd, self.before.data)
                    raise
            os.fchmod(fd, stat.S_IMODE(old.st_mode))  # writing clears the set-id bits
            self._set_time(fd, old)
            os.fsync(fd)
            return os.fstat(fd)
        finally:
            os.close(fd)

    def _reserve(self, fd: int, size: int, wanted: int) -> None:
        try:
            os.posix_fallocate(fd, 0, wanted)
        except OSError as error:
            os.ftruncate(fd, size)
            if error.errno not in (errno.EOPNOTSUPP, errno.EINVAL, errno.ENOSYS):
                raise

    @contextmanager
    def _temporary_file(self, mode: int, old: os.stat_result | None, use: Use) -> Generator[tuple[int, str]]:
        aside = temporary_name()
        noted = self.ws.leftovers.recorded(self.before.real, aside, use, self.before.sha256, self.digest)
        with noted, self._new_file(aside, mode, old) as fd:
            yield fd, aside

    @contextmanager
    def _new_file(self, aside: str, mode: int, old: os.stat_result | None) -> Generator[int]:
        fd = -1
        try:
            if isinstance(self.new, bytes):
                fd = os.open(aside, NEW_FILE, mode, dir_fd=self.folder)
                crash_point("write: temporary file made")
                write_all(fd, self.new)
            else:
                self.new.make(self.folder, aside)
                fd = os.open(aside, READ, dir_fd=self.folder)
            crash_point("write: temporary file written")
            self._set_time(fd, old)
            os.fsync(fd)
            crash_point("write: temporary file forced out")
            yield fd
        finally:
            if fd >= 0:
                os.close(fd)
            _remove_quietly(self.folder, aside)

    def _set_time(self, fd: int, old: os.stat_result | None) -> None:
        status = os.fstat(fd)
        wanted = self.ws.run_writes.time_for(self.before.real, old, status.st_size, status.st_mtime_ns)
        if wanted is not None:
            os.utime(fd, ns=(status.st_atime_ns, wanted))


@contextmanager
def _translated_errors(root: Path, before: FileState, made: list[Path]) -> Generator[None]:
    """Turn system errors into messages of one line, and remove created folders if the write fails."""
    try:
        yield
    except BaseException as error:
        for path in reversed(made):
            _quietly(path.rmdir)
        if isinstance(error, OSError):
            raise _translated(root, before.path, error) from None
        raise


def _translated(root: Path, path: Path, error: OSError) -> StaleFile | WriteFailed:
    if not root.is_dir():
        return WriteFailed(
            f"{path}: not written, the workspace {root} was removed: restore this folder, or stop the run"
        )
    if error.errno in (errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.EISDIR, errno.ENXIO):
        return StaleFile(f"{path}: it, or a folder on its way, was removed or replaced meanwhile")
    fixes = {
        errno.ENOSPC: "the disk is full: free some space; the old content is intact",
        errno.EDQUOT: "your disk quota is used up: free some space; the old content is intact",
        errno.EACCES: "its permissions, or its folder's, forbid it",
        errno.EPERM: "its permissions, or its folder's, forbid it",
        errno.EROFS: "it is on a read-only file system",
        errno.ENAMETOOLONG: "its name is too long",
    }
    return WriteFailed(f"{path}: not written, {fixes.get(error.errno or 0) or error.strerror or error}")


def _digest(folder: int, name: str) -> str | None:
    try:
        fd = os.open(name, READ, dir_fd=folder)
    except OSError:
        return None
    try:
        return digest_of(fd)
    finally:
        os.close(fd)


def _copy_metadata(fd: int, folder: int, name: str, old: os.stat_result) -> bool:
    """Copy owner, mode and extended attributes of the old file to the open file `fd`. Return False if not possible."""
    try:
        new = os.fstat(fd)
        if (new.st_uid, new.st_gid) != (old.st_uid, old.st_gid):
            os.fchown(fd, old.st_uid, old.st_gid)
        os.fchmod(fd, stat.S_IMODE(old.st_mode))
        if hasattr(os, "listxattr"):
            _copy_attributes(fd, folder, name)
    except OSError as error:
        if error.errno in (errno.EPERM, errno.EACCES, errno.ENOTSUP, errno.EINVAL):
            return False
        raise
    return True


def _copy_attributes(fd: int, folder: int, name: str) -> None:
    source = os.open(name, READ, dir_fd=folder)
    try:
        have = set(os.listxattr(fd))
        for attribute in os.listxattr(source):
            value = os.getxattr(source, attribute)
            if attribute not in have or os.getxattr(fd, attribute) != value:
                os.setxattr(fd, attribute, value)
    except OSError as error:
        if error.errno != errno.ENOTSUP:
            raise
    finally:
        os.close(source)


def _overwrite(fd: int, data: bytes) -> None:
    os.lseek(fd, 0, os.SEEK_SET)
    write_all(fd, data)
    crash_point("write in place: not cut to its length yet")
    os.ftruncate(fd, len(data))


def _remove_quietly(folder: int, name: str) -> None:
    _quietly(lambda: os.unlink(name, dir_fd=folder))


def _quietly(clean: Callable[[], None]) -> None:
    """Ignore errors of a clean-up: they must not hide the original error, and the file may be gone already."""
    try:
        clean()
    except OSError:
        return
