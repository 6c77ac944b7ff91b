"""Find what changed in the protected places of the workspace while a command ran, if they are not read-only for it.

Nothing is restored: the user may have made the change (docs/decisions/0036).
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import msgspec

from ....system.plain_files import read_plain
from ...processes.processes import ProtectedChange
from ..places import is_real_folder, protected, read_by_git, read_only_places
from .copies import Copies, Kept

_MOST = 5_000
"""Maximum number of entries of one place; hooks, configs and programs usually have fewer."""
_MOST_BYTES = 16_000_000
_TODO = ("rebase-merge/git-rebase-todo", "rebase-merge/git-rebase-todo.backup")
_RUNS = re.compile(rb"^\s*(?:x|exec)\s.*$", re.MULTILINE)
"""A line of a rebase that runs a command (git-rebase(1), --exec)."""
_RUN = "git or a tool runs it or reads it as settings"


class KeptPlaces(msgspec.Struct, frozen=True):
    """Places that are compared in addition to the protected ones."""

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
        *,
        are_mounted: bool = False,
    ) -> None:
        """`but`: places that this command may write. `nested`: git folders of repositories below `ws`.

        `are_mounted`: those that exist are read-only for it, so what changes in them is somebody else's.
        """
        self._more, self._copies = more, copies or Copies()
        self._too_large = set[Path]()
        self._ws, self._git, self._but = ws, ws / ".git", but
        self._git_mark = _mark(self._git)
        self._folders = [folder for folder in (self._git, *nested) if is_real_folder(folder)]
        self._present = [
            place
            for place in (*protected(ws), *(p for p in nested if p.is_file()), *more.programs, *more.hidden)
            if os.path.lexists(place)
        ]
        mounted = [*read_only_places(ws), *nested, *more.programs, *more.hidden] if are_mounted else []
        self._mounted = [place for place in mounted if place == self._git / "hooks" or _is_mounted(place)]
        self._is_mounted = are_mounted
        self._commands = self._commands_of_rebase()
        self._before = self._look()

    def changes(self) -> list[ProtectedChange]:
        """Return the files and links that differ from their earlier state, sorted by path."""
        now, found = self._look(), dict[str, ProtectedChange]()
        is_replaced = not self._is_mounted and self._git_mark is not None and _mark(self._git) != self._git_mark
        if is_replaced:
            found[".git"] = ProtectedChange(path=".git", why="it is another repository")
        for path in sorted({*now, *self._before}):
            old, new = _file(self._before.get(path)), _file(now.get(path))
            if old is new or (old is not None and new is not None and old.is_the_same(new)):
                continue
            if not (self._cannot_tell(path) or (is_replaced and path.is_relative_to(self._git))):
                found[str(path.relative_to(self._ws))] = self._change(path, old, new)
        for name in _TODO if self._commands_of_rebase() - self._commands else ():
            if (self._git / name).exists():
                why = "`git rebase --continue` runs its commands"
                found[f".git/{name}"] = ProtectedChange(path=f".git/{name}", why=why)
        return list(found.values())

    def notes(self) -> list[str]:
        """Return a line for each place that has too many entries to compare, once for each run."""
        new = sorted(self._too_large - self._copies.reported)
        self._copies.reported.update(new)
        return [
            f"{place.relative_to(self._ws)} has more than {_MOST:,} entries: changes there are not found"
            for place in new
        ]

    def _change(self, path: Path, old: Kept | None, new: Kept | None) -> ProtectedChange:
        name, why = str(path.relative_to(self._ws)), self._why(path)
        is_hidden = any(path.is_relative_to(place) for place in self._more.hidden)
        if is_hidden or any(side is not None and side.data is None for side in (old, new)):
            return ProtectedChange(path=name, why=why)
        before, after = (None if side is None else side.data for side in (old, new))
        mode = 0 if old is None else old.mode
        return ProtectedChange(path=name, why=why, is_known=True, before=before, after=after, mode=mode)

    def _why(self, path: Path) -> str:
        if any(path.is_relative_to(place) for place in self._more.hidden):
            return "commands must not read or change it"
        if any(path.is_relative_to(place) for place in self._more.programs):
            return "programs run from this folder of PATH"
        return _RUN

    def _commands_of_rebase(self) -> set[bytes]:
        """Return the command lines that `git rebase --continue` would execute."""
        found = set[bytes]()
        for name in _TODO if is_real_folder(self._git) else ():
            with suppress(OSError):
                found |= set(_RUNS.findall(read_plain(self._git / name, _MOST_BYTES)))
        return found

    def _places(self) -> list[Path]:
        """Return the places that existed before, and the protected ones that exist now."""
        inside = [place for folder in self._folders for place in read_by_git(folder)]
        new = [place for place in protected(self._ws) if place != self._git]
        return [
            place
            for place in dict.fromkeys((*self._present, *inside, *new))
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

    def _cannot_tell(self, path: Path) -> bool:
        """Return whether a path is not named: it is left out, or the command could not write there."""
        return self._is_left_out(path) or any(path.is_relative_to(place) for place in self._mounted)

    def _is_left_out(self, path: Path) -> bool:
        return any(path.is_relative_to(place) for place in self._too_large)


def _mark(path: Path) -> tuple[int, int, int] | None:
    """Return what tells a git folder or git file from another one at its path; None if there is none."""
    try:
        status = path.lstat()
    except OSError:
        return None
    return (stat.S_IFMT(status.st_mode), status.st_dev, status.st_ino if stat.S_ISDIR(status.st_mode) else 0)


def _is_mounted(place: Path) -> bool:
    """Return whether a place is of a kind that bubblewrap mounts."""
    return place.exists() and not place.is_symlink()


def _file(kept: Kept | None) -> Kept | None:
    """Return the entry if it is not a folder: a folder alone is not run."""
    return None if kept is None or stat.S_ISDIR(kept.mode) else kept


def _beneath(path: Path, ws: Path) -> bool:
    """Return whether no folder on the path is a link: files outside of the workspace are not compared."""
    return path.parent.resolve().is_relative_to(ws) and path.parent.resolve() == path.parent
