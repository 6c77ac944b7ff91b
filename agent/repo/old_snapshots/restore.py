"""Restore files to an earlier state, without overwriting later changes."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from ...host.file_errors import StaleFile
from ...host.files.file_states import LIMIT, FileState, read_state
from ...host.files.no_follow import folder_of, open_beneath, rename_new
from ...host.files.temporary import temporary_name
from ...host.files.write_file import remove_any_file, write_any_file
from ...protocol import RundryError
from .loose_objects import LARGE, LINK, TreeEntry, blob_id

if TYPE_CHECKING:
    from ...host.workspace_paths import Workspace

_ITS_OWN = stat.S_IWUSR


class FileVersion(msgspec.Struct, frozen=True):
    """An earlier state of a file or link. There is a kind for each place that stores contents."""

    sha: str
    """Git's hash of its bytes, or of the link's target."""
    mode: int | None = None
    """Mode as in a tree. None means a plain file whose permissions were not recorded."""

    def load(self) -> bytes:
        """Return these bytes. Raises RundryError if they are not stored."""
        raise NotImplementedError


class Restorer:
    """Restores files of one workspace."""

    def __init__(self, ws: Workspace, folders: Collection[str] = ()) -> None:
        """`folders`: those of the restored state, as relative paths; others are removed if they are empty."""
        self._ws, self._folders = ws, folders

    def restore(self, path: str, want: FileVersion | None, have: FileVersion | None) -> str | None:
        """Restore a file. Returns None, or a line with its path and why it was not restored. Never raises OSError.

        `want` and `have`: the file before and after the change that is undone, or None if there was no file. If the
        file differs from `have`, someone changed it later, and it is kept.
        """
        try:
            self._restore(path, want, have)
        except (RundryError, OSError, ValueError) as error:
            text = str(error) if isinstance(error, RundryError) else f"{path}: {_words(error)}"
            text = text.replace(f"{self._ws.root}/", "", 1)
            return text if text.startswith(f"{path}:") else f"{path}: {text}"
        return None

    def _restore(self, path: str, want: FileVersion | None, have: FileVersion | None) -> None:
        real = self._ws.root / path
        if ".." in real.parts or ".git" in real.relative_to(self._ws.root).parts:
            raise StaleFile(f"{path}: no snapshot has such a path")
        now = self._now(real)
        if not same_content(now, want):
            self._content(path, real, now, want, have)
        elif now is not None and want is not None and have is not None and same_content(want, have):
            self._permissions(path, real, now, want, have)

    def _content(
        self, path: str, real: Path, now: TreeEntry | None, want: FileVersion | None, have: FileVersion | None
    ) -> None:
        if not same_content(now, have):
            did = "removed it" if now is None else "made it" if have is None else "changed it"
            raise StaleFile(f"{path}: not restored, because someone {did} since")
        if want is not None and want.mode == LARGE:
            raise StaleFile(f"{path}: it was too large to be stored")
        _refuse_other_permissions(path, now, want, have)
        if now is not None and (now.mode == LINK or want is None or want.mode == LINK):
            self._clear(real, now)
            now = None
        if want is None:
            self._prune(real.parent)
        elif want.mode == LINK:
            self._link(real, want)
        elif now is None:
            write_any_file(self._ws, self._state(real), want.load(), want.mode and stat.S_IMODE(want.mode))
        else:
            self._write(real, want, have)

    def _permissions(self, path: str, real: Path, now: TreeEntry, want: FileVersion, have: FileVersion) -> None:
        """Restore the permissions of a file whose bytes are correct, if the change modified them."""
        _refuse_other_permissions(path, now, want, have)
        if want.mode is not None and have.mode not in (None, want.mode):
            self._chmod(real, stat.S_IMODE(want.mode))

    def _now(self, real: Path) -> TreeEntry | None:
        try:
            with folder_of(self._ws.root, real) as folder:
                status = os.stat(real.name, dir_fd=folder, follow_symlinks=False)
        except (FileNotFoundError, NotADirectoryError):
            return None
        if stat.S_ISDIR(status.st_mode):
            with suppress(OSError):  # snapshots do not contain empty folders
                real.rmdir()
                return None
            raise StaleFile(f"{real}: it is now a folder with other files")
        found = _entry_of(real, status)
        if found is None:
            raise StaleFile(f"{real}: it is no longer a plain file")
        return found

    def _clear(self, real: Path, now: TreeEntry) -> None:
        """Remove a link, or a file that is to be removed or replaced by a link."""
        if now.mode == LINK:
            with folder_of(self._ws.root, real) as folder:
                os.unlink(real.name, dir_fd=folder)
        else:
            remove_any_file(self._ws, self._state(real))

    def _state(self, real: Path) -> FileState:
        return read_state(real, beneath=self._ws.root)

    def _write(self, real: Path, want: FileVersion, have: FileVersion | None) -> None:
        """Write new bytes to an existing file. A read-only file is made writable for its owner for this time."""
        before, data = self._state(real), want.load()
        moves = want.mode is not None and have is not None and have.mode not in (None, want.mode)
        mode = stat.S_IMODE(want.mode) if moves and want.mode is not None else before.mode
        opened = before.mode | _ITS_OWN
        if opened != before.mode:
            self._chmod(real, opened)
        try:
            write_any_file(self._ws, self._state(real), data)
        except BaseException:
            if opened != before.mode:
                self._chmod(real, before.mode)
            raise
        if mode != opened:
            self._chmod(real, mode)

    def _chmod(self, real: Path, mode: int) -> None:
        fd = open_beneath(self._ws.root, real)
        try:
            os.fchmod(fd, mode)
        finally:
            os.close(fd)

    def _link(self, real: Path, want: FileVersion) -> None:
        aside = temporary_name()
        with folder_of(self._ws.root, real, []) as folder, self._ws.leftovers.recorded(real, aside, "made"):
            os.symlink(os.fsdecode(want.load()), aside, dir_fd=folder)
            try:
                rename_new(folder, aside, real.name)
            except OSError:
                os.unlink(aside, dir_fd=folder)
                raise

    def _prune(self, folder: Path) -> None:
        """Remove empty folders that the restored state does not have."""
        while folder != self._ws.root and self._ws.relative(folder) not in self._folders:
            try:
                folder.rmdir()
            except OSError:
                return
            folder = folder.parent


def _entry_of(real: Path, status: os.stat_result) -> TreeEntry | None:
    """Return the tree entry of a file or link as it is now, or None if it is neither."""
    mode = status.st_mode
    if stat.S_ISLNK(mode):
        try:
            return TreeEntry(LINK, blob_id(os.fsencode(real.readlink())))
        except OSError:
            return None
    if not stat.S_ISREG(mode):
        return None
    if status.st_size <= LIMIT:
        try:
            with open(real, "rb", opener=_no_follow) as file:
                data = file.read(LIMIT + 1)
        except FileNotFoundError:
            return None
        except OSError:
            data = None
        if data is not None and len(data) <= LIMIT:
            return TreeEntry(stat.S_IFREG | stat.S_IMODE(mode), blob_id(data))
    stamp = f"{status.st_size} {status.st_mtime_ns} {status.st_ino}".encode()
    return TreeEntry(LARGE, hashlib.sha1(stamp, usedforsecurity=False).hexdigest())


def _no_follow(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK)


def same_content(one: TreeEntry | FileVersion | None, other: TreeEntry | FileVersion | None) -> bool:
    """Return whether both have the same bytes and both are files, or both are links."""
    if one is None or other is None:
        return one is other
    return one.sha == other.sha and (one.mode == LINK) == (other.mode == LINK)


def _refuse_other_permissions(
    path: str, now: TreeEntry | None, want: FileVersion | None, have: FileVersion | None
) -> None:
    """Raise StaleFile if the change modified the permissions and someone changed them again since."""
    if now is None or want is None or have is None or LINK in (now.mode, want.mode) or LARGE in (now.mode, have.mode):
        return
    if want.mode is None or have.mode in (None, want.mode):
        return
    if now.mode not in (have.mode, want.mode):
        raise StaleFile(f"{path}: not restored, because someone changed its permissions since")


def _words(error: Exception) -> str:
    if isinstance(error, OSError):
        return error.strerror or str(error)
    return "its path is outside of the workspace"
