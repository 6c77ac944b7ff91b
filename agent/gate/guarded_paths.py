"""The files that the user guards (`--guard GLOB`): each change of them has to be approved, in every mode."""

from __future__ import annotations

import os
from functools import cached_property
from typing import TYPE_CHECKING

import msgspec

from ..host.files.quick_spec import QuickSpec

if TYPE_CHECKING:
    from pathlib import Path

    from ..protocol import Predicates

NO_DEFAULTS = "none"
"""The value of `--guard` that puts everything into the scope. It guards nothing."""


class GuardedPaths(msgspec.Struct, frozen=True, dict=True):
    """Globs as in a .gitignore: without a slash they match at any depth. Case is ignored, as on some file systems."""

    globs: tuple[str, ...] = ()

    @classmethod
    def of(cls, predicates: Predicates) -> GuardedPaths:
        """Return what the user guards in a run."""
        return cls(tuple(glob for glob in predicates.guard if glob != NO_DEFAULTS))

    def __bool__(self) -> bool:
        """Return whether anything is guarded."""
        return bool(self.globs)

    def matches(self, path: str) -> bool:
        """Return whether a file is guarded. `path`: relative to the workspace."""
        return bool(self.globs) and self._spec.match_file(os.path.normpath(path).lstrip("/").casefold())

    def matches_below(self, folder: Path, root: Path) -> bool:
        """Return whether a guarded file lies in a folder of the workspace `root`. Reads the disk."""
        if not self.globs:
            return False
        found = (os.path.relpath(f"{top}/{name}", root) for top, _, names in os.walk(folder) for name in names)
        return any(map(self.matches, found))

    @cached_property
    def _spec(self) -> QuickSpec:
        return QuickSpec(glob.casefold() for glob in self.globs)
