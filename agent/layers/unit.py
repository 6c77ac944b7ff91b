"""A unit of work: one layer that stays mounted while a stage, a pass, a try or an item works in it.

The file tools, the commands, the checks and the background processes of the unit work on the same view. When the user
changed the workspace, the layer is mounted again with what was written so far.
"""

from __future__ import annotations

import errno
import fcntl
import os
import shutil
from collections.abc import Iterable, Iterator
from contextlib import suppress
from fnmatch import fnmatch
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Self

import msgspec

from ..host.files.temporary import TEMPORARY_FILES
from .apply import force_out
from .git.layer_git_folders import index_files
from .layer_effects import TooMuch, bytes_at, target_at
from .layer_patch import not_in_patch, patch_of
from .namespaces import NamespacesRefused
from .occupied import Occupied
from .open_below import FOLDER, open_below
from .remedies import LayerRefused
from .unit_record import LOST, UnitRecord, boot_id, forget_record, read_record, write_record

if TYPE_CHECKING:
    from ..sandbox.command_access import LayerAccess
    from .layer import Layer, LayerMoment
    from .layer_effects import Effect, Side
    from .run_layers import Listed, RunLayers
    from .unit_record import UnitKind

_SECONDS = 10.0
"""How long the processes of a unit may take to end."""
_INDEX, _MOMENT_FILE, _CLOSED = "index-", "mark", "closed"
_TEMPORARY = TEMPORARY_FILES.encode()
_IN_PATCH = frozenset[str]({"protected", "ordinary", "ignored_existed"})
"""Classes of effects that a patch has. The others can be made again: builds, installs, caches."""


class UnitLost(Exception):
    """What an earlier process left of a unit cannot be used. The message says why."""


class UnitElsewhere(UnitLost):
    """It cannot be used now, because its workspace is at another place than it was."""


