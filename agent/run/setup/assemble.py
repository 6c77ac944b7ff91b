"""Assemble what a run works with, from its spec and this machine."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from ...config import remember_rule
from ...facts.escalations import ESCALATE
from ...facts.facts import RunFacts
from ...gate import Gate
from ...journal import Journal
from ...model import NOBODY, NoModel, RemoteModel, open_model
from ...protocol import CONSTRAINED, Clock, Model, ModelSpec, Recipe, Refusal, Rule, Snapshotted, Stamped
from ...step import OVER_QUOTA, Kit
from ...step.constrained import Constrained
from ...step.tool_calls.commits import Commits, hooks_left_out
from ...stops import Guard, Quotas
from ...tools import Fetcher, ToolContext
from ...workspace import OWN_GIT, Leftovers, Sandbox, Snapshots, SystemClock, Workspace, command_env
from ...workspace.git.hooks import CommitHooks
from ..client.start_request import Order, ResumeChanges
from ..commands.reconfigure import OpenModel
from ..evidence import NO_GUARD, not_held_unguarded
from .attachments import check_first_images
from .small_window import refuse_window
from .surroundings import commands_env, detect_sandbox, missing_guarantees
from .tree_tools import guard_of, tool_context
from .worktree_preflight import check_ground, check_snapshots, lay_ground


async def load_model(spec: ModelSpec) -> Model:
    """Load the model of a spec, with this process's keys. Raises Refusal, UserError."""
    if spec.name == NOBODY:
        return NoModel()
    return await open_model(spec, os.environ)


@dataclass(frozen=True, slots=True)
class Outside:
    """What a run takes from its process: environment, models, signals."""

    open_model: OpenModel = load_model
    checked: Model | None = None
    """The model that was already probed."""
    clock: Clock = field(default_factory=SystemClock)
    env: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))


async def outfit(
    journal: Journal, facts: RunFacts, order: Order, outside: Outside, on_event: Callable[[Stamped], None]
) -> Kit:
    """Assemble the run. Raises Refusal or UserError if the model is unreachable or a limit cannot be kept."""
    spec, changes = journal.spec, order.changes
    asked = changes.model or facts.model_spec
    git_env = command_env(outside.env, more=OWN_GIT)
    ground = await check_ground(spec, facts, git_env)
    model = await outside.open_model(asked)
    check_first_images(journal, facts, order, model)
    notes = [*model.notes] if isinstance(model, RemoteModel) else []
    notes += _check_price(facts, order, model)
    if model is not outside.checked:
        await model.probe()
    if small := refuse_window(spec, model):
        raise Refusal(small)
    notes += [*ground, *await lay_ground(spec, facts, git_env)]
    store = journal.path.with_suffix(".snapshots")
    workspace = Workspace(Path(spec.workspace), private=[journal.path, store], leftovers=Leftovers(journal.path))
    notes += workspace.leftovers.sweep()
    rules = list(facts.rules)
    sandbox = await detect_sandbox(spec.gate, workspace.root, journal.path.parent, rules=lambda: rules)
    sandbox.leftovers = workspace.leftovers
    await sandbox.probe(workspace.root)
    if why := await asyncio.to_thread(sandbox.open_egress):
        notes.append(why)
    elif spec.gate.sandbox.hosts and not sandbox.network:
        notes.append(f"commands can reach only these hosts: {', '.join(spec.gate.sandbox.hosts)}")
    if sandbox.why_apart:
        notes.append(sandbox.why_apart)
    env = commands_env(outside.env, spec.gate, spec.model, asked)
    guard = guard_of(spec, workspace.root, env)
    snapshots = Snapshots(workspace, store)
    if spec.finder is None or spec.finder.recipe is Recipe.MIGRATE:  # other searches only read
        await snapshots.start()
        check_snapshots(spec, snapshots)
        if snapshots.too_large:
            notes.append(snapshots.too_large)
    else:
        snapshots.too_large = "this run changes no files"
    kit = Kit(
        journal=journal,
        facts=facts,
        clock=outside.clock,
        run_model=model,
        gate=_gate(journal, facts, order, workspace, guard, sandbox, outside, rules),
        workspace=workspace,
        snapshots=snapshots,
        sandbox=sandbox,
        tools=_tools_of_run(journal, facts, workspace, env, sandbox, model, rules),
        guard=guard,
        quotas=Quotas(lambda: facts.spec.gate.quotas, _used(facts)),
        env=env,
        watched=journal.watched,
        stall_ends=lambda: _stall_ends(journal, facts, changes),
        on_event=on_event,
        headless=not order.linger,
        notes=notes,
    )
    if missing := missing_guarantees(sandbox, kit.gate.rules):
        kit.notes.append(f"{sandbox.kind} does not guarantee (see `rundry doctor`): {', '.join(missing)}")
    await _prepare_commits(kit, git_env)
    if spec.edit_format == CONSTRAINED:
        kit.constrained = Constrained(workspace, facts, guard, kit.tools.kept_from)
    kit.tools.seconds_left = kit.seconds_for_work
    kit.tools.command_seconds = lambda: facts.spec.command_timeout
    await kit.guarded.start()
    for line in not_held_unguarded(kit):
        kit.guarded.say_not_held(line)
    if not facts.started:
        kit.notes += [*kit.guarded.not_held, *([NO_GUARD] if "none" in spec.predicates.guard else [])]
    snapshots.on_take = lambda tree: _record_snapshot(kit, tree)
    return kit


