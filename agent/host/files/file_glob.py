"""A glob for workspace files, as a user writes it on a command line."""

from __future__ import annotations

import fnmatch
import os
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from .git_patterns import git_spec

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec


class FileGlob:
    """Matches paths, case-sensitively.

    A glob without a slash matches file names in any folder. A path without wildcards matches that file, or all files
    below that folder.
    """

    def __init__(self, text: str, root: Path) -> None:
        self.text = text
        plain = os.path.normpath(text)
        self._path = PurePosixPath(os.path.relpath(plain, root) if plain.startswith("/") else plain).as_posix()

    def matches(self, path: str) -> bool:
        """Return whether the glob matches this path, relative to the workspace."""
        if self._path in (".", path) or path.startswith(f"{self._path}/"):
            return True
        if "/" not in self.text:
            return fnmatch.fnmatchcase(PurePosixPath(path).name, self._path)
        return self._spec.match_file(path)

    @cached_property
    def _spec(self) -> GitIgnoreSpec:
        return git_spec([f"/{self._path}"])
