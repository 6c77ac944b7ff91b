"""The workspace: the folder that a run may read and write, and the check of every path."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Sequence, Set
from pathlib import Path
from typing import Protocol

from .file_errors import GONE, PathRefused
from .files.run_writes import RunWrites
from .leftovers import Leftovers
from .protected_names import why_cautioned, why_forbidden
from .real_paths import home_path, real_path

_FRESH = 1.0
"""Seconds for which the list of hidden places is used again."""


class HidesPlaces(Protocol):
    """The rules for places that neither commands nor tools can see: `HideRules` of the sandbox."""

    def hidden_in(self, root: Path) -> Sequence[Path]:
        """Return the hidden places in this folder, except those that a `deny` rule hides."""
        ...

    def is_own(self, place: Path, ws: Path) -> bool:
        """Return whether a hidden place is one of rundry's own."""
        ...

    def is_held_out(self, place: Path, root: Path) -> bool:
        """Return whether only the second check of the run can read the place."""
        ...


class Workspace:
    """The folder that a run works in. Every path from a model is checked by `resolve` before it is used."""

    def __init__(
        self,
        root: Path,
        private: Sequence[Path] = (),
        leftovers: Leftovers | None = None,
        hook_scripts: Sequence[str] = (),
        hide_rules: HidesPlaces | None = None,
        *,
        seen: Path | None = None,
    ) -> None:
        """`private`: rundry's own files and folders that no tool may access (the journal, the snapshot store).

        `leftovers`: the record of this run's temporary files. `hook_scripts`: files that hooks of the run execute,
        relative to `root`. `hide_rules`: the places that neither commands nor tools can see. `seen`: the path of the
        workspace for commands, the model and people, if `root` is a view of it. None means `root`.
        """
        self.root = real_path(root)
        """Where this process reads and writes."""
        self.seen = seen or self.root
        """The path that commands, the model and people use."""
        self.private = tuple(self.at(real_path(path)) for path in private)
        self.run_writes = RunWrites()
        self.leftovers = leftovers or Leftovers(None)
        self.hook_scripts = tuple(hook_scripts)
        self.hide_rules = hide_rules
        self.further_hidden: Set[Path] = frozenset()
        """Names that hidden files got while commands ran."""
        self._hidden: tuple[float, frozenset[Path]] = -_FRESH, frozenset()

    def at(self, given: Path | str) -> Path:
        """Return where this process finds a path as the model, a command or a person wrote it. No link is followed."""
        whole = self.seen / given
        return self.root / whole.relative_to(self.seen) if whole.is_relative_to(self.seen) else self.root / given

    def resolve(self, given: str) -> Path:
        """Return the absolute path with every link followed. The path need not exist. Raises PathRefused."""
        parts = self._parts(given)
        real = self._follow(given, self.at(given))
        self.refuse(real, given)
        why = why_forbidden(parts)
        if why:
            raise PathRefused(f"{given}: refused, {why}")
        return real

    def refuse(self, real: Path, given: str | None = None) -> None:
        """Raise PathRefused if no tool may access this resolved path."""
        shown = given or str(self.shown(real))
        if not real.is_relative_to(self.root):
            raise PathRefused(f"{shown}: outside of the workspace {self.seen}")
        why = why_forbidden(real.relative_to(self.root).parts) or self._private(real) or self._why_hidden(real)
        if why:
            raise PathRefused(f"{shown}: refused, {why}")

    @property
    def hidden(self) -> frozenset[Path]:
        """The places in the workspace that neither commands nor tools can see: secrets, and rundry's own folders."""
        if self.hide_rules is None:
            return frozenset(self.further_hidden)
        looked, found = self._hidden
        if time.monotonic() - looked > _FRESH:
            found = frozenset(map(self.at, self.hide_rules.hidden_in(self.seen)))
            self._hidden = time.monotonic(), found
        return found | self.further_hidden

    @property
    def skipped(self) -> frozenset[str]:
        """The absolute paths of the files and folders that listings, snapshots and the guard leave out."""
        return frozenset(map(str, (*self.private, *self.hidden)))

    def shown(self, path: Path) -> Path:
        """Return the path of a file of this workspace as commands, the model and people know it."""
        return self.seen / path.relative_to(self.root) if path.is_relative_to(self.root) else path

    def relative(self, path: Path) -> str:
        """Return the path relative to the workspace, with `/`. Raises PathRefused if it is outside."""
        try:
            return self.at(path).relative_to(self.root).as_posix()
        except ValueError:
            raise PathRefused(f"{path}: outside of the workspace {self.seen}") from None

    def caution(self, path: Path) -> str | None:
        """Return why a change of this path always needs approval, even for a new file; None if it does not.

        If the path is not resolved, the names of links on it are checked too.
        """
        whole = self.at(path)
        real = real_path(whole)
        if not real.is_relative_to(self.root):
            return "it is outside of the workspace"
        why = why_cautioned(real.relative_to(self.root).parts)
        if why:
            return why
        if real.relative_to(self.root).as_posix() in self.hook_scripts:
            return "a hook of this run executes it"
        lexical = Path(os.path.normpath(whole))
        if lexical != real and lexical.is_relative_to(self.root):
            return why_cautioned(lexical.relative_to(self.root).parts)
        return None

    def _parts(self, given: str) -> Sequence[str]:
        if not given:
            raise PathRefused("the path is empty: name a file, relative to the workspace")
        if "\0" in given:
            raise PathRefused(f"{given!r}: a path cannot contain a NUL character")
        try:
            os.fsencode(given)
        except UnicodeEncodeError:
            raise PathRefused(f"{given!r}: this is not a possible file name") from None
        parts = Path(given).parts
        if parts and parts[0] == "~":
            raise PathRefused(f"{given}: `~` is outside of the workspace {self.seen}")
        return Path(given).relative_to(self.seen).parts if Path(given).is_relative_to(self.seen) else parts

    def _follow(self, given: str, path: Path) -> Path:
        real = real_path(path)
        try:
            # After `real_path`, only a circular link is still a link. The root of a view is one of /proc.
            if real != self.root and stat.S_ISLNK(real.lstat().st_mode):
                raise PathRefused(f"{given}: its links form a circle")
        except FileNotFoundError:
            pass
        except OSError as error:
            why = (error.strerror or str(error)) if self.root.is_dir() else GONE.format(root=self.seen)
            raise PathRefused(f"{given}: {why}") from None
        return real

    def _why_hidden(self, real: Path) -> str | None:
        if real in self.further_hidden:
            return "it is another name of a hidden file"
        place = next((place for place in self.hidden if real.is_relative_to(place)), None)
        if place is None or self.hide_rules is None:
            return None
        if self.hide_rules.is_own(self.shown(place), self.seen):
            return "rundry's own files are private"
        if self.hide_rules.is_held_out(self.shown(place), self.seen):
            return "it belongs to the second check (--holdout-files)"
        named = home_path(self.shown(place))
        return f'it is a place of secrets ([sandbox] show = ["{named}"] in your own config shows it)'

    def _private(self, real: Path) -> str | None:
        for own in self.private:
            is_companion = real.parent == own.parent and real.name.startswith(own.name)  # `-wal`, `-shm`, `.lock`
            if real == own or is_companion or real.is_relative_to(own):
                return "rundry's own record of this run is private"
        return None
