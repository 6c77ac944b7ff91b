"""Hooks of the user's repository that rundry's own commits do not run (githooks(5))."""

from __future__ import annotations

import os
from pathlib import Path

from ..repository import Repository

_OF_COMMIT = ("pre-commit", "prepare-commit-msg", "commit-msg", "post-commit")


async def skipped_hooks(repository: Repository) -> list[str]:
    """Return the names of hooks that `git commit` would run. Raises GitFailed.

    The repository's own `core.hooksPath` counts, one of the user's global config does not.
    """
    said = await repository.ask("config", "--local", "--get", "core.hooksPath")
    common = Path((await repository.must("rev-parse", "--path-format=absolute", "--git-common-dir")).line)
    top = Path((await repository.must("rev-parse", "--show-toplevel")).line)
    folder = top / said.line if said.code == 0 and said.line else common / "hooks"
    return [name for name in _OF_COMMIT if (folder / name).is_file() and os.access(folder / name, os.X_OK)]
