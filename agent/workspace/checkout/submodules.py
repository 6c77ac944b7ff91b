"""Set up the repositories of submodules in a checkout."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from ..git.repository import Repository

_GITLINK = b"160000 "
_ACTIVE = "[submodule]\n\tactive = .\n"
"""Without this setting git reports every submodule as not initialised."""


async def activate_submodules(workspace: Path, folder: Path, env: Mapping[str, str], own: Path) -> list[str]:
    """Activate the submodules that are in the commit of a checkout and in the workspace. Return their paths.

    `folder`: the checkout. `own`: the object store of the repository. Raises GitFailed, OSError.
    """
    more = {"GIT_ALTERNATE_OBJECT_DIRECTORIES": str(own)}
    listed = await Repository(folder, env).run_checked("ls-files", "-z", "--stage", more=more)
    rows = (row.partition(b"\t") for row in listed.out.split(b"\0"))
    paths = [os.fsdecode(path) for stage, _, path in rows if stage.startswith(_GITLINK)]
    found = [path for path in paths if _is_plain(workspace, path) and (workspace / path / ".git").exists()]
    if found:
        with (folder / ".git/config").open("a") as config:
            config.write(_ACTIVE)
    return found


def _is_plain(workspace: Path, path: str) -> bool:
    """Return whether no part of the path is a link."""
    return Path(os.path.realpath(workspace / path)) == Path(os.path.realpath(workspace)) / path
