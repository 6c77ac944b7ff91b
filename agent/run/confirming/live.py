"""Confirm the result of a running run: what passes in the workspace must also pass in a clean checkout."""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections.abc import Mapping
from pathlib import Path

from ...facts.facts import RunFacts
from ...protocol import ConfirmationFinished, ConfirmationStarted, Confirmed
from ...step import Kit, PersonInterrupted
from ...workspace import Workspace
from ...workspace.checkout import dependency_folders, ignored_names
from ...workspace.git.repository import GitFailed, Repository
from ..live.live_run import LiveRun
from .checkout import Result
from .trial import Trial, try_out

_LISTED = 12
"""Ignored files and folders that are reported to the model, newest first."""
_CACHES = ("__pycache__", ".pytest_cache", ".mypy_cache", ".ruff_cache", ".hypothesis", ".DS_Store", ".coverage")


async def confirm(run: LiveRun) -> None:
    """Run the confirming commands once and record the result. The user can interrupt it."""
    kit = run.kit
    async with run.files_at_rest:
        with kit.activity.in_progress():
            try:
                await kit.activity.interruptible(kit.before_acting())
                await _confirm(kit)
            except PersonInterrupted:
                if kit.usage.deadline_passed():
                    _finish(kit, Trial(result=Confirmed.NOT_CONFIRMED, detail="the deadline passed"), 0.0)
                else:
                    run.pauses.after_interrupt()


async def _confirm(kit: Kit) -> None:
    tree = await kit.snapshots.take()
    kit.facts.world = tree or None
    mark = await _mark(kit.facts, kit.workspace, kit.env, tree)
    before = kit.facts.verdicts.confirmation
    if before is not None and before.result is Confirmed.FAILED and before.mark == mark:
        same = Trial(result=before.result, detail=before.detail, output=before.output)
        _finish(kit, same, 0.0, mark=mark, left_out=before.left_out, repeated=True)
        return
    wanted = kit.facts.spec.predicates
    kit.events.record(ConfirmationStarted(command=_joined(kit.facts)))
    result = Result(
        journal=kit.journal,
        facts=kit.facts,
        workspace=kit.workspace,
        snapshots=kit.snapshots,
        sandbox=kit.sandbox,
        env=kit.env,
        tree=tree,
        guard=kit.guard,
    )
    left = kit.usage.seconds_for_work()
    seconds = wanted.timeout if left is None else max(1.0, min(wanted.timeout, left))
    began = time.monotonic()
    with kit.usage.running():
        trial = await kit.activity.interruptible(try_out(result, wanted.confirming, seconds, any_=wanted.any))
    took = time.monotonic() - began
    if trial.result is Confirmed.FAILED and seconds < wanted.timeout and took >= seconds:
        trial = Trial(result=Confirmed.NOT_CONFIRMED, detail=f"the run's time allowed only {seconds:.0f} s for it")
    left_out: list[str] = []
    if trial.result is Confirmed.FAILED:
        left_out = await asyncio.to_thread(_left_out, kit.workspace.root)
    _finish(kit, trial, took, mark=mark, left_out=left_out)


def _finish(
    kit: Kit, trial: Trial, seconds: float, *, mark: str = "", left_out: list[str] | None = None, repeated: bool = False
) -> None:
    kit.events.record(
        ConfirmationFinished(
            command=_joined(kit.facts),
            result=trial.result,
            detail=trial.detail,
            output=trial.output,
            left_out=left_out or [],
            world=kit.facts.world,
            mark=mark,
            seconds=seconds,
            repeated=repeated,
        )
    )


def _joined(facts: RunFacts) -> str:
    return " && ".join(facts.spec.predicates.confirming)


async def _mark(facts: RunFacts, workspace: Workspace, env: Mapping[str, str], tree: str) -> str:
    """Return a mark of what a checkout would contain: files, approved content, commit."""
    sealing = facts.sealing
    parts = [tree, sealing.seal, sorted(sealing.written.items(), key=str), sorted(sealing.kept.items(), key=str)]
    try:
        repository = await Repository.find(workspace.root, env)
        parts.append(await repository.head() if repository is not None else None)
    except GitFailed as error:
        parts.append(str(error))
    return hashlib.sha256(repr(parts).encode()).hexdigest()


def _left_out(root: Path) -> list[str]:
    """Return ignored files and folders that a checkout does not contain, newest first; caches are left out."""
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
