"""Record the beginning of a run. `resume_run.py` resumes the run of an earlier runner."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec

from ...protocol import (
    AUTO_FORMAT,
    FILE_FORMATS,
    Budget,
    EditFormatChosen,
    PlanChanged,
    Prompted,
    RunStarted,
    Said,
    StageBegan,
)
from ...step.formats.choose_format import choose_format
from ...step.formats.format_offer import offer_at_start
from ...step.prompt.system_prompt import system_prompt
from ...verdict.scope.run_scope import record_scope
from .concurrent_runs import concurrent_runs
from .sandbox_of_run import missing_guarantees

if TYPE_CHECKING:
    from ...journal.integrity.damage import Damage
    from ...state.facts.run_facts import RunFacts
    from ...step.resources.models_in_use import ModelsInUse
    from ...step.resources.run_context import RunContext
    from ...verdict.scope.scope import Scope
    from ..client.start_request import Order
    from ..live.live_run import LiveRun


@dataclass(frozen=True, slots=True)
class Beginning:
    """The input of `begin` and `resume`."""

    order: Order
    notes: Sequence[str]
    """Lines for the user about this machine."""
    scope: Scope | None
    """What the run may change, read from the workspace at its start. None means that it is in the journal, or nothing
    decides."""
    damage: Damage
    """Damage of the journal, which the person accepted."""


def begin(run: LiveRun, beginning: Beginning) -> None:
    """Record the first events: the run, the system prompt, the task."""
    ctx, spec = run.ctx, run.facts.spec
    form, why = choose_format(spec, ctx.models.current)
    ctx.events.record(
        RunStarted(
            run_id=spec.run_id,
            loop=spec.loop,
            task=spec.task,
            workspace=spec.workspace,
            model=ctx.models.current.name,
            budget=enforceable_budget(ctx.facts, ctx.models),
            journal=str(ctx.journal.path),
            local=ctx.models.current.local,
            window=ctx.models.current.window,
            priced=ctx.models.current.price is not None,
            effort=spec.model.effort,
            sees_images=ctx.models.current.sees_images,
            sandbox=ctx.sandbox.kind,
            network=ctx.sandbox.network,
            not_held=missing_guarantees(ctx.sandbox, ctx.gate.policy.rules),
            direct=is_direct(ctx),
            gate=ctx.gate.policy.mode,
            instructions=spec.instructions,
            skills=[skill.name for skill in spec.skills],
            finder=spec.finder,
            fix=spec.fix,
            repeat=spec.repeat,
            review=spec.review,
            parent=spec.parent,
            interval=spec.interval,
            paced=spec.paced,
            improve=spec.improve,
            restarts=spec.restarts,
            edit_format=form,
            edit_format_why=why,
            notes=[*beginning.order.notes, *beginning.notes, *concurrent_runs(spec, ctx.journal.path, ctx.clock.now())],
        )
    )
    record_stage(ctx)
    record_scope_read(ctx, beginning.scope)
    _record_prompts(run)
    if run.finder is not None:
        run.finder.begin()


def record_scope_read(ctx: RunContext, scope: Scope | None) -> None:
    """Record what the run may change, if it was read from the workspace now."""
    if scope is not None:
        is_copied = ctx.views is not None and ctx.views.start is not None
        record_scope(ctx.journal, ctx.events, scope, in_copy=is_copied, no_views=ctx.no_views)


def record_stage(ctx: RunContext) -> None:
    """Record that what the run changes is staged, unless an earlier runner did."""
    stage = ctx.stage
    if stage is not None and ctx.facts.changes.stage != stage.unit.folder.name:
        ctx.events.record(StageBegan(folder=stage.unit.folder.name))


def _record_prompts(run: LiveRun) -> None:
    """Record the edit format if the program chose it, the system prompt and the task."""
    ctx, spec = run.ctx, run.facts.spec
    form, why = choose_format(spec, ctx.models.current)
    if form in FILE_FORMATS and spec.edit_format == AUTO_FORMAT:
        ctx.events.record(EditFormatChosen(format=form, why=why))
    if run.finder is None and not spec.has_children:
        ctx.events.record(Prompted(kind="system", text=system_prompt(spec, form)))
    offer_at_start(ctx)
    if spec.plan:
        ctx.events.record(PlanChanged(lines=[f"[ ] {step}" for step in spec.plan]))
    if spec.task:
        ctx.events.record(Said(text=spec.opening, kind="task", images=spec.images, by=spec.started_by))


def is_direct(ctx: RunContext) -> bool:
    """Return whether commands in the sandbox write to the workspace itself."""
    is_apart = not (ctx.layers is None and ctx.units is None and ctx.stage is None)
    return ctx.facts.spec.changes_files and ctx.sandbox.kind is not None and not is_apart


def enforceable_budget(facts: RunFacts, models: ModelsInUse) -> Budget:
    """Return the budget without a limit that cannot be enforced: USD, if the model has no price."""
    budget = facts.budget
    return budget if models.current.price is not None else msgspec.structs.replace(budget, usd=None)
