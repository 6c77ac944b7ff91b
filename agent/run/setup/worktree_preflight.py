"""Where passes may stand: looked at before the model is opened; a worktree is made once all else is well."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path

import msgspec

from ...facts.facts import RunFacts
from ...loops.improve import NO_BUDGET, is_finite
from ...protocol import Branch, Predicates, Refusal, RunSpec
from ...workspace import Snapshots
from ...workspace.git.repository import GitFailed, Repository, repository_top, why_not_here
from ...workspace.snapshots.scan import TooLarge, measure


def branch_of(spec: RunSpec) -> Branch | None:
    """Of a loop whose passes may commit; None: this one's do not."""
    if spec.interval is not None:
        return spec.interval.branch
    return spec.improve.branch if spec.improve is not None else None


async def check_ground(spec: RunSpec, facts: RunFacts, env: Mapping[str, str]) -> list[str]:
    """Nothing is changed; lines for the person. Raises Refusal where no pass may start here, and says why."""
    branch, improve = branch_of(spec), spec.improve
    if improve is not None and not facts.started and not (improve.bounded and is_finite(spec.budget)):
        raise Refusal(NO_BUDGET)
    if branch is None:
        return []
    try:
        if branch.worktree_of is None:
            if not facts.started:
                return await _check_clean(spec, branch, env)
        elif facts.started:
            if not Path(spec.workspace).is_dir():  # noqa: ASYNC240 - one look at the disk
                raise Refusal(f"the worktree {spec.workspace} is gone: the run cannot go on without it")
        else:
            await _check_origin(Path(branch.worktree_of), env)
    except GitFailed as error:
        raise Refusal(str(error)) from error
    return []


async def lay_ground(spec: RunSpec, facts: RunFacts, env: Mapping[str, str]) -> list[str]:
    """Makes the run's worktree where it wants one that is not there; a line for the person. Raises Refusal."""
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
            raise Refusal(f"no worktree: {error}") from error
    return [
        f"worktree {place} on the branch {branch.name}; {origin} is not touched "
        f"(`git merge {branch.name}` takes it over, `git worktree remove {place}` clears it away)"
    ]


def check_snapshots(spec: RunSpec, snapshots: Snapshots) -> None:
    """A pass that could not be rolled back must not begin. Raises Refusal."""
    if snapshots.too_large and branch_of(spec) is not None:
        raise Refusal(_no_roll_back(snapshots.too_large))


async def check_size(spec: RunSpec) -> None:
    """The same, before there is a store for snapshots. Raises Refusal."""
    branch = branch_of(spec)
    if branch is None:
        return
    try:
        await asyncio.to_thread(measure, Path(branch.worktree_of or spec.workspace))
    except TooLarge as error:
        raise Refusal(_no_roll_back(str(error))) from None


def _no_roll_back(why: str) -> str:
    return f"{why}, so a pass could not be rolled back: add what the task does not need to .gitignore"


def guarded(spec: RunSpec) -> Predicates:
    """The predicates as the guard sees them: what the score command executes is guarded like a check."""
    if spec.improve is None:
        return spec.predicates
    return msgspec.structs.replace(spec.predicates, until=[*spec.predicates.until, spec.improve.score])


async def _check_clean(spec: RunSpec, branch: Branch, env: Mapping[str, str]) -> list[str]:
    """An interval run does not begin here; an improve run does, and commits nothing."""
    folder = Path(spec.workspace)
    why = await why_not_here(await Repository.find(folder, env), folder, branch.protected)
    if why is None:
        return []
    if spec.interval is not None:
        raise Refusal(why)
    return [f"what is kept is not committed: {why}"]


async def _check_origin(origin: Path, env: Mapping[str, str]) -> Repository:
    found = await Repository.find(origin, env)
    if found is None:
        raise Refusal(f"{origin} is in no git repository: a worktree needs one (`git init`, then commit)")
    head = await found.head()
    if head is None:
        raise Refusal(f"{origin} has no commit yet: a worktree begins with one, commit first")
    below = origin.relative_to(repository_top(origin) or origin)
    if below.parts and (await found.ask("cat-file", "-e", f"{head}:{below.as_posix()}")).code != 0:
        raise Refusal(f"{origin} is in no commit yet: commit it first, a worktree has what was committed")
    return found
