"""Check the folder of a run with passes before its model is opened, and make its worktree after all other checks."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from ...protocol import Branch, Refusal, RunSpec
from ...repo.pass_preflight import why_no_pass
from ...repo.repository import GitFailed, Repository, repository_top
from ..loops.improve import NO_BUDGET, is_finite

if TYPE_CHECKING:
    from ...state.facts.run_facts import RunFacts


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
    if why := _why_old(facts) or _why_no_copy(facts):
        raise Refusal(why)
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


def _why_old(facts: RunFacts) -> str:
    """Return why a run cannot continue that an older rundry left in the middle of a pass, try or item.

    Returns empty if it can. Those worked in the workspace itself or in git worktrees, which this version does not write
    any more.
    """
    passing, finder, place, what = facts.pass_facts, facts.finder, "", ""
    if facts.spec.has_units and passing is not None and passing.open is not None:
        what = f"pass {passing.open.number}"
        is_old = passing.open.tries == 1 and passing.open.layer is None
        if is_old or (passing.chosen is not None and not passing.chosen.place):
            place = facts.spec.workspace
        elif old := [one.place for one in passing.unfinished if not one.layer]:
            what, place = f"a try of {what}", old[0]
    elif finder is not None and (old := finder.worktrees.old_places):
        what, place = "an item", old[0]
    return f"an older rundry left {what} open, with its changes in {place}: start a new run" if place else ""


def _why_no_copy(facts: RunFacts) -> str:
    """Return why a review cannot continue whose copy of the new side was removed; empty if it can."""
    review, copy = None if facts.spec.finder is None else facts.spec.finder.review, Path(facts.spec.workspace)
    if review is None or not review.home or not facts.started or (copy.is_dir() and any(copy.iterdir())):
        return ""
    return (
        f"the copy of the new side that this review reads was removed ({copy}): start the review again in {review.home}"
    )


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


async def _check_branch(spec: RunSpec, branch: Branch, env: Mapping[str, str]) -> list[str]:
    """Check that passes can be committed. If not, raise Refusal, or return the note that nothing is committed."""
    folder = Path(spec.workspace)
    why = await why_no_pass(await Repository.find(folder, env), folder, branch.protected)
    if why is None:
        return []
    if spec.interval is not None:
        raise Refusal(why)
    return [f"kept changes are not committed: {why}"]


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
