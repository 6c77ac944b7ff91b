"""A layer over a workspace: what commands write in it is kept apart, until it is applied or dropped."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Self

from ..sandbox.command_access import LayerAccess
from .copied_up import CopiedUp
from .copy_folder import has_copy, wait_for_copy
from .git.layer_git_folders import covered, git_folders_of, index_files, touched
from .git.setting_names import GitPaths
from .layer_effects import Effect, Ground, list_effects, written_below
from .namespaces import Cover
from .occupied import Occupied, seal, wait_until_free
from .open_below import FOLDER
from .removing import remove_tree
from .watching import Limits, Watch, limits_at
from .written_files import Written

if TYPE_CHECKING:
    from .direct_comparison import Tree
    from .namespaces import Mounted, Namespaces

_UPPER, _WORK, _STAGING, _STAMP = "u", "w", "s", "stamp"
_CACHE, _CACHE_WORK = "c", "d"
"""The folders of what is written to caches."""
_LONGEST_TICK, _PAUSE = 2.1, 0.0005
"""Seconds. FAT has ticks of two seconds."""


class LayerMoment(NamedTuple):
    """A point in time of a layer, since which its writes can be listed."""

    time_ns: int
    tree: Tree | None = None
    """The files of a copy at that moment."""


class Layer:
    """What is written over a workspace, apart from it.

    Its folder must lie on the file system of the workspace, and outside of what commands see. A git folder of the
    workspace that lies elsewhere (of a linked working tree, of a submodule) is covered too.
    """

    _limits: Limits | None = None
    """The limits of the first command."""
    caches: Sequence[Path] = ()
    """Caches outside of the workspace that its commands may write, too. What they write there is dropped with it."""

    def __init__(
        self,
        folder: Path,
        workspace: Path,
        hidden: Path | None = None,
        *,
        is_left: bool = False,
        caches: Sequence[Path] = (),
    ) -> None:
        """`folder`: an empty or new folder of its own. `hidden`: a folder in the workspace or its git folder that the
        commands see empty, because it is rundry's. `is_left`: the folder has what an earlier process wrote.
        `caches`: folders that exist, none inside another or the workspace.
        """
        self.caches = caches
        self.folder, self.workspace, self._hidden = folder, workspace, hidden
        self.git = git_folders_of(workspace)
        self.places = covered(workspace, self.git)
        """The folders that it covers."""
        self.indexes: dict[Path, int] = {}
        """Descriptors of git's indexes as they were at the mount: git replaces the files."""
        self.between: Path | None = None
        """A folder that lies over the workspace and below the layer, or None if there is none. Set before the mount."""
        self._mounted: Mounted | None = None
        self._namespaces: Namespaces | None = None
        self._copied_up = CopiedUp()
        self.stamp_ns = self.first_stamp_ns = 0
        self.older = dict[bytes, int]()
        """Paths that were written at an earlier mount, with the stamp of the mount."""
        if is_left:
            return
        (folder / _STAGING).mkdir(mode=0o700, parents=True)
        for n in range(len(self.places)):
            for name in (_UPPER, _WORK):
                (folder / f"{name}{n or ''}").mkdir(mode=0o700)

    def mount(self, namespaces: Namespaces | None) -> Self:
        """Mount it for the processes that enter it. Raises NamespacesRefused and OSError."""
        assert namespaces is not None  # only a copy needs none
        for index in () if self.git is None or self.indexes else index_files(self.git.common):
            with suppress(OSError):
                self.indexes[index] = os.open(index, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        self.stamp_ns = next_tick(self.folder / _STAMP)
        self.first_stamp_ns = self.first_stamp_ns or self.stamp_ns
        own = self.folder.name
        covers = [
            Cover(place, self._lowers(place), f"{own}/{_UPPER}{n or ''}", f"{own}/{_WORK}{n or ''}")
            for n, place in enumerate(self.places)
        ]
        self._namespaces = namespaces
        hidden = [] if self._hidden is None else [self._hidden]
        self._mounted = namespaces.mount(self.folder.parent, covers, hidden, self._caches_covered())
        return self

    def _caches_covered(self) -> list[Cover]:
        """Return how the caches are covered: with new folders, because the kernel refuses used ones."""
        own, covers = self.folder.name, list[Cover]()
        for n, place in enumerate(self.caches):
            upper, work = f"{_CACHE}{n}", f"{_CACHE_WORK}{n}"
            for name in (upper, work):
                with suppress(FileNotFoundError):
                    remove_tree(self.folder / name)
                (self.folder / name).mkdir(mode=0o700)
            covers.append(Cover(place, [str(place)], f"{own}/{upper}", f"{own}/{work}"))
        return covers

    def _lowers(self, place: Path) -> list[str]:
        over = [] if self.between is None or place != self.workspace else [str(self.between)]
        return [*over, str(place)]

    def mount_again(self, namespaces: Namespaces | None, seconds: float) -> None:
        """Mount what was written so far over the workspace as it is now. It must be sealed, or left by another process.

        Waits up to `seconds` for the end of the last mount. Raises Occupied, NamespacesRefused and OSError.
        """
        assert namespaces is not None  # only a copy needs none
        if self._mounted is not None:
            self._mounted.close()
            self._mounted = None
        wait_for_end(self.folder, namespaces, seconds)
        self._remove_copied_up()
        for path in self.names_written():
            self.older.setdefault(path, self.stamp_ns)
        for n in range(len(self.places)):
            work = self.folder / f"{_WORK}{n or ''}"  # a used one is refused (overlayfs.rst, `volatile`)
            with suppress(FileNotFoundError):
                remove_tree(work)
            work.mkdir(mode=0o700)
        self.mount(namespaces)

    def note_copied_up(self, name: str) -> None:
        """Note which files were only copied up until now, so that `mount_again` shows what the user made of them.

        `name`: of a file in its folder. Raises TooMuch and OSError.
        """
        until_ns = self.next_tick(name)
        upper = os.open(self.upper, FOLDER | os.O_CLOEXEC)
        below = os.open(self.workspace, FOLDER | os.O_CLOEXEC)
        try:
            self._copied_up.note(written_below(upper), upper, below, until_ns)
        finally:
            os.close(upper)
            os.close(below)

    def _remove_copied_up(self) -> None:
        self.note_copied_up(_STAMP)
        upper = os.open(self.upper, FOLDER | os.O_CLOEXEC)
        try:
            for path in self._copied_up.remove_from(upper):
                self.older.pop(path, None)
        finally:
            os.close(upper)

    @property
    def is_mounted(self) -> bool:
        """Whether processes can enter it."""
        return self._mounted is not None

    @property
    def copy(self) -> Path | None:
        """The copy of the workspace that it is. None means that it is mounted."""
        return None

    @property
    def is_empty(self) -> bool:
        """Whether nothing at all was written in it."""
        return not any(any(upper.iterdir()) for upper in self.uppers)

    def names_written(self) -> Iterator[bytes]:
        """Yield the paths of what was written. Raises OSError and TooMuch."""
        upper = os.open(self.upper, FOLDER | os.O_CLOEXEC)
        try:
            yield from [path for path, _ in written_below(upper)]
        finally:
            os.close(upper)

    def outside(self, path: Path) -> Path:
        """Return the path that commands know for a path in the workspace."""
        return path

    @property
    def words(self) -> list[str]:
        """The words before a command that runs in the layer."""
        return self._open.words

    @property
    def access(self) -> LayerAccess:
        """How a sandboxed command enters the layer."""
        return self._access(self._open.words)

    def watch(self) -> Watch:
        """Return what kills a command at a limit of what all commands together may write here. Raises OSError."""
        self._limits = self._limits or limits_at(self.folder)
        return Watch([*self.uppers, *(self.folder / f"{_CACHE}{n}" for n in range(len(self.caches)))], self._limits)

    def access_in(self, network: int) -> LayerAccess:
        """How a sandboxed command enters the layer that uses another network than the run's."""
        return self._access(self._open.words_in(network))

    def _access(self, offline: Sequence[str]) -> LayerAccess:
        mounted = self._open
        return LayerAccess(offline=offline, online=mounted.online_words, places=self.places, caches=mounted.caches)

    @property
    def root(self) -> int:
        """The open folder of the workspace, as commands in the layer see it."""
        return self._open.roots[0]

    def seal(self, seconds: float) -> None:
        """Make it read-only permanently, so that what is listed is final. Raises Occupied and NamespacesRefused.

        Waits up to `seconds` for programs that have a file of it open for writing.
        """
        assert self._namespaces is not None  # the caller mounted it
        seal(self._namespaces, self._open, seconds)

    def next_tick(self, name: str) -> int:
        """Return a change time of its file system that is later than all earlier ones.

        `name`: of a file in its folder.
        """
        return next_tick(self.folder / name)

    def moment(self, name: str) -> LayerMoment:
        """Return the present moment, for `effects`. `name`: of a file in its folder. Raises OSError."""
        return LayerMoment(self.next_tick(name))

    def effects(
        self, reads: Callable[[str], bool] = lambda _: True, since: LayerMoment | None = None
    ) -> tuple[list[Effect], list[str]]:
        """Return what differs, and lines about what is never applied. Raises TooMuch and OSError.

        No process may run in the layer any more. Of git folders only settings, hooks and new ones are listed here;
        `read_git` has the rest. `reads`: whether the bytes of a new file at a path are read. `since`: what was
        written before is left out.
        """
        upper = os.open(self.upper, FOLDER | os.O_CLOEXEC)
        below = os.open(self.workspace, FOLDER | os.O_CLOEXEC)
        try:
            found = touched(upper, below)
            git = GitPaths([*found.folders, *found.deleted], found.new)
            ground = Ground(below, self.stamp_ns, self.older)
            effects, left_out = list_effects(upper, ground, reads, git, 0 if since is None else since.time_ns)
            return [one for one in effects if not self._is_hidden(one.path)], left_out
        finally:
            os.close(upper)
            os.close(below)

    def _is_hidden(self, path: str) -> bool:
        return self._hidden is not None and (self.workspace / path).is_relative_to(self._hidden)

    @property
    def upper(self) -> Path:
        """The folder with what was written to the workspace."""
        return self.uppers[0]

    @property
    def uppers(self) -> list[Path]:
        """The folders with what was written to each place."""
        return [self.folder / f"{_UPPER}{n or ''}" for n in range(len(self.places))]

    def written(self) -> Written:
        """Return what was written, for an apply. Raises OSError."""
        return Written(self.upper, self.folder / _STAGING)

    def unmount(self) -> None:
        """Release the mount; it ends with its last process."""
        while self.indexes:
            os.close(self.indexes.popitem()[1])
        if self._mounted is not None:
            self._mounted.close()
            self._mounted = None

    def drop(self) -> None:
        """Unmount it and delete what was written."""
        self.unmount()
        remove_tree(self.folder)

    @property
    def _open(self) -> Mounted:
        assert self._mounted is not None  # the caller mounted it
        return self._mounted


def wait_for_end(folder: Path, namespaces: Namespaces, seconds: float) -> None:
    """Wait until nobody uses the layer that another runner, which may have been killed, left in this folder.

    Raises Occupied after `seconds`, and NamespacesRefused.
    """
    until = time.monotonic() + seconds
    for upper in sorted(folder.glob(f"{_UPPER}*")):
        work = upper.name.replace(_UPPER, _WORK, 1)
        wait_until_free(namespaces, folder, upper.name, work, max(0.0, until - time.monotonic()))


def wait_until_unused(folder: Path, namespaces: Namespaces | None, seconds: float) -> None:
    """Wait until nobody works in the layer or copy that another runner left in this folder.

    `namespaces` is None if it cannot be found out whether a layer is used. Raises Occupied, NamespacesRefused and
    OSError.
    """
    if has_copy(folder):
        wait_for_copy(folder, seconds)
    elif namespaces is None:
        raise Occupied("layers do not work here now, so nobody can tell whether it is used")
    else:
        wait_for_end(folder, namespaces, seconds)


def next_tick(file: Path) -> int:
    """Write a file until its change time is later than at the first write, and return that time in nanoseconds.

    A file that changed before the call then has an earlier one. The clock of a file system has ticks of up to 10 ms.
    """
    first, now = _touched(file), _touched(file)  # Linux 6.13 gives the second write a finer time
    until = time.monotonic() + _LONGEST_TICK
    while now == first and time.monotonic() < until:
        time.sleep(_PAUSE)
        now = _touched(file)
    return now


def _touched(file: Path) -> int:
    file.write_bytes(b"1")
    return file.stat().st_ctime_ns
