"""The way back: files as they were in a snapshot, without writing over what someone did since."""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from ..protocol import RundryError
from .beneath import folder_of, open_beneath, rename_new
from .errors import StaleFile
from .objects import FOLDER, LARGE, LINK, Entry, ObjectStore
from .paths import Workspace
from .scan import entry_of
from .states import FileState, read_state
from .write import drop_file, land_file, temporary_name


class Restorer:
    """One way back from the tree `expected` to the tree `target`."""

    def __init__(self, ws: Workspace, store: ObjectStore, target: str, expected: str) -> None:
        self._ws, self._store, self._target, self._expected = ws, store, target, expected

    def restore(self, paths: Sequence[str]) -> list[str]:
        """A line for each path that could not be brought back. What has to go goes first: it may be in the way."""
        wanted = [(path, _file(self._store, self._target, path)) for path in dict.fromkeys(paths)]
        said: list[str] = []
        for path, want in sorted(wanted, key=lambda each: (each[1] is not None, each[0])):
            try:
                self._bring_back(path, want)
            except (RundryError, OSError) as error:
                text = str(error) if isinstance(error, RundryError) else f"{path}: {error.strerror or error}"
                said.append(text.replace(f"{self._ws.root}/", "", 1))
        return said

    def _bring_back(self, path: str, want: Entry | None) -> None:
        real = self._ws.root / path
        if ".." in real.parts or ".git" in real.relative_to(self._ws.root).parts:
            raise StaleFile(f"{path}: no snapshot has such a path")
        now = self._now(real)
        if now == want:
            return
        have = _file(self._store, self._expected, path)
        if (now and now.sha) != (have and have.sha):
            raise StaleFile(f"{path}: left as it is, someone changed it since")
        if want is not None and want.mode == LARGE:
            raise StaleFile(f"{path}: it was too large to be kept")
        self._clear(real, now, want)
        if want is None:
            self._prune(real.parent)
        elif want.mode == LINK:
            self._link(real, want)
        else:
            self._write(real, want)

    def _now(self, real: Path) -> Entry | None:
        try:
            with folder_of(self._ws.root, real) as folder:
                status = os.stat(real.name, dir_fd=folder, follow_symlinks=False)
        except (FileNotFoundError, NotADirectoryError):
            return None
        if stat.S_ISDIR(status.st_mode):
            with suppress(OSError):  # an empty one is in nobody's snapshot
                real.rmdir()
                return None
            raise StaleFile(f"{real}: a folder with other files stands there")
        found = entry_of(str(real), status, None)
        if found is None:
            raise StaleFile(f"{real}: it is no longer a plain file")
        return found

    def _clear(self, real: Path, now: Entry | None, want: Entry | None) -> None:
        """Takes away what cannot be written over: a link, or a file that has to go or to become a link."""
        if now is None:
            return
        if now.mode == LINK:
            with folder_of(self._ws.root, real) as folder:
                os.unlink(real.name, dir_fd=folder)
        elif want is None or want.mode == LINK:
            drop_file(self._ws, self._state(real))

    def _state(self, real: Path) -> FileState:
        return read_state(real, beneath=self._ws.root)

    def _write(self, real: Path, want: Entry) -> None:
        before, mode = self._state(real), stat.S_IMODE(want.mode)
        data = self._store.blob(want.sha)
        if not before.exists:
            land_file(self._ws, before, data, mode)
            return
        if before.data != data:
            before = land_file(self._ws, before, data)
        # Of the mode, a snapshot knows who may run it and whether others may read it; the rest stays as it is.
        if bool(before.mode & 0o100) != bool(mode & 0o100) or bool(before.mode & 0o077) != bool(mode & 0o077):
            fd = open_beneath(self._ws.root, real)
            try:
                os.fchmod(fd, mode)
            finally:
                os.close(fd)

    def _link(self, real: Path, want: Entry) -> None:
        aside = temporary_name()
        with folder_of(self._ws.root, real, []) as folder:
            os.symlink(os.fsdecode(self._store.blob(want.sha)), aside, dir_fd=folder)
            try:
                rename_new(folder, aside, real.name)
            except OSError:
                os.unlink(aside, dir_fd=folder)
                raise

    def _prune(self, folder: Path) -> None:
        """Empty folders go that the target does not have."""
        while folder != self._ws.root and _find(self._store, self._target, self._ws.relative(folder)) is None:
            try:
                folder.rmdir()
            except OSError:
                return
            folder = folder.parent


def _find(store: ObjectStore, tree: str, path: str) -> Entry | None:
    """The entry of a path, folders included."""
    entry = Entry(FOLDER, tree) if tree else None
    for part in os.fsencode(path).split(b"/"):
        if entry is None or entry.mode != FOLDER:
            return None
        entry = store.tree(entry.sha).get(part)
    return entry


def _file(store: ObjectStore, tree: str, path: str) -> Entry | None:
    """The entry of a path; a folder there means that there is no such file."""
    entry = _find(store, tree, path)
    return None if entry is None or entry.mode == FOLDER else entry
