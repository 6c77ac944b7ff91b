"""Record the state of a repository and of its checked-out submodules."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from ...system.plain_files import read_plain
from .places import LARGEST_KEPT, OPERATIONS, SETTINGS, GitPlaces, files_of, places_of
from .state import STASH, GitState, KeptFile, Stashed, Submodule

if TYPE_CHECKING:
    from .repository import Repository

Keep = Callable[[bytes], str]
_GITLINK = b"160000"
_DEEPEST = 4
"""Maximum depth of submodules in submodules."""
_ENTRY = "%H%x00%gd%x00%gn%x00%ge%x00%gs"


async def record_state(repository: Repository, keep: Keep, depth: int = 0) -> GitState:
    """Record the state of a repository. `keep` stores bytes and returns their id. Raises GitFailed and OSError."""
    places = await places_of(repository)
    at_top = repository.at(places.top)
    listed = (await at_top.run_checked("ls-files", "--stage", "-v", "-z")).out
    index = places.folder / "index"
    refs = await _refs(at_top)
    branch = await at_top.run("symbolic-ref", "--quiet", "HEAD")
    commit = await at_top.head()
    return GitState(
        head=f"ref: {branch.line}" if branch.code == 0 else commit or "",
        commit=commit,
        refs=refs,
        stash=await stash_of(at_top) if STASH in refs else [],
        index=keep(index.read_bytes()) if index.is_file() else None,
        staged=hashlib.sha256(listed).hexdigest(),
        operations=_kept(places.folder, OPERATIONS, keep),
        settings={} if places.is_linked else _kept(places.common, SETTINGS, keep),
        head_log=size_of_log(places),
        nested=await nested_in(at_top),
        submodules=await _submodules(at_top, listed, keep, depth),
    )


async def stash_of(repository: Repository) -> list[Stashed]:
    """Return all entries of the stash, newest first."""
    answer = await repository.run(
        "log", "-g", "-z", "--no-show-signature", "--date=raw", f"--format={_ENTRY}", STASH, "--"
    )
    fields = answer.out.decode("utf-8", "surrogateescape").split("\0") if answer.code == 0 else []
    entries = [fields[n : n + 5] for n in range(0, len(fields) - 4, 5)]
    return [
        Stashed(commit=commit, message=message, name=name, mail=mail, date=at.partition("@{")[2].rstrip("}"))
        for commit, at, name, mail, message in entries
    ]


async def nested_in(repository: Repository) -> list[str]:
    """Return untracked folders of the working tree that are themselves repositories."""
    return [
        path
        for path in await repository.dirty_paths()
        if path.endswith("/") and _is_repository(repository.folder / path)
    ]


def size_of_log(places: GitPlaces) -> int:
    """Return the size in bytes of the HEAD reflog of this working tree."""
    log = places.folder / "logs" / "HEAD"
    return log.stat().st_size if log.is_file() else 0


def kept_file(path: Path, keep: Keep) -> KeptFile:
    """Store a file of the git folder, and return its mode and id."""
    return KeptFile(stat.S_IMODE(path.stat().st_mode), keep(read_plain(path, LARGEST_KEPT)))


async def open_submodule(repository: Repository, path: str) -> Repository | None:
    """Open the submodule at this path; None: it is not checked out."""
    place = repository.folder / path
    if not _is_repository(place):
        return None
    found = await repository.open(place)
    if found is None:
        return None
    return found if (await found.run("rev-parse", "--show-cdup")).line == "" else None


async def _refs(repository: Repository) -> dict[str, str]:
    answer = await repository.run_checked("for-each-ref", "--format=%(objectname) %(refname) %(symref)")
    found = (line.split(" ") for line in answer.out.decode("utf-8", "surrogateescape").splitlines())
    return {name: target for target, name, symbolic in found if not symbolic}


async def _submodules(repository: Repository, listed: bytes, keep: Keep, depth: int) -> dict[str, Submodule]:
    found: dict[str, Submodule] = {}
    for entry in listed.split(b"\0"):
        facts, _, name = entry.partition(b"\t")
        if depth >= _DEEPEST or facts[2:8] != _GITLINK:
            continue
        path = os.fsdecode(name)
        below = await open_submodule(repository, path)
        if below is not None:
            pointer = repository.folder / path / ".git"
            text = pointer.read_text(encoding="utf-8", errors="surrogateescape") if pointer.is_file() else None
            found[path] = Submodule(text, await record_state(below, keep, depth + 1))
    return found


def _kept(folder: Path, names: tuple[str, ...], keep: Keep) -> dict[str, KeptFile]:
    return {str(path.relative_to(folder)): kept_file(path, keep) for path in files_of(folder, names)}


def _is_repository(folder: Path) -> bool:
    return os.path.lexists(folder / ".git")
