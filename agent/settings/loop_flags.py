"""Select the loop of a run from `--every` and `--score`, and build the settings of interval, paced and improve runs."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import msgspec

from ..protocol import (
    CACHE_TTL,
    Better,
    Branch,
    GoalTries,
    ImproveSpec,
    IntervalSpec,
    LoopKind,
    PacedSpec,
    RunSpec,
    UserError,
)
from .default_limits import FIELDS

if TYPE_CHECKING:
    from .settings import Settings

Passes = TypeVar("Passes", IntervalSpec, ImproveSpec)
_PICKED = {kind.traits.option: kind for kind in LoopKind if kind.traits.option is not None}


def loop_by_flags(settings: Settings, asked: LoopKind | None) -> LoopKind | None:
    """Return the loop that `--every` or `--score` selects.

    Returns None if neither is set. Raises UserError if both are set.
    """
    if asked is not None and (needed := asked.traits.option) is not None and settings[needed].value is None:
        raise UserError(_missing(asked))
    given = [name for name in _PICKED if settings[name].value is not None]
    flags = [name for name in given if settings[name].source == "flag"]
    if len(flags) > 1:
        options = " and ".join(f"--{name}" for name in flags)
        raise UserError(f"{options}: a run has one loop, so give only one of them")
    for name in flags:
        if asked not in (None, _PICKED[name]) and settings["loop"].source == "flag":
            raise UserError(f"--{name} is for --loop {_PICKED[name]}: give only one of them")
    picked = next((_PICKED[name] for name in [*flags, *given]), None)
    loop = picked if flags or asked is None else asked
    if settings["worktree"].value and settings["worktree"].source == "flag" and not _is_committing(loop):
        raise UserError("--worktree is for runs whose passes are committed: give --every or --score too")
    return loop


def commits(settings: Settings, loop: LoopKind | None) -> bool:
    """Return whether each edit is committed. Raises UserError if passes are committed instead."""
    if _is_committing(loop) and settings["commit"].source == "flag":
        raise UserError("--commit: a run with --every or --score commits whole passes; leave --commit out")
    return bool(settings["commit"].value) and not _is_committing(loop)


def commit_hooks(settings: Settings, loop: LoopKind | None) -> bool:
    """Return whether commits execute hooks. Raises UserError for `--commit-hooks` in a run without commits."""
    asked, has_commits = settings["commit_hooks"], _is_committing(loop) or bool(settings["commit"].value)
    if asked.value and asked.source == "flag" and not has_commits:
        raise UserError("--commit-hooks: this run makes no commits; give --commit, --every or --score too")
    return bool(asked.value) and has_commits


def interval_of(settings: Settings, branch: Branch) -> IntervalSpec:
    """Return the settings of an interval run. Raises UserError if no interval is set."""
    every = settings.get("every", float)
    if every is None:
        raise UserError(_missing(LoopKind.INTERVAL))
    return _with_pass_steps(IntervalSpec(every=every, branch=branch), settings)


def paced_of(settings: Settings) -> PacedSpec:
    """Return the settings of a paced run. With `--cache-ttl none`, the model has no prompt cache."""
    asked = settings.is_set("cache_ttl")
    return PacedSpec(cache_ttl=settings.get("cache_ttl", float) if asked else CACHE_TTL, ttl_asked=asked)


def improve_of(settings: Settings, branch: Branch) -> ImproveSpec:
    """Return the settings of an improve run, including whether the user set its budget."""
    spec = ImproveSpec(
        score=settings.get("score", str) or "",
        goal=settings.get("goal", Better) or Better.MAX,
        patience=settings.need("patience", int),
        min_delta=settings.need("min_delta", float),
        repeat=settings.need("repeat", int),
        tries=settings.need("tries", int),
        concurrency=settings.need("concurrency", int),
        bounded=budget_is_set(settings),
        branch=branch,
        pass_loop=LoopKind(kind) if (kind := settings.get("pass_loop", str)) is not None else None,
    )
    return _with_pass_steps(spec, settings)


def require_pass_loop_fits(settings: Settings, spec: RunSpec) -> None:
    """Raise UserError if passes cannot be runs of their own with these options."""
    asked = settings["pass_loop"]
    if spec.improve is None:
        if asked.source == "flag":
            raise UserError(f"--pass-loop {asked.value}: only a run with a score has such passes; give --score CMD too")
        return
    if spec.improve.pass_loop is None:
        return
    option = f"--pass-loop {spec.improve.pass_loop}"
    if spec.improve.tries > 1:
        raise UserError(f"{option}: a pass is one run or has several tries, so leave --tries {spec.improve.tries} out")
    if other := _about_one_conversation(spec):
        raise UserError(f"{option}: {other} is judged in one conversation, and each pass has its own; give --until CMD")


def budget_is_set(settings: Settings) -> bool:
    """Return whether the user set at least one finite limit of the budget."""
    return any(settings[name].value is not None for name in FIELDS if settings.is_set(name))


def goal_tries_of(settings: Settings, spec: RunSpec) -> GoalTries | None:
    """Return the settings of the tries of a goal run, or None. Raises UserError if `--tries` does not fit the run."""
    asked = settings["tries"]
    if asked.source != "flag" or spec.loop is LoopKind.IMPROVE:
        return None  # the config sets the tries of improve runs only
    option, wanted = f"--tries {asked.value}", spec.predicates
    if spec.loop.traits.has_passes:
        raise UserError(
            f"{option}: {spec.loop.a_run} has no tries; leave it out, or give --score CMD or only --until CMD"
        )
    if spec.loop is not LoopKind.GOAL or not (wanted.until or wanted.until_file):
        raise UserError(f"{option}: something must select a try: give --until CMD (a check) or --score CMD (a number)")
    tries = settings.need("tries", int)
    if tries < 2:
        raise UserError(f"{option}: give at least 2, or leave it out for a run in the workspace itself")
    if other := _about_one_conversation(spec):
        raise UserError(f"{option}: {other} needs a single conversation, so leave it out; --until CMD selects a try")
    if spec.commit and settings["commit"].source == "flag":
        raise UserError(f"{option}: tries do not commit, so leave --commit out")
    return GoalTries(
        tries=tries, concurrency=settings.need("concurrency", int), pass_steps=settings.get("pass_steps", int)
    )


def _about_one_conversation(spec: RunSpec) -> str | None:
    """Return an option that is judged by the conversation of the run, of which a run with tries has several."""
    wanted = spec.predicates
    given: dict[str, object] = {"--until-py": wanted.until_py, "--schema": wanted.schema, "--require": wanted.require}
    return next((option for option, value in given.items() if value), None)


def _missing(loop: LoopKind) -> str:
    return f"--loop {loop}: {loop.traits.option_hint}"


def _is_committing(loop: LoopKind | None) -> bool:
    return loop is not None and loop.traits.commits_passes


def _with_pass_steps(spec: Passes, settings: Settings) -> Passes:
    steps = settings.get("pass_steps", int)
    return spec if steps is None else msgspec.structs.replace(spec, pass_steps=steps)


def pass_branch(settings: Settings, root: Path, run_id: str) -> Branch:
    """Return the branch and the worktree in which passes work; without `--worktree`, the user's own."""
    protected = [name for name in settings.texts("protected") if name != "none"]
    if not settings["worktree"].value:
        return Branch(protected=protected)
    return Branch(protected=protected, worktree_of=str(root), name=f"rundry/{run_id}")


def in_worktree(spec: RunSpec, branch: Branch, worktrees: Path | None) -> RunSpec:
    """Return the spec with its workspace moved into its worktree, if it has one.

    The workspace keeps its path relative to the top of the repository.
    """
    if branch.worktree_of is None or worktrees is None or not spec.loop.traits.commits_passes:
        return spec
    origin = Path(branch.worktree_of)
    top = next((above for above in (origin, *origin.parents) if (above / ".git").exists()), origin)
    place = Path(os.path.realpath(worktrees)) / spec.run_id / origin.relative_to(top)
    return msgspec.structs.replace(spec, workspace=str(place))
