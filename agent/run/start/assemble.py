"""Assemble the objects of a run, and make the checks that need them."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from ...gate.gate import Gate
from ...gate.guarded_paths import GuardedPaths
from ...gate.session_policy import GatedTree, SessionPolicy
from ...host.leftovers import Leftovers
from ...host.workspace_paths import Workspace
from ...journal.other_sessions import OtherSessions
from ...models.remote_model import RemoteModel
from ...protocol import GateMode, Model, Refusal, Rule, RunSpec
from ...sandbox.command_environment import OWN_GIT, command_env
from ...settings.remembered import RememberedRules
from ...step.resources.change_tracker import ChangeTracker
from ...step.resources.models_in_use import ModelsInUse
from ...step.resources.run_tree_files import Tree
from ...step.tool_calls.commit_edits import skipped_hooks_note
from ...verdict.checks.hidden_exit import hidden_exit_notes
from ...verdict.judge.judged_runs import is_judged
from ...verdict.judge.workspace_ledger import Ledger
from ...verdict.scope.start_scope import scope_of
from ..end.evidence_of_run import NO_GUARD, is_decided, not_held_here
from ..end.undecided import left_undecided
from .build_context import Assembled, build
from .check_images import check_first_images
from .layers_of_run import Views, close_layers, first_mode, layers_of, views_of
from .sandbox_of_run import detect_sandbox, hide_rules_of, missing_guarantees
from .second_check import refuse_open_holdout
from .servers_of_run import with_servers
from .small_window import refuse_window
from .stage_of_run import close_places, stage_of, view_of
from .start_progress import with_progress
from .variables_of_run import commands_env
from .worktree_preflight import check_run_folder, make_run_worktree

if TYPE_CHECKING:
    from ...journal.journal import Journal
    from ...sandbox.sandbox import Sandbox
    from ...state.facts.run_facts import RunFacts
    from ...step.resources.run_context import RunContext
    from ...verdict.scope.scope import Scope
    from ..client.start_request import Order
    from .inputs import Inputs
    from .layers_of_run import FoundLayers


async def assemble(inputs: Inputs) -> Assembled:
    """Assemble the run. Raises Refusal or UserError, for example if the model is unreachable."""
    spec, facts, git_env = inputs.journal.spec, inputs.facts, command_env(inputs.process.env, more=OWN_GIT)
    folder_notes = await check_run_folder(spec, facts, git_env)
    model, notes = await _checked_model(inputs)
    notes += [*folder_notes, *await make_run_worktree(spec, facts, git_env)]
    tree, env, tree_notes = await workspace_tree(inputs, stages=True)
    try:
        return await _assembled(
            inputs, tree, ModelsInUse(model, env, inputs.process.opener), [*notes, *tree_notes], git_env
        )
    except BaseException:
        await close_places(tree.stage, tree.layers, tree.units, tree.views)
        raise


async def _assembled(
    inputs: Inputs, tree: Tree, models: ModelsInUse, notes: list[str], git_env: Mapping[str, str]
) -> Assembled:
    """Build the objects of the run, and make the checks that need them. Raises Refusal, UserError."""
    spec, facts = inputs.journal.spec, inputs.facts
    await asyncio.to_thread(refuse_open_holdout, spec, tree)
    assembled = build(inputs, tree, models, git_env)
    ctx = assembled.ctx
    if missing := missing_guarantees(tree.sandbox, tree.gate.policy.rules):
        notes.append(f"{tree.sandbox.kind} does not guarantee (see `rundry doctor`): {', '.join(missing)}")
    if ctx.hooks is None and (spec.commit or spec.interval is not None or spec.improve is not None):
        notes += await skipped_hooks_note(tree.workspace.root, git_env)
    if ctx.commits is not None:
        notes += await ctx.commits.first_check()
    ctx.not_held.extend(not_held_here(spec, ctx.sandbox))
    if not facts.started and spec.predicates.setup is not None and not _uses_setup(spec, tree):
        notes.append("--setup is not used, because the result of this run is not judged")
    if not facts.started:
        notes += [*ctx.not_held, *([NO_GUARD] if "none" in spec.predicates.guard else [])]
        notes += await asyncio.to_thread(hidden_exit_notes, _checks_of(spec), ctx.workspace.root)
    scope = await with_progress(_scope(ctx), inputs.tell, f"reading what may change in {spec.workspace}")
    if scope is not None:
        notes += [scope.line(), *await asyncio.to_thread(left_undecided, ctx)]
    ctx, server_notes = await with_progress(with_servers(inputs, ctx), inputs.tell, "starting the MCP servers")
    return replace(assembled, ctx=ctx, notes=[*notes, *server_notes], scope=scope)


def _uses_setup(spec: RunSpec, tree: Tree) -> bool:
    return spec.loop.traits.has_children or (is_judged(spec) and tree.views is not None)


async def _scope(ctx: RunContext) -> Scope | None:
    """Return what the run may change, if a check decides about it and the journal does not have that yet."""
    facts = ctx.facts
    if facts.verdicts.scope is not None or facts.step or not is_decided(facts.spec):
        return None
    return await asyncio.to_thread(_read_scope, ctx)


def _read_scope(ctx: RunContext) -> Scope:
    """Read the scope from the workspace. Raises Refusal if the list of undecided changes is damaged."""
    try:
        undecided = Ledger(ctx.workspace.seen, ctx.journal.path.parent).texts_before()
    except (OSError, ValueError) as error:
        raise Refusal(str(error)) from error
    return scope_of(ctx.facts.spec, ctx.workspace.root, ctx.env, undecided=undecided)


def _checks_of(spec: RunSpec) -> list[str]:
    """Return the command lines whose exit code decides about the run or its items."""
    of_items = spec.finder.check if spec.finder is not None else None
    confirming = spec.predicates.confirm_with
    return [*spec.predicates.until, *([of_items] if of_items else []), *([confirming] if confirming else [])]


async def _checked_model(inputs: Inputs) -> tuple[Model, list[str]]:
    """Open the model and check that it answers. Returns it with notes. Raises Refusal, UserError."""
    facts, order, process = inputs.facts, inputs.order, inputs.process
    model = await process.opener.open(order.changes.model or facts.model_spec)
    check_first_images(inputs.journal, facts, order, model)
    notes = [*model.notes] if isinstance(model, RemoteModel) else []
    notes += _check_price(facts, order, model)
    if model is not process.checked:
        await model.probe()
    if small := refuse_window(inputs.journal.spec, model):
        raise Refusal(small)
    return model, notes


async def workspace_tree(inputs: Inputs, *, stages: bool = False) -> tuple[Tree, dict[str, str], list[str]]:
    """Return the run's tree, the environment of its commands, and notes. Raises Refusal.

    `stages`: it is the view of the stage if the run works in one.
    """
    journal, spec = inputs.journal, inputs.journal.spec
    private = [journal.path, inputs.store]
    scripts = [path for hook in spec.hooks for path in hook.scripts]
    rules = list(inputs.facts.rules)
    held_out = spec.predicates.holdout_files
    hide_rules = hide_rules_of(spec.gate, journal.path.parent, lambda: rules, held_out)
    workspace = Workspace(Path(spec.workspace), private, Leftovers(journal.path), scripts, hide_rules)
    notes = workspace.leftovers.sweep()
    detecting = detect_sandbox(
        spec.gate,
        workspace.root,
        journal.path.parent,
        rules=lambda: rules,
        held_out=held_out,
        early=inputs.process.tried,
    )
    sandbox = await with_progress(detecting, inputs.tell, "trying whether a sandbox works here")
    await with_progress(sandbox.probe(workspace.root), inputs.tell, f"starting the sandbox ({sandbox.kind})")
    notes += [*sandbox.notes, *sandbox.dependencies_note(workspace.root)]
    found = await layers_of(inputs, workspace, sandbox)
    try:
        return await _tree(inputs, workspace, sandbox, found, rules, notes, stages=stages)
    except BaseException:
        await close_layers(found.layers, found.units)
        raise


async def _tree(
    inputs: Inputs,
    workspace: Workspace,
    sandbox: Sandbox,
    found: FoundLayers,
    rules: list[Rule],
    notes: list[str],
    *,
    stages: bool,
) -> tuple[Tree, dict[str, str], list[str]]:
    spec, changes = inputs.journal.spec, inputs.order.changes
    mode, mode_notes = first_mode(inputs, sandbox, found)
    notes += mode_notes
    if why := await asyncio.to_thread(sandbox.open_egress):
        notes.append(why)
    elif spec.gate.sandbox.hosts and not sandbox.network:
        notes.append(f"commands can reach only these hosts: {', '.join(spec.gate.sandbox.hosts)}")
    if sandbox.why_no_loopback:
        notes.append(sandbox.why_no_loopback)
    models = (spec.model, changes.model or inputs.facts.model_spec)
    env = commands_env(inputs.process.env, spec.gate, *models, spec.web_search)
    facts = inputs.facts
    stage = await stage_of(facts, mode, found, workspace, sandbox) if stages else None
    needs_copy = stages or (found.layers is None and found.units is not None)
    views = Views(found.layers, "", found.why_none)
    if needs_copy:  # of the user's workspace
        views = await views_of(inputs, workspace, sandbox, found)
    notes += [views.line] if views.line else []
    if stage is not None:
        workspace, sandbox = view_of(stage)
    elif stages and spec.stage_patch is not None:
        notes.append(f"--stage-patch {spec.stage_patch} is not written, because this run is not staged")
    layers = found.layers if stage is None else None
    guard = GuardedPaths.of(spec.predicates)
    gate = _gate(inputs, workspace, guard, sandbox, rules, mode, found)
    files = ChangeTracker()
    tree = Tree(
        workspace=workspace,
        sandbox=sandbox,
        env=env,
        guard=guard,
        gate=gate,
        files=files,
        layers=layers,
        units=found.units,
        views=views.layers,
        no_views=views.why_none,
        why_no_layers=found.why_none,
        unit=None if stage is None else stage.unit,
        stage=stage,
    )
    return tree, env, notes


def _gate(
    inputs: Inputs,
    workspace: Workspace,
    guard: GuardedPaths,
    sandbox: Sandbox,
    rules: list[Rule],
    mode: GateMode,
    found: FoundLayers,
) -> Gate:
    """Make the gate. `rules`: the rules of the run so far. `mode`: the mode in which it begins.

    The gate adds new rules to this list, which the sandbox and the tools also use.
    """
    journal, facts, changes, process = inputs.journal, inputs.facts, inputs.order.changes, inputs.process
    wanted = journal.spec.gate
    policy = SessionPolicy(
        msgspec.structs.replace(
            wanted,
            mode=mode,
            on_ask=changes.on_ask or wanted.on_ask,
            unsandboxed_ok=wanted.unsandboxed_ok or changes.unsandboxed_ok,
        ),
        rules=rules,
        remembered=RememberedRules(workspace.root, process.env),
    )
    return Gate(
        GatedTree(
            workspace=workspace,
            guard=guard,
            sandbox=sandbox.kind,
            layers=found.layers is not None or found.units is not None,
            why_no_layers=found.why_none,
            starts=sandbox.is_confirmed or not wanted.falls_back,
            scope=journal.spec.predicates.scope,
            setup=journal.spec.predicates.setup or "",
            others=_others(journal),
        ),
        policy,
        blobs=journal.blobs,
        views=journal.views,
        clock=process.clock,
        requests=facts.requests,
    )


def _others(journal: Journal) -> OtherSessions | None:
    """Return the other sessions in the folder of the run, or None if only this run works in it."""
    spec = journal.spec
    if spec.home != spec.workspace:
        return None
    return OtherSessions(spec, journal.path, float(journal.meta("created") or 0))


def _check_price(facts: RunFacts, order: Order, model: Model) -> list[str]:
    """Check a limit in USD if the model has no price. Returns a note, or raises Refusal if the user set the limit."""
    limit = order.changes.limits.get("usd", facts.budget.usd)
    if model.price is not None or not isinstance(limit, (int, float)):
        return []
    if facts.spec.usd_asked or "usd" in order.changes.limits:
        raise Refusal(unpriced(model.name, limit))
    return [
        f"no price is known for {model.name}, so the USD limit is dropped; the token limit applies "
        "(set a price with --price IN/OUT)"
    ]


def unpriced(name: str, limit: float) -> str:
    """Return the message that a limit in USD cannot be enforced without a price."""
    return (
        f"no price is known for {name}, so the limit of {limit} USD cannot be enforced: "
        "give one with --price IN/OUT (USD per million tokens), or --usd none"
    )
