"""Create the repository of a checkout, with the commit, branch, tags and submodules of the original one."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from ..git_places import places_of
from ..repository import Repository

OBJECTS = ".git/objects-of-the-run"
"""Path at which a checkout sees the objects of the original repository."""
_CONFIG = "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n"
_OTHER_CONFIG = _CONFIG.replace("version = 0", "version = 1") + "[extensions]\n\tobjectFormat = {}\n"

_GITLINK = b"160000 "
_ACTIVE = "[submodule]\n\tactive = .\n"
"""Without this setting git reports every submodule as not initialised."""


async def create_git_folder(workspace: Path, folder: Path, env: Mapping[str, str], objects: Path | None) -> Path | None:
    """Create `.git` in the checkout `folder` from the present state of the workspace's repository.

    `workspace`: a resolved path. `objects`: where the check sees the original objects. None means at their real path.
    Returns that real path, or None if the workspace is not the top of a git repository. Raises GitFailed, OSError.
    """
    if not (workspace / ".git").exists():
        return None
    origin = await Repository.find(workspace, env)
    if origin is None:
        return None
    places = await places_of(origin)
    if places.top != workspace:
        return None
    head, branch = await origin.head(), await origin.branch()
    tags = (await origin.run_checked("for-each-ref", "--format=%(objectname) %(refname)", "refs/tags")).line
    git = folder / ".git"
    for name in ("objects/info", "objects/pack", "refs/heads", "refs/tags", "info", "objects-of-the-run"):
        (git / name).mkdir(parents=True, exist_ok=True)  # a guarded file may be there
    form = (await origin.run_checked("rev-parse", "--show-object-format")).line
    (git / "config").write_text(_CONFIG if form == "sha1" else _OTHER_CONFIG.format(form))
    (git / "HEAD").write_text(f"ref: refs/heads/{branch}\n" if branch is not None else f"{head}\n")
    refs = [*([f"{head} refs/heads/{branch}"] if head and branch else []), *tags.splitlines()]
    (git / "packed-refs").write_text("".join(f"{line}\n" for line in refs))
    alternates = git / "objects/info/alternates"
    own = places.common / "objects"
    alternates.write_text(f"{own}\n")
    if head is not None:
        await Repository(folder, env).run_checked("read-tree", "HEAD")
    alternates.write_text(f"{objects or own}\n")
    return own


async def add_tracked_files(workspace: Path | None, folder: Path, env: Mapping[str, str], own: Path) -> None:
    """Add committed files that an ignore pattern matches to the checkout, and refresh the index.

    They come from the workspace, or from the commit if the workspace lacks them or is None.
    `own`: the result of `create_git_folder`. Raises GitFailed, OSError.
    """
    here = Repository(folder, env)
    more = {"GIT_ALTERNATE_OBJECT_DIRECTORIES": str(own)}
    listed = await here.run_checked("ls-files", "-z", "--cached", "--ignored", "--exclude-standard", more=more)
    paths = [os.fsdecode(name) for name in listed.out.split(b"\0") if name]
    missing = await asyncio.to_thread(_copy_missing, paths, workspace, folder)
    if missing:
        given = b"".join(os.fsencode(path) + b"\0" for path in missing)
        await here.run_checked("checkout-index", "-z", "--stdin", stdin=given, more=more)
    await here.run("update-index", "-q", "--refresh", more=more)


async def activate_submodules(workspace: Path, folder: Path, env: Mapping[str, str], own: Path) -> list[str]:
    """Activate the submodules that are in the commit of a checkout and in the workspace. Return their paths.

    `folder`: the checkout. `own`: the object store of the repository. Raises GitFailed, OSError.
    """
    more = {"GIT_ALTERNATE_OBJECT_DIRECTORIES": str(own)}
    listed = await Repository(folder, env).run_checked("ls-files", "-z", "--stage", more=more)
    rows = (row.partition(b"\t") for row in listed.out.split(b"\0"))
    paths = [os.fsdecode(path) for stage, _, path in rows if stage.startswith(_GITLINK)]
    found = [path for path in paths if _is_without_links(workspace, path) and (workspace / path / ".git").exists()]
    if found:
        with (folder / ".git/config").open("a") as config:
            config.write(_ACTIVE)
    return found


def _is_without_links(workspace: Path, path: str) -> bool:
    """Return whether no part of the path is a link."""
    return Path(os.path.realpath(workspace / path)) == Path(os.path.realpath(workspace)) / path


def _copy_missing(paths: Sequence[str], workspace: Path | None, folder: Path) -> list[str]:
    """Copy missing files. Return those that the workspace does not have."""
    missing = [path for path in paths if not os.path.lexists(folder / path)]
    return [path for path in missing if workspace is None or not _copy(workspace / path, folder / path)]


def _copy(source: Path, target: Path) -> bool:
    """Copy a regular file. Return False if the source is not one."""
    if not source.is_file() or source.resolve() != source:
        return False
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy2(source, target)
    return True
