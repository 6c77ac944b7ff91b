"""Confirm the result of a live run: what passes in the workspace must also pass in a clean checkout."""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from ...protocol import ConfirmationFinished, ConfirmationStarted, Confirmed
from ...repo.checkout.copy_files import stamp_of_files
from ...repo.checkout.dependency_folders import dependency_folders, ignored_names
from ...repo.repository import GitFailed, Repository
from ...step.resources.activity import PersonInterrupted
from ...verdict.judge.judge import decided_of
from ...verdict.judge.judge_view import ViewContent, ViewFailed
from .case_of_run import case_now
from .checkout import Result
from .checkout_failed import CheckoutFailed
from .trial import Trial, run_trial

if TYPE_CHECKING:
    from ...host.workspace_paths import Workspace
    from ...state.facts.run_facts import RunFacts
    from ...step.resources.run_context import RunContext
    from ..live.live_run import LiveRun

_LISTED = 12
"""Maximum number of ignored files and folders that the model is informed about."""
_CACHES = ("__pycache__", ".pytest_cache", ".mypy_cache", ".ruff_cache", ".hypothesis", ".DS_Store", ".coverage")


async def confirm(run: LiveRun) -> None:
    """Run the confirming commands once and record the result. The person can interrupt them."""
    ctx = run.ctx
    async with run.files_lock.held("the check in a clean checkout"):
        with ctx.activity.in_progress():
            try:
                await ctx.activity.interruptible(ctx.start_checks.ready())
                await confirm_result(ctx)
            except PersonInterrupted:
                if ctx.limits.deadline_passed():
                    _finish(ctx, Trial(result=Confirmed.NOT_CONFIRMED, detail="the deadline passed"), 0.0)
                else:
                    run.pauses.after_interrupt()


async def confirm_result(ctx: RunContext) -> None:
    """Run the confirming commands once and record the result. Raises PersonInterrupted."""
    await ctx.fingerprint.take()
    stamp = await _stamp(ctx.facts, ctx.workspace, ctx.env)
    before = ctx.facts.verdicts.confirmation
    if before is not None and before.result is Confirmed.FAILED and before.mark == stamp:
        same = Trial(result=before.result, detail=before.detail, output=before.output)
        _finish(ctx, same, 0.0, mark=stamp, left_out=before.left_out, repeated=True)
        return
    wanted = ctx.facts.spec.predicates
    ctx.events.record(ConfirmationStarted(command=_joined(ctx.facts)))
    try:
        content = await _view_content(ctx) if ctx.judges else None
    except CheckoutFailed as why:
        _finish(ctx, Trial(result=Confirmed.NOT_CONFIRMED, detail=str(why)), 0.0, mark=stamp)
        return
    result = Result(
        journal=ctx.journal,
        facts=ctx.facts,
        workspace=ctx.workspace,
        sandbox=ctx.sandbox,
        env=ctx.env,
        is_live=True,
        content=content,
    )
    left = ctx.limits.seconds_for_work()
    seconds = wanted.timeout if left is None else max(1.0, min(wanted.timeout, left))
    began = time.monotonic()
    with ctx.limits.running():
        trying = run_trial(result, _commands(ctx.facts), seconds, any_=wanted.any, events=ctx.events.bound(None, None))
        trial = await ctx.activity.interruptible(trying)
    took = time.monotonic() - began
    if trial.result is Confirmed.FAILED and seconds < wanted.timeout and took >= seconds:
        trial = Trial(result=Confirmed.NOT_CONFIRMED, detail=f"the time budget left only {seconds:.0f} s for it")
    left_out: list[str] = []
    if trial.result is Confirmed.FAILED:
        left_out = await asyncio.to_thread(_left_out, ctx.workspace.root)
    _finish(ctx, trial, took, mark=stamp, left_out=left_out)


def _finish(
    ctx: RunContext,
    trial: Trial,
    seconds: float,
    *,
    mark: str = "",
    left_out: list[str] | None = None,
    repeated: bool = False,
) -> None:
    ctx.events.record(
        ConfirmationFinished(
            command=_joined(ctx.facts),
            result=trial.result,
            detail=trial.detail,
            output=trial.output,
            left_out=left_out or [],
            world=ctx.facts.world,
            mark=mark,
            seconds=seconds,
            repeated=repeated,
        )
    )


async def _view_content(ctx: RunContext) -> ViewContent:
    """Return what a checkout has instead of undecided changes. Raises CheckoutFailed."""
    try:
        decided, contents = await asyncio.to_thread(decided_of, await case_now(ctx))
        return await asyncio.to_thread(ViewContent.without_undecided, decided, contents)
    except ViewFailed as error:
        raise CheckoutFailed(str(error)) from error


def _commands(facts: RunFacts) -> list[str]:
    return list(dict.fromkeys(facts.spec.predicates.confirming))


def _joined(facts: RunFacts) -> str:
    return " && ".join(_commands(facts))


async def _stamp(facts: RunFacts, workspace: Workspace, env: Mapping[str, str]) -> str:
    """Return a digest of what a checkout would contain: files, undecided changes, commit."""
    files = await asyncio.to_thread(stamp_of_files, workspace)
    judged = facts.verdicts.judgement
    undecided = "" if judged is None else judged.undecided_digest
    parts: list[str | None] = [files, undecided]
    try:
        repository = await Repository.find(workspace.root, env)
        parts.append(await repository.head() if repository is not None else None)
    except GitFailed as error:
        parts.append(str(error))
    return hashlib.sha256(repr(parts).encode()).hexdigest()


def _left_out(root: Path) -> list[str]:
    """Return the ignored files and folders that a checkout does not contain, newest first, without caches."""
    mounted = dependency_folders(root)
    found: list[tuple[int, str]] = []
    for path, name, _ in ignored_names(root):
        if path in mounted or name in _CACHES or name.endswith((".pyc", ".pyo")):
            continue
        whole = root / path
        try:
            status = whole.lstat()
        except OSError:
            continue
        found.append((status.st_ctime_ns, f"{path}/" if whole.is_dir() else path))
    return [path for _, path in sorted(found, reverse=True)[:_LISTED]]