async def _prepare_commits(kit: Kit, git_env: Mapping[str, str]) -> None:
    """Set what makes the run's commits, and note which hooks they do not run."""
    facts, spec = kit.facts, kit.journal.spec
    if spec.commit_hooks:
        kit.hooks = CommitHooks(kit.sandbox, kit.workspace, lambda: kit.env, lambda: facts.spec.command_timeout)
    elif spec.commit or spec.interval is not None or spec.improve is not None:
        kit.notes += await hooks_left_out(kit.workspace.root, git_env)
    if spec.commit:
        kit.commits = Commits(spec, kit.journal, git_env, kit.hooks)
        kit.notes += await kit.commits.first_look()
        kit.on_event = kit.commits.hear(kit.on_event, lambda: facts.hands.wheel is not None)


def _stall_ends(journal: Journal, facts: RunFacts, changes: ResumeChanges) -> str:
    """Return what a stall leads to: a stronger model once, if one is set; then the user's choice."""
    spec = journal.spec
    if spec.escalate is not None and spec.finder is None and not facts.handing.escalated:
        return ESCALATE
    return changes.on_stall or spec.on_stall or ("handoff" if journal.watched() else "stop")


def _record_snapshot(kit: Kit, tree: str) -> None:
    """Record a snapshot if it shows something new, and always right before a command."""
    changes = kit.facts.changes
    if (tree or None) != changes.world or changes.is_look_due:
        kit.record(Snapshotted(world=tree or None))


def _gate(
    journal: Journal,
    facts: RunFacts,
    order: Order,
    workspace: Workspace,
    guard: Guard,
    sandbox: Sandbox,
    outside: Outside,
    rules: list[Rule],
) -> Gate:
    """Make the gate. `rules`: those of the run so far; the gate adds to this list, which the sandbox and the tools also
    see.
    """
    policy = journal.spec.gate
    gate = Gate(
        workspace=workspace,
        keep=journal.keep,
        policy=msgspec.structs.replace(policy, on_ask=order.changes.on_ask or policy.on_ask),
        guard=guard.matches,
        sandbox=sandbox.kind,
        attended=journal.watched,
        clock=outside.clock,
        persist=lambda rule: remember_rule(workspace.root, rule, dict(outside.env)),
    )
    gate.given_ids = lambda: facts.asking.proposal_ids
    gate.rules = rules
    gate.mode = order.changes.gate or facts.gate_mode
    gate.unsandboxed_ok = gate.unsandboxed_ok or order.changes.unsandboxed_ok
    return gate


def _tools_of_run(
    journal: Journal,
    facts: RunFacts,
    workspace: Workspace,
    env: Mapping[str, str],
    sandbox: Sandbox,
    model: Model,
    rules: list[Rule],
) -> ToolContext:
    tools = tool_context(journal, workspace, env, sandbox, model, rules)
    if journal.spec.finder is not None and journal.spec.finder.hosts:
        tools.fetcher = Fetcher(journal.spec.finder.hosts)
    for name, sha in facts.hands.outputs.items():
        tools.remember_as(name, sha)
    for sha in facts.outputs:
        tools.remember(sha)
    return tools


def _used(facts: RunFacts) -> dict[str, int]:
    """Count the calls that an earlier runner approved, by tool."""
    used: dict[str, int] = {}
    for action in facts.actions:
        if action.ok is not None and action.summary != OVER_QUOTA:
            used[action.tool] = used.get(action.tool, 0) + 1
    return used


def _check_price(facts: RunFacts, order: Order, model: Model) -> list[str]:
    """Refuse a dollar limit that cannot be kept if the user set it; else drop it with a note."""
    limit = order.changes.limits.get("usd", facts.budget.usd)
    if model.price is not None or not isinstance(limit, (int, float)):
        return []
    if facts.spec.usd_asked or "usd" in order.changes.limits:
        raise Refusal(unpriced(model.name, limit))
    return [
        f"no price is known for {model.name}: the USD limit is dropped, the token limit holds (--price IN/OUT sets one)"
    ]


def unpriced(name: str, limit: float) -> str:
    """Say why a limit in USD cannot be kept, and what to do."""
    return (
        f"no price is known for {name}, so the limit of {limit} USD cannot be kept: "
        "give one with --price IN/OUT (USD per million tokens), or --usd none"
    )
