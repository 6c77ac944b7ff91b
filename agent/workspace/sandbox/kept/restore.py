"""Restore the protected places of the workspace after a command, if the sandbox cannot make them read-only."""

from __future__ import annotations

import errno
import filecmp
import os
import re
import secrets
import shutil
import stat
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

import msgspec

from ....system.plain_files import read_plain
from ..places import is_real_folder, protected, read_by_git
from .copies import Copies, Kept

_MOST = 5_000
"""Maximum number of entries of one place; hooks, configs and programs usually have fewer."""
_MOST_BYTES = 16_000_000
_ASIDE = ".untrusted"
_TODO = ("rebase-merge/git-rebase-todo", "rebase-merge/git-rebase-todo.backup")
_RUNS = re.compile(rb"^\s*(?:x|exec)\s.*$", re.MULTILINE)
"""A line of a rebase that runs a command (git-rebase(1), --exec)."""


class KeptPlaces(msgspec.Struct, frozen=True):
    """Places that are restored in addition to the protected ones."""

    programs: Sequence[Path] = ()
    """Folders from which programs run outside of the sandbox."""
    hidden: Sequence[Path] = ()
    """Places that commands must not read."""


_NO_PLACES = KeptPlaces()


class Protected:
    """The content of the protected places at the time when this object was made."""

    def __init__(
        self,
        ws: Path,
        but: Sequence[Path] = (),
        nested: Sequence[Path] = (),
        more: KeptPlaces = _NO_PLACES,
        copies: Copies | None = None,
    ) -> None:
        """`but`: places that this command may write. `nested`: git folders of repositories below `ws`."""
        self._more, self._copies = more, copies or Copies()
        self.changed_programs: Path | None = None
        """A folder of programs that the command changed."""
        self._too_large = set[Path]()
        self._ws, self._git, self._but = ws, ws / ".git", but
        self._had_git = is_real_folder(self._git)
        self._folders = [folder for folder in (self._git, *nested) if is_real_folder(folder)]
        self._present = [
            place
            for place in (*protected(ws), *(p for p in nested if p.is_file()), *more.programs, *more.hidden)
            if os.path.lexists(place)
        ]
        self._commands = self._commands_of_rebase()
        self._before = self._look()

    def restore(self) -> list[str]:
        """Restore changed entries and remove added ones. Return a line for each, also for failures."""
        lines: list[str] = []
        if self._had_git and not is_real_folder(self._git):
            return [self._another_repository()]
        now = self._look()
        for path in sorted(set(now) - set(self._before), reverse=True):
            lines.append(self._told(path, "removed", self._remove))
        for path in sorted(path for path in self._before if not self._is_left_out(path)):
            if path not in now or now[path].stamp != self._before[path].stamp:
                lines.append(self._told(path, "restored", self._restore))
        if self._commands_of_rebase() - self._commands:
            lines.append(self._end_rebase())
        for place in sorted(self._too_large - self._copies.reported):
            self._copies.reported.add(place)
            lines.append(f"{place.relative_to(self._ws)} has more than {_MOST:,} entries: changes there are not undone")
        return [line for line in lines if line]

    def _commands_of_rebase(self) -> set[bytes]:
        """Return the command lines that `git rebase --continue` would execute."""
        found = set[bytes]()
        for name in _TODO if self._had_git else ():
            with suppress(OSError):
                found |= set(_RUNS.findall(read_plain(self._git / name, _MOST_BYTES)))
        return found

    def _end_rebase(self) -> str:
        aside = f"rebase-merge.untrusted-{secrets.token_hex(4)}"
        try:
            (self._git / "rebase-merge").rename(self._git / aside)
        except OSError as error:
            return f"the rebase in progress would run commands, and cannot be moved: {error.strerror}"
        return f"the rebase in progress would run commands: moved to .git/{aside}, where git ignores it"

    def _places(self) -> list[Path]:
        """Return the places that existed before, and in git folders also those that exist now."""
        inside = [place for folder in self._folders for place in read_by_git(folder)]
        return [
            place
            for place in dict.fromkeys((*self._present, *inside))
            if not any(place.is_relative_to(p) or p.is_relative_to(place) for p in self._but)
        ]

    def _look(self) -> dict[Path, Kept]:
        """Return all entries of the places. A place with too many entries is left out permanently."""
        found: dict[Path, Kept] = {}
        for place in self._places():
            if place in self._too_large or not _beneath(place, self._ws):
                continue
            entries = self._entries(place)
            if len(entries) > _MOST:
                self._too_large.add(place)
            else:
                found |= entries
        return {path: kept for path, kept in found.items() if not self._is_left_out(path)}

    def _entries(self, place: Path) -> dict[Path, Kept]:
        found: dict[Path, Kept] = {}
        waiting = [place]
        while waiting and len(found) <= _MOST:
            path = waiting.pop()
            try:
                found[path] = self._copies.read(path)
                if stat.S_ISDIR(found[path].mode):
                    waiting += path.iterdir()
            except OSError:
                continue
        return found

    def _is_left_out(self, path: Path) -> bool:
        return any(path.is_relative_to(place) for place in self._too_large)

    def _told(self, path: Path, done: str, do: Callable[[Path], bool]) -> str:
        name = path.relative_to(self._ws)
        try:
            changed = do(path)
            if changed:
                self.changed_programs = next(
                    (p for p in self._more.programs if path.is_relative_to(p)), self.changed_programs
                )
        except OSError as error:
            return f"the command changed {name}, and it cannot be {done}: {error.strerror or error}"
        return f"{name} must not be changed: {done}" if changed else ""

    def _remove(self, path: Path) -> bool:
        if not _beneath(path, self._ws):
            return False
        if is_real_folder(path):
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)
        return True

    def _restore(self, path: Path) -> bool:
        """Restore an entry. Return False, and do nothing, if its content is unchanged."""
        kept = self._before[path]
        if self._is_the_same(path, kept):
            return False
        if not _beneath(path, self._ws):
            raise OSError(errno.ELOOP, "a folder on its path is a link")
        if kept.is_lost:
            raise OSError(errno.EFBIG, "it was too large to copy")
        if stat.S_ISDIR(kept.mode):
            if not is_real_folder(path):
                path.unlink(missing_ok=True)
                path.mkdir()
            path.chmod(stat.S_IMODE(kept.mode))
            return True
        if is_real_folder(path):
            shutil.rmtree(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.with_name(f"{path.name}.{secrets.token_hex(4)}")
        if stat.S_ISLNK(kept.mode):
            temporary.symlink_to(os.fsdecode(kept.data or b""))
        else:
            with os.fdopen(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                if kept.copy is not None:
                    with kept.copy.open("rb") as copy:
                        shutil.copyfileobj(copy, file)
                else:
                    file.write(kept.data or b"")
            temporary.chmod(stat.S_IMODE(kept.mode))
        temporary.replace(path)
        return True

    def _is_the_same(self, path: Path, kept: Kept) -> bool:
        try:
            status = path.lstat()
            if status.st_mode != kept.mode:
                return False
            if stat.S_ISREG(status.st_mode):
                if kept.copy is not None:
                    return filecmp.cmp(path, kept.copy, shallow=False)
                return kept.data is not None and read_plain(path, _MOST_BYTES) == kept.data
            return not stat.S_ISLNK(status.st_mode) or os.fsencode(path.readlink()) == kept.data
        except OSError:
            return False

    def _another_repository(self) -> str:
        """Move a git folder aside that replaced the repository, so that git does not run its hooks."""
        if not os.path.lexists(self._git):
            return "the command removed .git"
        aside = self._git.with_name(f".git.untrusted-{secrets.token_hex(4)}")
        try:
            self._git.rename(aside)
        except OSError as error:
            return f"the command replaced .git, and the new one cannot be moved: {error.strerror}"
        return f"the command replaced .git: the new one was moved to {aside.name}, where git ignores it"


def _beneath(path: Path, ws: Path) -> bool:
    """Return whether no folder on the path is a link: files outside of the workspace must not be changed."""
    return path.parent.resolve().is_relative_to(ws) and path.parent.resolve() == path.parent


def move_config_aside(config: Path) -> str:
    """Rename a config that a command created. Return a line that reports it."""
    aside = config.with_name(config.name + _ASIDE)
    try:
        try:
            config.replace(aside)
        except OSError:  # the command made a folder of this name
            aside = aside.with_name(f"{aside.name}-{secrets.token_hex(4)}")
            config.replace(aside)
    except OSError as error:
        return f"the command created {config.name}, and it cannot be moved: {error.strerror}"
    return f"the command created {config.name}: moved to {aside.name}, where rundry ignores it"
