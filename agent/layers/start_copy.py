"""The workspace as it was when a run began, where there are no layers: a copy that nothing of the run can write.

The judge takes from it what a path had before the run (decision 0040, "Direct mode").
"""

from __future__ import annotations

import os
import time
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Self

from msgspec.structs import replace

from ..protocol.text.counts import plural
from ..protocol.text.effect_words import size_words
from ..repo.checkout.dependency_folders import dependency_folders
from .copy_folder import LOCK, TREE, is_locked
from .direct_comparison import changes, digest_of_file, read_tree
from .effect_rows import EffectRow
from .git.layer_git_folders import git_folders_of
from .layer_effects import is_same
from .occupied import Occupied
from .open_below import FOLDER
from .removing import remove_tree
from .unit_record import boot_id
from .watching import limits_at
from .workspace_copies import Copies, CopyLayer, differing_paths, size_of, skipped_in

if TYPE_CHECKING:
    from ..journal.journal import Journal
    from .direct_comparison import Tree
    from .workspace_copies import Size

_STARTS, _BOOT = "starts", "boot"
_MOST_COPIED, _MOST_BYTES, _MOST_FILES = 100_000, 1_000_000_000, 300_000
"""The most files and bytes that are copied, and the most files if their blocks are shared."""
_LEFT_SECONDS, _LEFT_COUNT = 7 * 86_400.0, 2
"""How long the starts of earlier runs are kept, and how many: they can be resumed."""
_BYTECODE = (b".pyc", b".pyo")


class StartRefused(Exception):
    """No copy of the workspace is made. The message says why."""


class StartCopy:
    """The copy of one run. It is made by `make` or `left`."""

    def __init__(self, layer: CopyLayer) -> None:
        """`layer` is held, and shows the start."""
        self.layer = layer

    @classmethod
    def make(cls, base: Path, run: str, workspace: Path, hidden: Path | None) -> tuple[Self, Size]:
        """Copy the workspace, and return the copy with its size.

        `base`: the folder for it. `hidden`: rundry's own folder in the workspace.
        Raises StartRefused if it does not fit, and OSError.
        """
        base.mkdir(mode=0o700, parents=True, exist_ok=True)
        size = size_of(workspace, base, skipped=skipped_in(workspace, hidden))
        if why := _too_large(size, base):
            raise StartRefused(why)
        folder = _folder(base, run)
        with suppress(FileNotFoundError):
            remove_tree(folder)
        layer = CopyLayer(folder, workspace, _no_copies(base), hidden)
        try:
            layer.mount(None)
            (folder / _BOOT).write_text(boot_id(), "ascii")
        except BaseException:
            layer.unmount()
            remove_tree(folder)
            raise
        return cls(layer), size

    @classmethod
    def left(cls, base: Path, run: str, workspace: Path, hidden: Path | None) -> Self | None:
        """Return the copy that an earlier runner made.

        Returns None if it is gone, or the machine was restarted. Raises OSError. A copy is not flushed to the disk, so
        a crash of the machine can lose some of it.
        """
        folder = _folder(base, run)
        try:
            if (folder / _BOOT).read_text("ascii") != boot_id():
                return None
            layer = CopyLayer(folder, workspace, _no_copies(base), hidden, is_left=True)
            layer.hold()
        except (FileNotFoundError, Occupied):
            return None
        return cls(layer)

    @property
    def root(self) -> Path:
        """The folder with the files of the start."""
        return self.layer.tree

    @staticmethod
    def has(path: bytes) -> bool:
        """Return whether a view has a path as it was at the start, whatever became of it: git, and byte-code."""
        parts = path.split(b"/")
        return b".git" in parts or parts[-1].endswith(_BYTECODE) or b"__pycache__" in parts

    @cached_property
    def dependencies(self) -> frozenset[str]:
        """The dependency folders of the start. Reads the disk."""
        return frozenset(dependency_folders(self.root))

    def unchanged_dependencies(self, now: Tree) -> list[str]:
        """Return the dependency folders that are unchanged since the start. `now`: those of the workspace."""
        changed = differing_paths(self.layer.source, now)
        below = [os.fsencode(folder) for folder in self.dependencies]
        touched = {folder for folder in below for path in changed if path == folder or path.startswith(folder + b"/")}
        return sorted(os.fsdecode(folder) for folder in below if folder not in touched)

    def changed(self) -> list[EffectRow]:
        """Return what differs in the workspace from the start, without git and byte-code. Raises OSError."""
        copy, found = self.layer, list[EffectRow]()
        now = read_tree(copy.workspace, skipped=copy.skipped, settled=True)
        root = os.open(copy.tree, FOLDER | os.O_CLOEXEC)
        try:
            for one in changes(copy.workspace, copy.source, now):
                path, before, after = os.fsencode(one.path), one.before, one.after
                if self.has(path) or one.conflict:
                    continue
                if before is not None and before.type == "file" and not before.digest:
                    before = replace(before, digest=digest_of_file(root, path))
                if before is None or after is None or not is_same(before, after):
                    found.append(EffectRow(path=one.path, before=before, after=after))
        finally:
            os.close(root)
        return found

    def close(self) -> None:
        """Release the copy. It stays on the disk, for a runner that resumes the run."""
        self.layer.unmount()


def start_name(journal: Journal) -> str:
    """Return the name of the run's start. A fork has that of the run that it was made from."""
    return journal.meta("start_of") or journal.spec.run_id


def own_folder_in(workspace: Path) -> Path | None:
    """Return rundry's own folder in the workspace, or None if it is elsewhere."""
    git = git_folders_of(workspace)
    own = None if git is None else git.common / "rundry"
    return own if own is not None and own.is_relative_to(workspace) else None


def _folder(base: Path, run: str) -> Path:
    return base / _STARTS / run


def _no_copies(base: Path) -> Copies:
    """Return an empty pool of copies, from which nothing is ever restored."""
    return Copies(base / _STARTS / "unused", at_workspace=False)


def _too_large(size: Size, base: Path) -> str:
    """Return why a copy of this size is not made, or empty if it is."""
    words = f"a copy of the workspace would take {plural(size.files, 'file')} and {size_words(size.size)}"
    if size.shares:
        return "" if size.files <= _MOST_FILES else words
    if size.files > _MOST_COPIED or size.size > _MOST_BYTES:
        return words
    room = limits_at(base).size
    return f"{words} twice, and the disk has room for {size_words(room)}" if 2 * size.size > room else ""


def sweep_starts(base: Path) -> None:
    """Delete the copies of earlier runs, but for the newest ones and those that a runner uses. Never raises OSError."""
    left = list[tuple[float, Path]]()
    with suppress(FileNotFoundError):
        for folder in (base / _STARTS).iterdir():
            with suppress(OSError):
                left.append((folder.stat().st_mtime, folder))
    for count, (made, folder) in enumerate(sorted(left, reverse=True)):
        if count >= _LEFT_COUNT or time.time() - made > _LEFT_SECONDS:
            with suppress(OSError):
                _remove_unused(folder)


def _remove_unused(folder: Path) -> None:
    if not (folder / TREE).exists():
        remove_tree(folder)
        return
    lock = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        if is_locked(lock):
            remove_tree(folder)
    finally:
        os.close(lock)
