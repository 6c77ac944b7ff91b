"""Collect what the judge needs of a live run, and prepare it before the first call."""

from __future__ import annotations

import time
from collections.abc import Coroutine, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...layers.git.apply_git_rows import name_of
from ...layers.layer_effects import TooMuch
from ...layers.namespaces import NamespacesRefused
from ...layers.occupied import Occupied
from ...protocol import Interrupted, JudgePlanned
from ...step.checks.verify import state_of_run
from ...step.resources.activity import PersonInterrupted
from ...step.tool_calls.effect_entries import row_of
from ...verdict.judge.change_history import UnitChanges
from ...verdict.judge.holdout import prepare_holdout
from ...verdict.judge.judge_case import Case, JudgedUnit
from ...verdict.judge.judge_setup import prepare_setup
from ...verdict.judge.judge_view import ViewFailed
from ...verdict.judge.judging_cost import cost_line
from ...verdict.plants.planting import prepare_plants, prepare_plants_of_items
from .undecided import layers_folder

if TYPE_CHECKING:
    from ...layers.run_layers import Listed
    from ...state.facts.change_log import RecordedChange
    from ...state.facts.run_facts import RunFacts
    from ...step.resources.run_context import RunContext

_NOT_IN_VIEW = frozenset[str]({"built", "bytecode", "git"})
"""Classes of effects that a view does not have: output, and changes in git."""


def case_of(ctx: RunContext, *, facts: RunFacts | None = None, unit: JudgedUnit | None = None) -> Case:
    """Return what the judge needs of a run that is judged. `ctx`: the run's, whose files are the workspace or a stage.

    `unit`: an open unit that has the result; `case_now` finds that of a stage. `facts`: whose predicates hold. None
    means those of the run. Raises ViewFailed if it is not known what the run may change.
    """
    scope, noted = ctx.scope, ctx.facts.verdicts.scope
    if scope is None or noted is None:
        raise ViewFailed("an older version of rundry began this run, and did not note what it may change")
    try:
        base = layers_folder(ctx)
    except OSError as error:
        raise ViewFailed(f"what the run changed cannot be read: {error}") from error
    left = ctx.limits.seconds_for_work()
    return Case(
        facts=facts or ctx.facts,
        journal=ctx.journal,
        views=ctx.views,
        no_views=ctx.no_views,
        had_views=not noted.no_views,
        base=base,
        workspace=ctx.workspace if ctx.stage is None else ctx.stage.workspace,
        sandbox=ctx.sandbox,
        env=ctx.env,
        scope=scope,
        state=state_of_run(facts or ctx.facts, ctx.limits),
        background=ctx.background.names(),
        until=None if left is None else time.monotonic() + left,
        events=ctx.events.bound(None, None),
        unit=unit,
    )


def judged_unit(
    run: RunFacts, root: Path, listed: Listed, began: int, changes: Sequence[RecordedChange] = ()
) -> JudgedUnit:
    """Return a unit in the form that the judge needs. Nothing runs in it. `root`: of its view.

    `began`: position in the journal at which it began. `changes`: what was recorded in it and is not among the changes
    of the run, oldest first.
    """
    effects = [one.effect for group in listed.groups if group.kind not in _NOT_IN_VIEW for one in group.entries]
    built = [group.folder or group.entries[0].effect.path for group in listed.groups if group.kind == "built"]
    git = [name_of(row) for one in listed.git for row in one.rows]
    rows = [row_of(effect) for effect in effects]
    return JudgedUnit(UnitChanges(began, rows, changes), root, run, [*dict.fromkeys(built), *git])


async def case_now(ctx: RunContext) -> Case:
    """Return the case of a run as it is now; if it works in a stage, the result is what that has.

    Its background commands are suspended. Raises ViewFailed if it is not known what is staged.
    """
    stage = ctx.stage
    if stage is None:
        return case_of(ctx)
    try:
        listed = await stage.listed_now()
    except (Occupied, TooMuch, NamespacesRefused, OSError) as error:
        raise ViewFailed(f"what is staged cannot be listed: {error}") from error
    return case_of_stage(ctx, listed)


def case_of_stage(ctx: RunContext, listed: Listed) -> Case:
    """Return the case of a run that works in a stage. `listed`: what is staged."""
    return case_of(ctx, unit=judged_unit(ctx.facts, ctx.workspace.root, listed, ctx.facts.changes.stage_since))


async def prepare_judge(ctx: RunContext, items: Sequence[str] = ()) -> None:
    """Prepare what the judge needs, before the first call: the setup, the second check, and what is planted.

    `items`: the checks of the items of a migration. The cost is recorded, too. Raises PersonInterrupted.
    """
    if not ctx.judges or ctx.views is None or ctx.facts.step:
        return
    await _interruptible(ctx, prepare_setup(case_of(ctx)))
    await _interruptible(ctx, prepare_holdout(case_of(ctx)))
    if not ctx.facts.spec.loop.traits.commits_passes:  # else a pass prepares it, when its checks have run
        await prepare_planted(ctx, items)


async def prepare_planted(ctx: RunContext, items: Sequence[str] = ()) -> None:
    """Find the tests that can be planted, and record what the judge will cost, before the first call.

    Nothing is done for a run whose goal is met. Raises PersonInterrupted.
    """
    checks, spec = ctx.facts.verdicts.checks.values(), ctx.facts.spec
    if not ctx.judges or ctx.views is None or ctx.facts.step or ctx.facts.verdicts.is_judge_planned:
        return
    if spec.loop.traits.ends_on_predicates and checks and all(check.passed for check in checks):
        return
    case = case_of(ctx)
    await _interruptible(ctx, prepare_plants_of_items(case, items) if items else prepare_plants(case))
    if line := cost_line(case, items):
        case.events.record(JudgePlanned(line=line))


async def _interruptible(ctx: RunContext, preparing: Coroutine[Any, Any, None]) -> None:
    """Prepare one thing, which counts as time of the run, and record if a person interrupts it."""
    try:
        with ctx.limits.running():
            await ctx.activity.interruptible(preparing)
    except PersonInterrupted as how:
        ctx.events.record(Interrupted(what="check", detail=str(how)))
        raise
