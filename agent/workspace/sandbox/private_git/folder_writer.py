"""Write a private git folder from the user's repository."""

from __future__ import annotations

import os
import shutil
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from ....system.plain_files import read_plain, walk_folders
from .settings import render_config
from .state import STASH_LOG, RepositoryState

if TYPE_CHECKING:
    from .folders import GitFolders

STORE = "objects-of-the-repository"
"""Folder in which a command sees the user's objects, read-only."""
EMPTY_FOLDERS = ("hooks", "info", "modules", "worktrees")
"""Read-only folders of a private git folder. The last two show those of the user's repository."""
_COPIED_INFO = ("exclude", "attributes", "sparse-checkout")
_COMMON = frozenset({"HEAD", "packed-refs", "refs", "logs", "objects", "config", "description", *EMPTY_FOLDERS})
_HARMLESS = frozenset(
    {
        "COMMIT_EDITMSG",
        "FETCH_HEAD",
        "ORIG_HEAD",
        "MERGE_HEAD",
        "MERGE_MSG",
        "MERGE_MODE",
        "MERGE_RR",
        "SQUASH_MSG",
        "AUTO_MERGE",
        "TAG_EDITMSG",
        "NOTES_EDITMSG",
        "CHERRY_PICK_HEAD",
        "REVERT_HEAD",
        "REBASE_HEAD",
        "index",
        "rr-cache",
        "lfs",
        "branches",
        "gc.log",
    }
)


