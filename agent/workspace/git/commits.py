"""Commit the changes of a pass that are kept, or bundle the commits of a pass that is rolled back."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from contextlib import suppress
from typing import NamedTuple

from ...system.plain_files import read_plain
from ..own_temp import temp_folder
from .places import places_of
from .record import open_submodule
from .repository import GitFailed, Hooks, Repository
from .state import REMOTES, GitState

LARGEST = 64_000_000
"""Maximum bytes of a bundle in the journal. For more, the commits stay in the repository under refs of rundry."""
_MOST_TIPS = 400
"""Maximum number of tips that a bundle excludes, because they are arguments of a command."""


class KeptCommits(NamedTuple):
    """Commits that no branch contains after a roll-back."""

    bundle: bytes | None
    """A bundle for `git fetch`; None: the commits are too large for one."""
    refs: list[str]
    """Refs that keep the commits if there is no bundle."""
    commits: list[str]
    """One line each: short id and subject."""


async def commit_pass(
    repository: Repository,
    start: GitState,
    have: GitState,
    paths: Sequence[str],
    message: str,
    hooks: Hooks | None = None,
) -> tuple[str, bool]:
    """Commit the pass on the branch that it started from, check that branch out, and return its new tip.

    Commits that the pass made are kept if they descend from its start. If they do not (the pass amended or dropped
    older ones), the result is one commit on top of the start, and the second value is True: squashed.
    `paths`: all files that differ from the start, relative to the repository's folder. Raises GitFailed.
    """
    branch = start.branch
    if branch is None or start.commit is None or have.commit is None:
        raise GitFailed("the pass did not start on a branch")
    ancestor = await repository.run("merge-base", "--is-ancestor", start.commit, have.commit)
    base = have.commit if ancestor.code == 0 else start.commit
    staged = await repository.run_checked("diff-index", "--cached", "--name-only", "--relative", "-z", base)
    names = {*paths, *(os.fsdecode(name) for name in staged.out.split(b"\0") if name)}
    wanted = await _without_submodules(repository, start, have, sorted(names))
    if hooks is not None:
        message = await _message_from_hooks(repository, base, wanted, message, hooks)
    tree = await repository.stage(wanted)
    tip = base
    if tree != (await repository.run_checked("rev-parse", f"{base}^{{tree}}")).line:
        tip = await repository.commit_tree(tree, base, message)
    where = have.refs.get(branch, "")
    await repository.run_checked("update-ref", "-m", f"rundry: {message.splitlines()[0]}", branch, tip, where)
    if have.head != start.head:
        await repository.run_checked("symbolic-ref", "-m", "rundry: back to the branch of the run", "HEAD", branch)
    if hooks is not None and tip != base:
        await hooks.after(repository)
    return tip, base != have.commit


async def _message_from_hooks(
    repository: Repository, base: str, names: Sequence[str], message: str, hooks: Hooks
) -> str:
    """Run the hooks before the commit, and return its message. The index of the repository does not change."""
    index = (await repository.run_checked("rev-parse", "--path-format=absolute", "--git-path", "index")).line
    with temp_folder("index") as folder:
        with suppress(FileNotFoundError):
            (folder / "index").write_bytes(await asyncio.to_thread(read_plain, index, 1 << 30))
        tree = await repository.with_index(folder / "index").stage(names)
    if tree == (await repository.run_checked("rev-parse", f"{base}^{{tree}}")).line:
        return message
    return await hooks.before(repository, tree, names, message)


async def bundle_of(repository: Repository, want: GitState, have: GitState, fallback: str) -> KeptCommits | None:
    """Bundle the commits that are reachable at the end but were not at the start. Raises GitFailed.

    None: there are no such commits. `fallback`: prefix of the refs for commits that are too large for a bundle.
    """
    old = {*want.refs.values(), *(one.commit for one in want.stash), *([want.commit] if want.commit else [])}
    refs = {name: tip for name, tip in have.refs.items() if tip not in old and not name.startswith(REMOTES)}
    loose = [tip for tip in (have.commit, *(one.commit for one in have.stash)) if tip and tip not in old]
    tips = list(dict.fromkeys([*refs.values(), *loose]))
    if not tips:
        return None
    known = [*([want.commit] if want.commit else []), *want.refs.values()]
    without = list(dict.fromkeys(known))[:_MOST_TIPS]
    lines = await repository.run_checked("log", "--no-show-signature", "--format=%h %s", *tips, "--not", *without, "--")
    commits = lines.out.decode("utf-8", "replace").splitlines()
    if not commits:
        return None
    names = [*refs, *(["HEAD"] if have.commit not in refs.values() and have.commit in tips else []), *loose]
    with temp_folder("bundle") as folder:
        target = folder / "commits.bundle"
        answer = await repository.run("bundle", "create", "--quiet", str(target), *names, "--not", *without)
        if answer.code == 0 and target.stat().st_size <= LARGEST:
            return KeptCommits(target.read_bytes(), [], commits)
    held = [f"{fallback}/{number}" for number in range(1, len(tips) + 1)]
    for name, tip in zip(held, tips, strict=True):
        await repository.run_checked("update-ref", name, tip)
    return KeptCommits(None, held, commits)


async def _without_submodules(
    repository: Repository, start: GitState, have: GitState, names: Sequence[str]
) -> list[str]:
    """Replace the files of a submodule by the submodule itself. Raises GitFailed if it has uncommitted changes."""
    places = await places_of(repository)
    prefix = (await repository.run_checked("rev-parse", "--show-prefix")).line
    found: set[str] = set()
    for path, module in have.submodules.items():
        before = start.submodules.get(path)
        if not path.startswith(prefix):
            continue
        named = path.removeprefix(prefix)
        inside = {name.removeprefix(f"{named}/") for name in names if name.startswith(f"{named}/")}
        below = await open_submodule(repository.at(places.top), path)
        dirty = inside & {*(await below.dirty_paths() if below is not None else [])}
        if dirty:
            some = ", ".join(f"{named}/{name}" for name in sorted(dirty)[:3])
            raise GitFailed(f"{some} changed in the submodule {named} and was not committed there")
        if inside or before is None or before.state.commit != module.state.commit:
            found.add(named)
    below_any = tuple(f"{name}/" for name in found)
    return sorted({*found, *(name for name in names if not name.startswith(below_any or ("\0",)))})
