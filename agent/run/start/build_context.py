"""Build the objects of a run, each from those that it needs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...budget.quota import OVER_QUOTA, Quotas
from ...budget.shared_ledger import SharedLedger
from ...repo.old_snapshots.snapshots import Snapshots
from ...sandbox.git_hooks import CommitHooks
from ...state.recorder import Recorder
from ...step.model_call.outages import Outages
from ...step.resources.activity import Activity
from ...step.resources.change_tracker import Fingerprint
from ...step.resources.program_messages import ProgramMessages
from ...step.resources.prompt_limits import PromptLimits
from ...step.resources.run_context import RunContext
from ...step.resources.run_world import RunWorld
from ...step.resources.stall_watches import StallWatches
from ...step.resources.used_limits import UsedLimits
from ...step.tool_calls.background import Background
from ...step.tool_calls.commit_edits import Commits
from ..end.dependencies import Dependencies
from .tree_tools import text_edits, tool_context

if TYPE_CHECKING:
    from ...state.facts.run_facts import RunFacts
    from ...step.resources.models_in_use import ModelsInUse
    from ...step.resources.run_tree_files import Tree
    from ...tools.tool_context import ToolContext
    from ...verdict.scope.scope import Scope
    from .inputs import Inputs


@dataclass(frozen=True, slots=True, kw_only=True)
class Assembled:
    """A run before its first event."""

    ctx: RunContext
    messages: ProgramMessages
    dependencies: Dependencies
    notes: Sequence[str]
    """Lines for the user at the start of the run."""
    scope: Scope | None = None
    """What the run may change, or None if nothing decides about it, or the journal has it already."""


@dataclass(frozen=True, slots=True)
class _Committing:
    """The objects that make the commits of a run."""

    hooks: CommitHooks | None = None
    """Set by `--commit-hooks`."""
    commits: Commits | None = None
    """Set by `--commit`."""


def _committing(inputs: Inputs, tree: Tree, limits: UsedLimits, git_env: Mapping[str, str]) -> _Committing:
    """Return what makes the run's commits."""
    facts, spec = inputs.facts, inputs.journal.spec
    hooks = commits = None
    if spec.commit_hooks:
        hooks = CommitHooks(tree.sandbox, tree.workspace, tree.env, limits)
    if spec.commit:
        commits = Commits(facts, inputs.journal, git_env, hooks)
    return _Committing(hooks, commits)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Core:
    """The objects that most others need."""

    models: ModelsInUse
    limits: UsedLimits
    shared: SharedLedger
    activity: Activity
    events: Recorder
    messages: ProgramMessages
    dependencies: Dependencies


def build(inputs: Inputs, tree: Tree, models: ModelsInUse, git_env: Mapping[str, str] | None) -> Assembled:
    """Build the objects of the run. `git_env`: the environment of git, or None if nothing is to be committed."""
    journal, facts = inputs.journal, inputs.facts
    shared = SharedLedger.of_runs_above(facts.spec, facts.ledger)
    if shared.nearest is not None:
        journal.views.include(shared.nearest.views)
    limits = UsedLimits(facts, inputs.process.clock, models, shared)
    git = _Committing() if git_env is None else _committing(inputs, tree, limits, git_env)
    activity = Activity(facts, limits)
    listeners = [*([] if git.commits is None else [git.commits.on_event]), inputs.on_event, shared.on_event]
    events = Recorder(journal, facts, listeners)
    events.stages = tree.stage is not None
    core = _Core(
        models=models,
        limits=limits,
        shared=shared,
        activity=activity,
        events=events,
        messages=ProgramMessages(events, activity),
        dependencies=Dependencies(events, journal, facts, tree.workspace.root),
    )
    ctx = _ctx(inputs, tree, git, core)
    _remember_outputs(facts, ctx.tools)
    return Assembled(ctx=ctx, messages=core.messages, dependencies=core.dependencies, notes=())


def _ctx(inputs: Inputs, tree: Tree, git: _Committing, core: _Core) -> RunContext:
    journal, facts, clock = inputs.journal, inputs.facts, inputs.process.clock
    events = core.events
    background = Background(
        tree,
        journal,
        clock,
        live=journal.spec.gate.sandbox.live,
        events=events,
        messages=core.messages,
    )
    tools = tool_context(tree, journal, facts, core.models, background, core.limits)
    return RunContext(
        journal=journal,
        facts=facts,
        clock=clock,
        events=events,
        activity=core.activity,
        limits=core.limits,
        shared=core.shared,
        models=core.models,
        gate=tree.gate,
        workspace=tree.workspace,
        snapshots=Snapshots(inputs.store),
        files=tree.files,
        fingerprint=Fingerprint(facts, RunWorld(journal, facts, tree.workspace), tree.files),
        sandbox=tree.sandbox,
        tools=tools,
        calls=inputs.calls,
        guard=tree.guard,
        quotas=Quotas(_used(facts)),
        env=tree.env,
        background=background,
        stalls=StallWatches(),
        prompts=PromptLimits(),
        outages=Outages(clock),
        on_stall=inputs.order.changes.on_stall or journal.spec.on_stall,
        start_checks=core.dependencies,
        layers=tree.layers,
        units=tree.units,
        views=tree.views,
        no_views=tree.no_views,
        unit=tree.unit,
        stage=tree.stage,
        headless=inputs.order.is_headless,
        commits=git.commits,
        hooks=git.hooks,
        edits=text_edits(tree, journal, facts, tools),
    )


def _remember_outputs(facts: RunFacts, tools: ToolContext) -> None:
    """Register the outputs of earlier runners."""
    for name, sha in facts.manual.outputs.items():
        tools.register_named_output(name, sha)
    for sha in facts.outputs:
        tools.register_output(sha)
    for sha in facts.pages:
        tools.register_page(sha)


def _used(facts: RunFacts) -> dict[str, int]:
    """Count the calls that an earlier runner approved, by tool."""
    used: dict[str, int] = {}
    for action in facts.actions:
        if action.ok is not None and action.summary != OVER_QUOTA:
            used[action.tool] = used.get(action.tool, 0) + 1
    return used