class FolderWriter:
    """Writes the parts of a private git folder. Each part is written elsewhere and moved in, so no link is followed."""

    def __init__(self, real: GitFolders, private: GitFolders, aside: Path) -> None:
        """`aside`: a folder on the same file system that commands cannot see."""
        self._real, self._private, self._aside = real, private, aside
        self._count = 0

    def write_folders(self, stores: int) -> None:
        """Make a new private folder. `stores`: number of object stores to be mounted in it."""
        private, common = self._private, self._private.common
        for name in (*EMPTY_FOLDERS, "objects/info", "objects/pack", "refs/heads", "refs/tags", "logs"):
            (common / name).mkdir(parents=True, exist_ok=True)
        names = [f"{STORE}-{n}" for n in range(stores)]
        for name in names:
            (common / name).mkdir(exist_ok=True)
        (common / "objects/info/alternates").write_text("".join(f"../{name}\n" for name in names))
        if private.is_linked:
            (private.own / "logs").mkdir(parents=True, exist_ok=True)
            (private.own / "commondir").write_text("../..\n")
            (private.own / "gitdir").write_bytes(read_plain(self._real.own / "gitdir"))

    def write_settings(self, listed: bytes) -> None:
        """Write the config and the folder `info`. `listed`: output of `git config --list -z`."""
        for name in _COPIED_INFO:
            for folder in {self._real.common, self._real.own}:
                with suppress(FileNotFoundError):
                    self._file(self._private.common / "info" / name, read_plain(folder / "info" / name))
        self._file(self._private.common / "config", render_config(listed))

    def write_state(self, state: RepositoryState, old: RepositoryState | None) -> None:
        """Write HEAD, refs, logs, index and the files of an operation, except for those that are the same in `old`."""
        own, common = self._private.own, self._private.common
        if old is None or old.refs != state.refs:
            self._refs(state)
        if old is None or (old.refs, old.head) != (state.refs, state.head):
            self._logs()
        if old is None or old.head != state.head:
            self._file(own / "HEAD", f"{state.head}\n".encode())
            if other_head := self._other_head():
                self._file(common / "HEAD", other_head)
        if old is None or old.index != state.index:
            self._copy(self._real.own / "index", own / "index")
            for shared in self._real.own.glob("sharedindex.*"):
                self._copy(shared, own / shared.name)
        for name in {*state.files, *(old.files if old else ())}:
            place = (common if name == STASH_LOG else own) / name
            self._file(place, state.files.get(name))
        if (old.operation if old else {}) != state.operation:
            self._operation(state)
        self._copy(self._real.common / "shallow", common / "shallow")

    def remove_unknown(self, allowed: frozenset[str]) -> list[str]:
        """Remove unknown entries and the lock files of commands that ended. Return the names of the unknown entries."""
        strange = list[str]()
        for folder in {self._private.common, self._private.own}:
            for path in sorted(folder.iterdir()):
                name = path.name
                is_known = name in _COMMON or name in _HARMLESS or name.startswith((STORE, "BISECT_", "sharedindex."))
                linked = self._private.is_linked and folder == self._private.own and name in ("commondir", "gitdir")
                if is_known or linked or name in allowed:
                    continue
                self._drop(path)
                if not name.endswith((".lock", ".pid", ".tmp")) and not name.startswith(("tmp_", ".tmp", "next-index")):
                    strange.append(name)
        for place, _, files in walk_folders(self._private.common / "refs"):
            for name in files:
                if name.endswith(".lock"):
                    Path(place, name).unlink(missing_ok=True)
        return strange

    def _other_head(self) -> bytes | None:
        """Return the HEAD of the main working tree, if this is a linked one."""
        return read_plain(self._real.common / "HEAD") if self._private.is_linked else None

    def _refs(self, state: RepositoryState) -> None:
        packed = ["# pack-refs with: sorted \n"]
        fresh = self._new("refs")
        for name in ("heads", "tags"):
            (fresh / name).mkdir(parents=True)
        for name, value in sorted(state.refs.items(), key=lambda ref: os.fsencode(ref[0])):
            if not value.startswith("ref:"):
                packed.append(f"{value} {name}\n")
            elif (fresh.parent / name).resolve().is_relative_to(fresh):
                (fresh.parent / name).parent.mkdir(parents=True, exist_ok=True)
                (fresh.parent / name).write_text(f"{value}\n")
        self._file(self._private.common / "packed-refs", "".join(packed).encode("utf-8", "surrogateescape"))
        self._into(fresh, self._private.common / "refs")

    def _logs(self) -> None:
        fresh = self._new("logs")
        fresh.mkdir(parents=True)
        source = self._real.common / "logs"
        if source.is_dir():
            shutil.copytree(source, fresh, dirs_exist_ok=True, symlinks=True)
        self._into(fresh, self._private.common / "logs")
        if self._private.is_linked:
            own = self._new("logs")
            own.mkdir(parents=True)
            with suppress(FileNotFoundError):
                shutil.copyfile(self._real.own / "logs/HEAD", own / "HEAD")
            self._into(own, self._private.own / "logs")

    def _operation(self, state: RepositoryState) -> None:
        own = self._private.own
        for path in (*own.glob("BISECT_*"), *(own / name for name in ("rebase-merge", "rebase-apply", "sequencer"))):
            self._drop(path)
        tops = {name.partition("/")[0] for name in state.operation}
        for top in tops:
            fresh = self._new(top)
            for name, data in state.operation.items():
                if name.partition("/")[0] == top:
                    place = fresh.parent / name
                    place.parent.mkdir(parents=True, exist_ok=True)
                    place.write_bytes(data)
            self._into(fresh, own / top)

    def _copy(self, source: Path, target: Path) -> None:
        try:
            data = read_plain(source, 1 << 30)
        except FileNotFoundError:
            self._drop(target)
            return
        status = source.stat()
        self._file(target, data)
        # git compares the time stamps of files with that of the index, so the copy keeps it.
        with suppress(FileNotFoundError):
            os.utime(target, ns=(status.st_atime_ns, status.st_mtime_ns), follow_symlinks=False)

    def _file(self, target: Path, data: bytes | None) -> None:
        if data is None:
            self._drop(target)
            return
        fresh = self._new(target.name)
        fresh.parent.mkdir(exist_ok=True)
        fresh.write_bytes(data)
        self._into(fresh, target)

    def _new(self, name: str) -> Path:
        self._count += 1
        place = self._aside / str(self._count)
        place.mkdir()
        return place / name

    def _into(self, fresh: Path, target: Path) -> None:
        """Move a part to its place. The part is dropped if a command replaced the folder of the target."""
        if fresh.is_dir() or target.is_dir():
            self._drop(target)
        if target.parent.resolve() == target.parent:
            with suppress(FileNotFoundError, NotADirectoryError):
                fresh.replace(target)
        shutil.rmtree(fresh.parent)

    def _drop(self, path: Path) -> None:
        if path.parent.resolve() != path.parent or not os.path.lexists(path):
            return
        away = self._new("dropped")
        with suppress(FileNotFoundError):
            path.rename(away)
        if away.is_dir() and not away.is_symlink():
            with suppress(PermissionError):
                away.chmod(0o700)
        shutil.rmtree(away.parent, ignore_errors=True)