class Unit:
    """One long-lived mount. It is made by `begin` or `left`."""

    def __init__(self, layers: RunLayers, layer: Layer, record: UnitRecord, *, is_final: bool = False) -> None:
        """`layer` is mounted. `is_final`: nothing is written in it any more."""
        self._layers, self.layer, self._record = layers, layer, record
        self._root = -1 if layer.copy is not None else fcntl.fcntl(layer.root, fcntl.F_DUPFD_CLOEXEC, 0)
        self.root = layer.copy or Path(f"/proc/self/fd/{self._root}")
        """Where this process reads and writes the view. It stays the same when the layer is mounted again."""
        self.is_watched = False
        """Whether somebody calls `note_change` at each change of the workspace."""
        self._was_changed = False
        self._write(record.boot if is_final else boot_id())

    @classmethod
    def begin(cls, layers: RunLayers, kind: UnitKind, *, lasts: bool = False) -> Self:
        """Begin a unit. `lasts`: it stays on the disk when this process ends. Raises LayerRefused."""
        indexes = dict[bytes, str]()
        layer = layers.open(kind, lambda layer: indexes.update(_copy_indexes(layer)))
        record = UnitRecord(
            run=layers.run,
            kind=kind,
            lasts=lasts,
            workspace=os.fsencode(layer.workspace),
            places=tuple(map(os.fsencode, layer.places)),
            stamp_ns=layer.stamp_ns,
            first_stamp_ns=layer.first_stamp_ns,
            indexes=indexes,
        )
        try:
            return cls(layers, layer, record)
        except OSError as error:
            layer.drop()
            raise LayerRefused(error, layers.base) from error

    @classmethod
    def left(cls, layers: RunLayers, folder: Path, *, is_final: bool = False) -> Self:
        """Mount what another process left in this folder. Raises LayerRefused, UnitLost, and Occupied if it is used.

        `is_final`: to look at it only, so that what is on the disk stays so.
        """
        try:
            record = read_record(folder)
            if record is None:
                raise UnitLost(f"its folder {folder} is gone or damaged")
            if not record.is_whole:
                raise UnitLost(LOST)
            layer = layers.left(folder)
            if layer is None:
                raise UnitLost("it is a layer, and layers do not work here now")
            if tuple(map(os.fsencode, layer.places)) != record.places:
                raise UnitElsewhere("the workspace or its git folder is at another place now")
            layer.stamp_ns, layer.first_stamp_ns = record.stamp_ns, record.first_stamp_ns
            layer.older.update(record.older)
            for index, name in record.indexes.items():
                with suppress(FileNotFoundError):
                    layer.indexes[Path(os.fsdecode(index))] = os.open(folder / name, os.O_RDONLY | os.O_CLOEXEC)
            is_copy = layer.copy is not None
            if is_copy:  # it is made equal to the workspace, which writes to it
                write_record(folder, msgspec.structs.replace(record, boot=boot_id()))
            layer.mount_again(layers.namespaces, _SECONDS)
            try:
                _remove_temporary(layer)
                unit = cls(layers, layer, record, is_final=is_final and not is_copy)
                if is_final and is_copy:
                    unit.force_out()
                return unit
            except OSError:
                layer.unmount()
                raise
        except (NamespacesRefused, OSError) as error:
            raise LayerRefused(error, layers.base) from error

    @property
    def folder(self) -> Path:
        """The folder of its layer."""
        return self.layer.folder

    @property
    def access(self) -> LayerAccess:
        """How a sandboxed command enters it."""
        return self.layer.access

    def outside(self, path: Path) -> Path:
        """Return the path that commands and people know for a path in the view."""
        live = self.layer.workspace / path.relative_to(self.root) if path.is_relative_to(self.root) else path
        return self.layer.outside(live)

    @property
    def is_stale(self) -> bool:
        """Whether the workspace may have been changed since the mount, so that the view shows older files."""
        return self._was_changed or not self.is_watched

    def note_change(self) -> None:
        """Note that the workspace was changed, so that the layer has to be mounted again."""
        self._was_changed = True

    def mount_again(self) -> None:
        """Show the workspace as it is now, with what was written in the unit. No process of it may run any more.

        Raises Occupied if a process still writes: then the view stays as it is. Raises NamespacesRefused and OSError:
        then the view may be closed, and nothing can be read or written in it until a later call succeeds.
        """
        if self.layer.is_mounted and self._root >= 0:
            self.layer.seal(_SECONDS)
        self._close_view()
        self._was_changed = False
        try:
            self.layer.mount_again(self._layers.namespaces, _SECONDS)
            self._write(boot_id())
        except Occupied as used:
            self._was_changed = True
            raise OSError(errno.EBUSY, str(used)) from used
        except BaseException:
            self._was_changed = True
            raise
        if self._root >= 0:
            os.dup2(self.layer.root, self._root, inheritable=False)

    def _close_view(self) -> None:
        """Close the view, and keep the number of its descriptor: in a deleted folder nothing can be made."""
        if self._root < 0:  # a copy stays where it is
            return
        closed = self.folder / _CLOSED
        closed.mkdir(exist_ok=True)
        opened = os.open(closed, FOLDER | os.O_CLOEXEC)
        closed.rmdir()
        os.dup2(opened, self._root, inheritable=False)
        os.close(opened)

    @property
    def is_empty(self) -> bool:
        """Whether nothing at all was written in it."""
        return self.layer.is_empty

    def tick(self) -> int:
        """Return the present time of the layer's file system. Raises OSError."""
        return self.layer.next_tick(_MOMENT_FILE)

    def note_copied_up(self) -> None:
        """Note which files its commands only copied up, so that the view shows what the user makes of them.

        If they cannot be listed now, they stay as the unit has them.
        """
        with suppress(TooMuch, OSError):
            self.layer.note_copied_up(_MOMENT_FILE)

    def moment(self) -> LayerMoment:
        """Return the present moment, for `effects_since`. Raises OSError."""
        return self.layer.moment(_MOMENT_FILE)

    def effects_since(self, moment: LayerMoment) -> list[Effect]:
        """Return what was written since a moment and differs from the workspace, to show it.

        Processes may still write, so nothing is decided by it. Raises TooMuch and OSError.
        """
        return self.layer.effects(since=moment)[0]

    def patch(self, listed: Listed, *, prefix: str = "", hash_name: str = "sha1") -> Iterator[bytes]:
        """Yield what the unit changed as a patch of the workspace, for plain git. Raises OSError and StaleFile.

        `prefix`: the workspace in its repository (`sub/`). `hash_name`: that of the repository.
        """
        below = os.open(self.layer.workspace, FOLDER | os.O_CLOEXEC)
        try:
            with self.layer.written() as written:
                loads = partial(_load, below), written.load
                yield from patch_of(_in_patch(listed), *loads, prefix=prefix, hash_name=hash_name)
        finally:
            os.close(below)

    def note_applied(self, paths: Iterable[str]) -> None:
        """Note that the workspace has what was accepted of these paths, so that none is a conflict. Raises OSError."""
        stamp = self.tick()
        self.layer.older.update((os.fsencode(path), stamp) for path in paths)
        self._write(self._record.boot)

    def force_out(self) -> None:
        """Flush everything that was written to the disk, so that it survives a crash of the machine.

        No process may run in it. To write more, call `mount_again`. Raises OSError.
        """
        force_out(self.folder)
        self._record = msgspec.structs.replace(self._record, boot="")
        write_record(self.folder, self._record)

    def leave(self) -> None:
        """Make it final and flush it to the disk, then release it. It can be mounted again later.

        Raises Occupied, NamespacesRefused and OSError; then it is released, too.
        """
        try:
            if self.layer.copy is None and self.layer.is_mounted:  # a copy is listed when somebody looks at it
                self.layer.seal(_SECONDS)
            self.force_out()
        finally:
            self.close()

    def drop(self) -> None:
        """Delete what was written. Raises OSError."""
        self.close()
        forget_record(self.folder)
        self.layer.drop()

    def _write(self, boot: str) -> None:
        layer = self.layer
        self._record = msgspec.structs.replace(
            self._record, stamp_ns=layer.stamp_ns, older=dict(layer.older), boot=boot
        )
        write_record(self.folder, self._record)

    def close(self) -> None:
        """Release it, as the kernel does at a kill. What was written stays if `lasts` is set."""
        self.layer.unmount()
        if self._root >= 0:
            os.close(self._root)
            self._root = -1


