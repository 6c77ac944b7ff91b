"""Restore a repository to a recorded state, without overwriting later changes of other programs.

Each part is compared with its state at the end of the pass (`have`). If it differs, someone changed it later, and it is
kept. If a call is killed, the next one completes its work.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ...system.plain_files import read_plain
from .index import restore_index
from .locks import LockWatcher, wait_for_locks
from .places import LARGEST_KEPT, OPERATIONS, SETTINGS, GitPlaces, files_of, places_of
from .record import nested_in, open_submodule
from .refs import restore_refs
from .repository import GitFailed, Repository

if TYPE_CHECKING:
    from .state import GitState, KeptFile, Submodule

_WHY = "rundry: pass rolled back"


@dataclass(frozen=True, slots=True)
class Rewinding:
    """One repository that is being restored from `have` to `want`."""

    repository: Repository
    places: GitPlaces
    want: GitState
    have: GitState
    load: Callable[[str], bytes]


async def rewind(
    repository: Repository,
    want: GitState,
    have: GitState,
    load: Callable[[str], bytes],
    *,
    aside: Path,
    history_only: bool = False,
    watcher: LockWatcher | None = None,
) -> list[str]:
    """Restore the state `want`. Return a line for each part that was not restored. Does not raise for git errors.

    `load` returns stored bytes. `aside`: where git folders of new repositories in the tree are moved to.
    `history_only`: restore only HEAD, branches, the index and operations in progress.
    """
    try:
        places = await places_of(repository)
        await wait_for_locks(places, watcher)
        rewinding = Rewinding(repository.at(places.top), places, want, have, load)
        left: list[str] = []
        if not history_only:
            left += _restore_files(rewinding, places.common, SETTINGS, want.settings, have.settings)
            left += await _rewind_submodules(rewinding, aside)
        left += _restore_files(rewinding, places.folder, OPERATIONS, want.operations, have.operations)
        left += await _restore_head(rewinding)
        left += await restore_refs(rewinding.repository, places, want, have, branches_only=history_only)
        left += await restore_index(rewinding.repository, places, want, have, load)
        if not history_only:
            left += await _move_nested_aside(rewinding, aside)
    except (GitFailed, OSError) as error:
        return [f"git: {error}"]
    return left


async def _restore_head(rewinding: Rewinding) -> list[str]:
    """Restore HEAD itself. Its branch is restored with the other refs."""
    if rewinding.want.head == rewinding.have.head:
        return []
    answer = await rewinding.repository.run("symbolic-ref", "--quiet", "HEAD")
    now = f"ref: {answer.line}" if answer.code == 0 else await rewinding.repository.head() or ""
    if now == rewinding.want.head:
        return []
    if now != rewinding.have.head:
        return ["HEAD: not restored, because someone moved it since"]
    if rewinding.want.branch is not None:
        await rewinding.repository.run_checked("symbolic-ref", "-m", _WHY, "HEAD", rewinding.want.branch)
    else:
        await rewinding.repository.run_checked("update-ref", "--no-deref", "-m", _WHY, "HEAD", rewinding.want.head)
    return []


def _restore_files(
    rewinding: Rewinding, folder: Path, names: tuple[str, ...], want: dict[str, KeptFile], have: dict[str, KeptFile]
) -> list[str]:
    """Restore files of the git folder: settings, or those of an operation."""
    if want == have:
        return []
    left: list[str] = []
    there = {str(path.relative_to(folder)) for path in files_of(folder, names)}
    for name in sorted(want.keys() | have.keys(), reverse=True):
        wanted, had = want.get(name), have.get(name)
        now = read_plain(folder / name, LARGEST_KEPT) if name in there else None
        goal = None if wanted is None else rewinding.load(wanted.blob)
        if wanted == had or now == goal:
            continue
        if now != (None if had is None else rewinding.load(had.blob)):
            left.append(f".git/{name}: not restored, because someone changed it since")
        elif wanted is None or goal is None:
            (folder / name).unlink()
            _remove_empty(folder, (folder / name).parent)
        else:
            write_file(folder / name, goal, wanted.mode)
    return left


async def _rewind_submodules(rewinding: Rewinding, aside: Path) -> list[str]:
    left: list[str] = []
    for path, wanted in rewinding.want.submodules.items():
        had = rewinding.have.submodules.get(path)
        if had == wanted:
            continue
        if had is None:
            left += await _reattach(rewinding, path, wanted)
            continue
        below = await open_submodule(rewinding.repository, path)
        if below is None:
            left.append(f"{path}: the submodule is no longer checked out")
            continue
        lines = await rewind(below, wanted.state, had.state, rewinding.load, aside=aside / path)
        left += [f"{path}: {line}" for line in lines]
    return left


async def _reattach(rewinding: Rewinding, path: str, wanted: Submodule) -> list[str]:
    """Restore a removed submodule: write its `.git` file, which points to its repository in the git folder."""
    place = rewinding.places.top / path / ".git"
    if wanted.pointer is None or place.exists():
        return [f"{path}: the submodule was removed, and cannot be restored"]
    place.parent.mkdir(parents=True, exist_ok=True)
    write_file(place, os.fsencode(wanted.pointer), 0o644)
    below = await open_submodule(rewinding.repository, path)
    if below is None:
        place.unlink()
        return [f"{path}: the submodule was removed together with its repository"]
    folder = (await places_of(below)).folder
    write_file(folder / "index", rewinding.load(wanted.state.index), 0o644) if wanted.state.index else None
    return []


async def _move_nested_aside(rewinding: Rewinding, aside: Path) -> list[str]:
    """Move the git folders of new repositories out of the working tree, so that their commits are not lost."""
    left: list[str] = []
    for path in await nested_in(rewinding.repository):
        is_of_pass = path in rewinding.have.nested or path.rstrip("/") in rewinding.have.submodules
        if path in rewinding.want.nested or not is_of_pass:
            continue
        target = aside / f"{path.rstrip('/')}.git"
        target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        shutil.move(rewinding.places.top / path / ".git", target)
        _remove_empty(rewinding.places.top, rewinding.places.top / path)
        left.append(f"{path}: the pass made this repository; its git folder is now {target}")
    return left


def write_file(path: Path, data: bytes, mode: int) -> None:
    """Replace a file of the git folder atomically. Raises OSError."""
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_name(f"{path.name}.rundry-new")
    fresh.write_bytes(data)
    fresh.chmod(mode)
    fresh.replace(path)


def _remove_empty(top: Path, folder: Path) -> None:
    while folder != top and folder.is_dir() and not any(folder.iterdir()):
        folder.rmdir()
        folder = folder.parent
