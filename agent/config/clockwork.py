"""Options of interval, paced and improve runs: how they select the loop and become its settings."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TypeVar

import msgspec

from ..protocol import (
    CACHE_TTL,
    Better,
    Branch,
    ImproveSpec,
    IntervalSpec,
    LoopKind,
    PacedSpec,
    RunSpec,
    UserError,
)
from .limits import FIELDS
from .settings import FLAG, Settings

Passes = TypeVar("Passes", IntervalSpec, ImproveSpec)
_PICKED = {"every": LoopKind.INTERVAL, "score": LoopKind.IMPROVE}
_NEEDED = {
    LoopKind.INTERVAL: ("every", "--loop interval: say how often, with --every 5m"),
    LoopKind.IMPROVE: ("score", "--loop improve: say what prints the number, with --score CMD"),
}
_COMMITTING = (LoopKind.INTERVAL, LoopKind.IMPROVE)


def loop_by_flags(settings: Settings, asked: LoopKind | None) -> LoopKind | None:
    """Return the loop that `--every` or `--score` selects; None: neither is set. Raises UserError if both are set."""
    if asked is not None and asked in _NEEDED:
        name, fix = _NEEDED[asked]
        if settings[name].value is None:
            raise UserError(fix)
    given = [name for name in _PICKED if settings[name].value is not None]
    flags = [name for name in given if settings[name].origin == FLAG]
    if len(flags) > 1:
        raise UserError("--every and --score: a run has one loop, so give only one of them")
    for name in flags:
        if asked not in (None, _PICKED[name]) and settings["loop"].origin == FLAG:
            raise UserError(f"--{name} is for --loop {_PICKED[name]}: give only one of them")
    picked = next((_PICKED[name] for name in [*flags, *given]), None)
    loop = picked if flags or asked is None else asked
    if settings["worktree"].value and settings["worktree"].origin == FLAG and loop not in _COMMITTING:
        raise UserError("--worktree is for runs whose passes are committed: give --every or --score too")
    if settings["tries"].origin == FLAG and loop is not LoopKind.IMPROVE:
        raise UserError("--tries is for a run with a score: give --score CMD too")
    return loop


def commits(settings: Settings, loop: LoopKind | None) -> bool:
    """Return whether each edit is committed. Raises UserError if passes are committed instead."""
    if loop in _COMMITTING and settings["commit"].origin == FLAG:
        raise UserError("--commit: a run with --every or --score commits its passes, whole; leave --commit out")
    return bool(settings["commit"].value) and loop not in _COMMITTING


def commit_hooks(settings: Settings, loop: LoopKind | None) -> bool:
    """Return whether commits execute hooks. Raises UserError if that is set but the run makes no commits."""
    asked, is_committing = settings["commit_hooks"], loop in _COMMITTING or bool(settings["commit"].value)
    if asked.value and asked.origin == FLAG and not is_committing:
        raise UserError("--commit-hooks: this run makes no commits; give --commit, --every or --score too")
    return bool(asked.value) and is_committing


def interval_of(settings: Settings, branch: Branch) -> IntervalSpec:
    """Return the settings of an interval run. Raises UserError if no interval is set."""
    every = settings.get("every", float)
    if every is None:
        raise UserError(_NEEDED[LoopKind.INTERVAL][1])
    return _with_pass_steps(IntervalSpec(every=every, branch=branch), settings)


def paced_of(settings: Settings) -> PacedSpec:
    """Return the settings of a paced run. With `--cache-ttl none`, the model has no prompt cache."""
    asked = settings.is_set("cache_ttl")
    return PacedSpec(cache_ttl=settings.get("cache_ttl", float) if asked else CACHE_TTL, ttl_asked=asked)


def improve_of(settings: Settings, branch: Branch) -> ImproveSpec:
    """Return the settings of an improve run, including whether the user set its budget."""
    asked = [settings[name].value for name in FIELDS if settings.is_set(name)]
    spec = ImproveSpec(
        score=settings.get("score", str) or "",
        goal=settings.get("goal", Better) or Better.MAX,
        patience=settings.need("patience", int),
        min_delta=settings.need("min_delta", float),
        repeat=settings.need("repeat", int),
        tries=settings.need("tries", int),
        concurrency=settings.need("concurrency", int),
        bounded=any(limit is not None for limit in asked),
        branch=branch,
    )
    return _with_pass_steps(spec, settings)


def _with_pass_steps(spec: Passes, settings: Settings) -> Passes:
    steps = settings.get("pass_steps", int)
    return spec if steps is None else msgspec.structs.replace(spec, pass_steps=steps)


def home_of(settings: Settings, root: Path, run_id: str) -> Branch:
    """Return where passes work: in the user's folder, or in a worktree of it."""
    protected = [name for name in settings.texts("protected") if name != "none"]
    if not settings["worktree"].value:
        return Branch(protected=protected)
    return Branch(protected=protected, worktree_of=str(root), name=f"rundry/{run_id}")


def placed(spec: RunSpec, branch: Branch, worktrees: Path | None) -> RunSpec:
    """Return the run in its worktree, if it has one: in the same folder relative to the top of the repository."""
    if branch.worktree_of is None or worktrees is None or spec.loop not in _COMMITTING:
        return spec
    origin = Path(branch.worktree_of)
    top = next((above for above in (origin, *origin.parents) if (above / ".git").exists()), origin)
    place = Path(os.path.realpath(worktrees)) / spec.run_id / origin.relative_to(top)
    return msgspec.structs.replace(spec, workspace=str(place))
