"""Check the folder of a run with passes before its model is opened, and make its worktree after all other checks."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from ...loops.improve import NO_BUDGET, is_finite
from ...protocol import Branch, GoalTries, Predicates, Refusal, RunSpec
from ...workspace.git.pass_preflight import ignored_paths, why_no_pass
from ...workspace.git.repository import GitFailed, Repository, repository_top
from ...workspace.snapshots.scan import TooLarge, measure

if TYPE_CHECKING:
    from ...facts.facts import RunFacts
    from ...workspace.snapshots.snapshots import Snapshots

_NAMED = 6
"""Number of ignored paths that a note names."""


def branch_of(spec: RunSpec) -> Branch | None:
    """Return where passes are committed, or None if the loop commits no passes."""
    if spec.interval is not None:
        return spec.interval.branch
    return spec.improve.branch if spec.improve is not None else None


async def check_run_folder(spec: RunSpec, facts: RunFacts, env: Mapping[str, str]) -> list[str]:
    """Check the folder without changing anything. Returns notes. Raises Refusal if no pass can start there."""
    branch, improve = branch_of(spec), spec.improve
    if improve is not None and not facts.started and not (improve.bounded and is_finite(spec.budget)):
        raise Refusal(NO_BUDGET)
    if spec.tries is not None and not facts.started:
        return await _check_for_tries(Path(spec.workspace), spec.tries, env)
    if branch is None:
        return []
    try:
        if branch.worktree_of is None:
            if not facts.started:
                return await _check_branch(spec, branch, env)
        elif facts.started:
            if not Path(spec.workspace).is_dir():  # noqa: ASYNC240 - one system call
                raise Refusal(f"the worktree {spec.workspace} does not exist, and the run cannot continue without it")
        else:
            await _check_origin(Path(branch.worktree_of), env)
    except GitFailed as error:
        raise Refusal(str(error)) from error
    return []


async def make_run_worktree(spec: RunSpec, facts: RunFacts, env: Mapping[str, str]) -> list[str]:
    """Make the worktree of a new run, if it needs one. Returns notes. Raises Refusal."""
    branch, place = branch_of(spec), Path(spec.workspace)
    if branch is None or branch.worktree_of is None or branch.name is None or facts.started:
        return []
    origin = Path(branch.worktree_of)
    top = repository_top(place)
    if top is None or top == repository_top(origin):
        try:
            found = await _check_origin(origin, env)
            below = origin.relative_to(repository_top(origin) or origin)
            root = Path(*place.parts[: len(place.parts) - len(below.parts)])
            await found.add_worktree(root, branch.name)
        except GitFailed as error:
            raise Refusal(f"the worktree cannot be made: {error}") from error
    return [
        f"worktree {place} on the branch {branch.name}; {origin} stays unchanged "
        f"(`git merge {branch.name}` merges it, `git worktree remove {place}` removes it)"
    ]


def check_snapshots(spec: RunSpec, snapshots: Snapshots) -> None:
    """Raise Refusal if the workspace is too large for snapshots, and passes or parallel worktrees need them."""
    if snapshots.too_large and branch_of(spec) is not None:
        raise Refusal(_no_roll_back(snapshots.too_large))
    if snapshots.too_large and _is_parallel(spec):
        raise Refusal(_no_merge(snapshots.too_large))


async def check_size(spec: RunSpec) -> None:
    """Make the same check as `check_snapshots` before the snapshot store exists. Raises Refusal."""
    branch = branch_of(spec)
    if branch is None and not _is_parallel(spec):
        return
    try:
        await asyncio.to_thread(measure, Path(spec.home))
    except TooLarge as error:
        raise Refusal(_no_merge(str(error)) if branch is None else _no_roll_back(str(error))) from None


def _is_parallel(spec: RunSpec) -> bool:
    return spec.tries is not None or (spec.finder is not None and spec.finder.parallel > 1)


def _no_merge(why: str) -> str:
    return f"{why}, so no change of a worktree could be applied: add what the task does not need to .gitignore"


def _no_roll_back(why: str) -> str:
    return f"{why}, so a pass could not be rolled back: add what the task does not need to .gitignore"


def guarded(spec: RunSpec) -> Predicates:
    """Return the predicates for the guard. A score command counts as a check: the files it executes are guarded."""
    more = spec.guarded_commands if spec.improve is None else [spec.improve.score]
    return msgspec.structs.replace(spec.predicates, until=[*spec.predicates.until, *more]) if more else spec.predicates


async def check_clean_tree(spec: RunSpec, facts: RunFacts, env: Mapping[str, str]) -> list[str]:
    """Check that a tree is clean whose passes do not work in layers. Returns notes. Raises Refusal if it is not."""
    branch = branch_of(spec)
    if branch is None or branch.worktree_of is not None or facts.started:
        return []
    try:
        return await _check_branch(spec, branch, env, is_clean=True)
    except GitFailed as error:
        raise Refusal(str(error)) from error


async def _check_branch(spec: RunSpec, branch: Branch, env: Mapping[str, str], *, is_clean: bool = False) -> list[str]:
    """Check that passes can be committed. If not, raise Refusal, or return the note that nothing is committed.

    `is_clean`: whether the tree must be clean.
    """
    folder = Path(spec.workspace)
    why = await why_no_pass(await Repository.find(folder, env), folder, branch.protected, is_clean=is_clean)
    if why is None:
        return []
    if spec.interval is not None:
        raise Refusal(why)
    return [f"kept changes are not committed: {why}"]


async def _check_for_tries(folder: Path, spec: GoalTries, env: Mapping[str, str]) -> list[str]:
    """Check that worktrees can be made, and return the note about what they lack. Raises Refusal."""
    option = f"--tries {spec.tries}"
    try:
        found = await Repository.find(folder, env)
        if found is None:
            raise Refusal(f"{option}: {folder} is not in a git repository: `git init` and commit first")
        if await found.head() is None:
            raise Refusal(f"{option}: {folder} has no commit yet: commit once first")
        if (busy := await found.operation()) is not None:
            raise Refusal(f"{option}: {busy} is in progress: finish or abort it first")
        return await _note_on_ignored(found, folder, "the tries")
    except GitFailed as error:
        raise Refusal(str(error)) from error


async def missing_in_worktrees(spec: RunSpec, facts: RunFacts, env: Mapping[str, str]) -> list[str]:
    """Return the note about what the git worktrees of tries or items lack. Without a repository, there is none."""
    if facts.started or spec.tries is not None:  # `_check_for_tries` returned it
        return []
    has_tries = spec.improve is not None and spec.improve.tries > 1
    if not has_tries and not _is_parallel(spec):
        return []
    folder, whose = Path(spec.home), "the tries" if has_tries else "the items"
    try:
        found = await Repository.find(folder, env)
        return [] if found is None else await _note_on_ignored(found, folder, whose)
    except GitFailed:
        return []  # what needs the repository reports this


async def _note_on_ignored(found: Repository, folder: Path, whose: str) -> list[str]:
    """Return a note that names the ignored files. Raises GitFailed."""
    missing = await ignored_paths(found, folder)
    named = ", ".join(missing[:_NAMED]) + (f" and {len(missing) - _NAMED} more" * (len(missing) > _NAMED))
    return [f"git ignores {named}: the worktrees of {whose} do not have them"] if missing else []


async def _check_origin(origin: Path, env: Mapping[str, str]) -> Repository:
    found = await Repository.find(origin, env)
    if found is None:
        raise Refusal(f"{origin} is not in a git repository: a worktree needs one (`git init`, then commit)")
    head = await found.head()
    if head is None:
        raise Refusal(f"{origin} has no commit yet: commit first, because a worktree starts from a commit")
    below = origin.relative_to(repository_top(origin) or origin)
    if below.parts and (await found.run("cat-file", "-e", f"{head}:{below.as_posix()}")).code != 0:
        raise Refusal(
            f"{origin} is not committed yet: commit it first, because a worktree contains only committed files"
        )
    return found
