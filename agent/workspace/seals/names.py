"""Index the accepted file names below a folder. An update needs one stat call for each folder."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from .marks import Stamp, is_racy, stamp_of

SKIPPED = frozenset({".git", ".hg", ".svn", ".jj", "node_modules", "__pycache__"})
"""Folders in which tools do not search for tests or settings. A file in them is guarded only by its own path."""
CACHE = "__pycache__"
_VENV = "pyvenv.cfg"
_METADATA = (".dist-info", ".egg-info")
"""Suffixes of those folders of an installed package that can name plug-ins."""


class TooManyNames(Exception):
    """The folder has more names than an update may read."""


class UpdateStopped(Exception):
    """The update was stopped, because its result is no longer needed."""


class _Folder:
    __slots__ = ("below", "caches", "found", "path", "stamp")

    def __init__(self, path: str) -> None:
        self.path = path
        """Absolute path without a slash at the end."""
        self.stamp: Stamp | None = None
        self.below: list[_Folder] = []
        self.found: list[str] = []
        self.caches: list[str] = []
        """Folders of bytecode, and links with such a name."""


class NameIndex:
    """The accepted paths of a workspace, including those that git ignores."""

    def __init__(
        self,
        root: Path,
        accepts: Callable[[str], bool],
        private: frozenset[str] = frozenset(),
        installed: Iterable[str] = (),
        *,
        accepts_link: Callable[[str], bool] | None = None,
    ) -> None:
        """`accepts` receives paths relative to `root`. `private`: absolute paths of folders that are not searched.

        `installed`: folders relative to `root` that are searched although they are inside a skipped one.
        `accepts_link`: the same as `accepts` for links; None: `accepts` decides about them, too.
        """
        self._root, self._accepts, self._private = str(root), accepts, private
        self._accepts_link = accepts_link or accepts
        self.listed = 0
        """Number of names that the running update, or the last one, has read."""
        self._most: int | None = None
        self._top = _Folder(self._root)
        self._is_stopped = False
        self._installed = {path: _Folder(path) for path in (f"{self._root}/{name}" for name in sorted(installed))}

    def stop(self) -> None:
        """End a running `update` from another thread."""
        self._is_stopped = True

    def update(self, most: int | None = None) -> bool:
        """Read the folders that changed. Return whether a name was added or removed. Raises UpdateStopped.

        `most`: raise TooManyNames if there are more names to read.
        """
        self.listed, self._most = 0, most
        return self._look([self._top, *self._installed.values()])

    def paths(self) -> Iterator[str]:
        """Yield the accepted paths that the last `update` found."""
        for folder in self._all():
            yield from folder.found

    def folders(self) -> Iterator[str]:
        """Yield the absolute paths of the searched folders."""
        return (folder.path for folder in self._all())

    def caches(self) -> Iterator[str]:
        """Yield the folders of Python bytecode that the last `update` found, relative to the root."""
        for folder in self._all():
            yield from folder.caches

    def _all(self) -> Iterator[_Folder]:
        waiting = [self._top, *self._installed.values()]
        while waiting:
            folder = waiting.pop()
            yield folder
            waiting += folder.below

    def _look(self, waiting: list[_Folder]) -> bool:
        """List each folder whose ctime changed, which users cannot set. Return whether an accepted name changed."""
        changed = False
        while waiting:
            if self._is_stopped:
                raise UpdateStopped(f"the listing of {self._root} was stopped")
            folder = waiting.pop()
            try:
                status = Path(folder.path).stat() if folder.path in self._installed else os.lstat(folder.path)
            except OSError:
                changed = changed or bool(folder.found or folder.below)
                folder.stamp, folder.below, folder.found, folder.caches = None, [], [], []
                continue
            known = folder.stamp
            if known is None or known[5] != status.st_ctime_ns or known[1] != status.st_ino:
                changed = self._list(folder, status) or changed
            waiting += folder.below
        return changed

    def _list(self, folder: _Folder, status: os.stat_result) -> bool:
        now = time.time_ns()
        stamp = stamp_of(status)
        old = {child.path: child for child in folder.below}
        before = (folder.found, [child.path for child in folder.below])
        folder.below, folder.found, folder.caches = [], [], []
        # The top and the installed folders are searched even if they are links.
        if stat.S_ISDIR(status.st_mode) or folder is self._top:
            self._read_entries(folder, old)
        folder.stamp = None if is_racy(stamp, now) else stamp
        return (folder.found, [child.path for child in folder.below]) != before

    def _read_entries(self, folder: _Folder, old: dict[str, _Folder]) -> None:
        try:
            with os.scandir(folder.path) as listing:
                entries = sorted(listing, key=lambda entry: entry.name)
        except OSError:
            return
        self.listed += len(entries)
        if self._most is not None and self.listed > self._most:
            raise TooManyNames(f"{self._root} has more than {self._most:,} files")
        start = len(self._root) + 1
        if folder is not self._top and any(entry.name == _VENV for entry in entries):
            return
        is_installed = folder.path in self._installed
        for entry in entries:
            path = entry.path
            if entry.name == CACHE:
                folder.caches.append(path[start:])
            if entry.is_dir(follow_symlinks=False):
                is_skipped = entry.name in SKIPPED or path in self._private or path in self._installed
                if not is_skipped and (not is_installed or entry.name.casefold().endswith(_METADATA)):
                    folder.below.append(old.get(path) or _Folder(path))
            elif path not in self._private:
                accepts = self._accepts_link if entry.is_symlink() else self._accepts
                if accepts(path[start:]):
                    folder.found.append(path[start:])
