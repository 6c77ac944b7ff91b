"""The private git folder of a workspace: updated before each command, mounted for it, and imported after it."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ..places import is_real_folder
from .folder_writer import STORE, FolderWriter
from .folders import GitFolders, find_folders
from .importing import Importer
from .objects import Objects
from .real_git import RealGit, RealGitFailed
from .refs import stat_of
from .state import OPERATION_FOLDERS, RepositoryState, StateReader

if TYPE_CHECKING:
    from ...leftovers.record import Leftovers

_CONFIGS = ("config", "config.worktree", "info/exclude", "info/attributes", "objects/info/alternates")
_MISSING = "the command damaged its private .git: the repository is unchanged"
_HEAD = "HEAD of .git names neither a branch nor a commit"


class PrivateGit:
    """The private git folder that all commands of a run share, even concurrent ones."""

    def __init__(self, ws: Path, temp: Path, leftovers: Leftovers) -> None:
        """`temp`: an owner-only folder that commands do not see. `ws` is resolved."""
        self._ws, self._temp, self._leftovers = ws, temp, leftovers
        self._lock = threading.Lock()
        self._private: _PrivateFolder | None = None
        self._running = 0
        self._made = 0
        self._waiting: list[str] = []

    def begin(self) -> list[str]:
        """Return the bubblewrap arguments for a command that starts now; empty if `.git` is read-only.

        Call `end` after the command.
        """
        with self._lock:
            self._running += 1
            found = find_folders(self._ws)
            if found is None or _is_unsupported(found):
                self._private = None
                return []
            try:
                if self._private is not None:
                    self._waiting += self._private.settle(is_last=self._running == 1)
                if self._private is None or self._private.real != found or not self._private.is_usable:
                    self._made += 1
                    self._private = _PrivateFolder(self._ws, found, self._temp / str(self._made), self._leftovers)
                self._private.refresh()
                return self._private.words()
            except (OSError, RealGitFailed) as error:
                self._waiting.append(f".git is read-only for this command: {error}")
                self._private = None
                return []

    def end(self) -> list[str]:
        """Import the changes of the command. Return a line for each change that was not imported."""
        with self._lock:
            self._running -= 1
            lines, self._waiting = self._waiting, []
            if self._private is not None:
                try:
                    lines += self._private.settle(is_last=self._running == 0)
                except OSError as error:
                    lines.append(f"the changes in .git were not imported: {error}")
                    self._private = None
            return lines

    def concerns(self, places: Sequence[Path]) -> bool:
        """Return whether one of the allowed places is in the git folder: then the command gets the real folder."""
        found = find_folders(self._ws)
        folders = [self._ws / ".git", *([found.own, found.common] if found else [])]
        return any(place.is_relative_to(folder) for place in places for folder in folders)


class _PrivateFolder:
    """The private folder and the repository that it is made from."""

    def __init__(self, ws: Path, real: GitFolders, place: Path, leftovers: Leftovers) -> None:
        self.real = real
        self._leftovers = leftovers
        common = place / "common"
        own = place / "own" if real.is_linked else common
        self._private = GitFolders(own, common)
        self._aside = place / "aside"
        self._git = RealGit(real, ws)
        self._stores = [real.objects, *real.alternates]
        self._empty = place / "empty"
        for folder in (own, common, self._aside):
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._empty.touch()
        self._writer = FolderWriter(real, self._private, self._aside)
        self._reader, self._own_reader = StateReader(real), StateReader(self._private)
        self._objects = Objects(common / "objects")
        self._writer.write_folders(len(self._stores))
        self._config_marks: list[tuple[int, ...]] = []
        self._base: RepositoryState | None = None
        self._is_dropped = False
        self._held = False
        """Whether an operation is in progress in the private folder only."""

    @property
    def is_usable(self) -> bool:
        """Return False if the object stores of the repository changed or the private folder is damaged."""
        return not self._is_dropped and self._stores == [self.real.objects, *self.real.alternates]

    def refresh(self) -> None:
        """Update the private folder from the user's repository."""
        marks = [stat_of(str(folder / name)) for folder in self.real for name in _CONFIGS]
        if marks != self._config_marks:
            self._writer.write_settings(self._git.listed_config())
            self._config_marks = marks
        state = self._reader.read()
        if not state.head:
            raise RealGitFailed(_HEAD)
        if self._held or state == self._base:
            return
        self._writer.write_state(state, self._base)
        self._base = state

    def settle(self, *, is_last: bool) -> list[str]:
        """Import the changes of commands. `is_last`: no other command is running."""
        base = self._base
        if base is None or self._is_dropped:
            return []
        made = self._own_reader.read()
        if not made.head or not all(is_real_folder(self._private.common / name) for name in ("objects", "refs")):
            self._is_dropped = True
            return [_MISSING]
        lines = self._import(made, base, is_last=is_last) if made != base else []
        if is_last and not self._is_dropped:
            in_progress = {name.partition("/")[0] for name in self._base.operation} if self._base else set[str]()
            allowed = frozenset(OPERATION_FOLDERS) if self._held else frozenset(in_progress)
            if strange := self._writer.remove_unknown(allowed):
                lines.append(f"not imported into .git: {', '.join(strange[:5])} (git might execute or obey it)")
        return lines

    def _import(self, made: RepositoryState, base: RepositoryState, *, is_last: bool) -> list[str]:
        now = self._reader.read()
        is_changed = made.operation != base.operation or now.operation != base.operation
        if is_changed and (base.operation or now.operation):  # the user's own operation: its folder is never changed
            if not is_last:
                return []  # another command is still running: decide when it ends
            importer = Importer(self.real, self._private, self._git, base, self._leftovers)
            importer.keep_aside(made, now, self._objects)
            self._is_dropped = True
            return importer.lines
        was_held, self._held = self._held, made.operation != base.operation
        if self._held:
            if now != base:
                self._is_dropped = True
                return ["a rebase or cherry-pick in the private .git was dropped, because the repository changed"]
            what = "a rebase, cherry-pick or bisection is in progress in the private .git of commands"
            return [] if was_held else [f"{what}: its result is imported when it is finished or aborted"]
        if not is_last and any(folder.joinpath("index.lock").exists() for folder in self._private):
            return []  # another command is still running: import when it ends
        importer = Importer(self.real, self._private, self._git, base, self._leftovers)
        importer.run(made, now, self._objects)
        self._is_dropped = importer.is_damaged
        after = self._reader.read()
        # A change that another command made meanwhile stays in the private folder and is imported when that one ends.
        if after != made:
            self._writer.write_state(after, made)
        self._base = after
        return importer.lines

    def words(self) -> list[str]:
        """Return the mount arguments. The lists of further object stores appear empty, so that git ignores them."""
        common, own = str(self.real.common), str(self.real.own)
        words = ["--bind", str(self._private.common), common]
        for n, store in enumerate(self._stores):
            seen = f"{common}/{STORE}-{n}"
            words += ["--ro-bind", str(store), seen]
            if (store / "info/alternates").is_file():
                words += ["--ro-bind", str(self._empty), f"{seen}/info/alternates"]
        for name in ("config", "hooks", "info", "objects/info"):
            words += ["--ro-bind", str(self._private.common / name), f"{common}/{name}"]
        for name in ("modules", "worktrees"):
            source = self.real.common / name
            words += ["--ro-bind", str(source if source.is_dir() else self._private.common / name), f"{common}/{name}"]
        if self.real.is_linked:
            words += ["--bind", str(self._private.own), own]
            for name in ("commondir", "gitdir"):
                words += ["--ro-bind", str(self._private.own / name), f"{own}/{name}"]
        return words


def _is_unsupported(found: GitFolders) -> bool:
    """Return whether the refs are not stored as files."""
    return (found.common / "reftable").exists()