def _remove_temporary(layer: Layer) -> None:
    """Remove what a killed runner left of a file that it was writing in the view."""
    for path in [path for path in layer.names_written() if fnmatch(path.rpartition(b"/")[2], _TEMPORARY)]:
        with suppress(FileNotFoundError):
            folder = open_below(layer.root, path.rpartition(b"/")[0], FOLDER)
            try:
                os.unlink(path.rpartition(b"/")[2], dir_fd=folder)
            finally:
                os.close(folder)


def left_out_of_patch(listed: Listed) -> list[str]:
    """Return a line for each change of a unit that its patch does not have."""
    others = dict[str, int]()
    for group in listed.groups:
        if group.kind not in _IN_PATCH and group.kind != "bytecode":
            others[group.kind] = others.get(group.kind, 0) + len(group.entries)
    counted = [f"{count} of the kind {kind.replace('_', ' ')}" for kind, count in sorted(others.items())]
    return [*not_in_patch(_in_patch(listed)), *counted]


def _in_patch(listed: Listed) -> list[Effect]:
    return sorted(
        (one.effect for group in listed.groups if group.kind in _IN_PATCH for one in group.entries),
        key=lambda effect: effect.path,
    )


def _load(folder: int, path: str, side: Side) -> bytes:
    name = os.fsencode(path)
    return target_at(folder, name) if side.type == "link" else bytes_at(folder, name)


def _copy_indexes(layer: Layer) -> Iterator[tuple[bytes, str]]:
    """Copy git's indexes, and let the layer compare with the copies, because git replaces the files."""
    for count, index in enumerate(() if layer.git is None else index_files(layer.git.common)):
        name = f"{_INDEX}{count}"
        try:
            shutil.copyfile(index, layer.folder / name, follow_symlinks=False)
        except FileNotFoundError:
            continue
        layer.indexes[index] = os.open(layer.folder / name, os.O_RDONLY | os.O_CLOEXEC)
        yield os.fsencode(index), name
