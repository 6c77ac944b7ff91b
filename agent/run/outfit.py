"""Puts together what a run works with, from its spec and this machine."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path

from ..config import remember_rule
from ..gate import Gate
from ..journal import Journal
from ..journal.facts import fold
from ..model import KEY_NAMES, open_model
from ..protocol import Model, ModelSpec, Refusal, RunSpec, Stamped
from ..step import Kit
from ..stops import Quotas, default_guard
from ..tools import ToolContext
from ..workspace import Sandbox, Snapshots, SystemClock, Workspace, command_env
from .orders import Order


async def load_model(spec: ModelSpec) -> Model:
    """A model by its spec, with this process's keys. Raises Refusal, UserError."""
    return await open_model(spec, os.environ)


async def outfit(journal: Journal, order: Order, env: Mapping[str, str], on_event: Callable[[Stamped], None]) -> Kit:
    """Raises Refusal where the model cannot be reached or a limit cannot be kept."""
    spec = journal.spec
    facts = fold(spec, journal.read())
    model = await open_model(order.changes.model or spec.model, env)
    notes = _check_price(spec, model)
    await model.probe()
    store = journal.path.with_suffix(".snapshots")
    workspace = Workspace(Path(spec.workspace), private=[journal.path, store])
    sandbox = await Sandbox.detect(hide=[journal.path.parent])
    commands = command_env(env, provider_key_names=_key_names(spec.model))
    guard = default_guard(spec.predicates, spec.task, workspace.root)
    clock = SystemClock()
    snapshots = Snapshots(workspace, store)
    await snapshots.start()
    facts.world = snapshots.fingerprint() or None
    if snapshots.too_large:
        notes.append(snapshots.too_large)
    gate = Gate(
        workspace=workspace,
        keep=journal.keep,
        policy=spec.gate,
        guard=guard.matches,
        sandbox=sandbox.kind,
        attended=journal.watched,
        clock=clock,
        persist=lambda rule: remember_rule(workspace.root, rule, dict(env)),
    )
    gate.mode = order.changes.gate or facts.gate_mode
    tools = ToolContext(
        workspace=workspace,
        env=commands,
        sandbox=sandbox,
        keep=journal.keep,
        load=journal.blob,
        limit=_result_limit(model.window),
    )
    kit = Kit(
        journal=journal,
        facts=facts,
        clock=clock,
        model=model,
        gate=gate,
        workspace=workspace,
        snapshots=snapshots,
        sandbox=sandbox,
        tools=tools,
        guard=guard,
        quotas=Quotas(spec.gate.quotas),
        env=commands,
        watched=journal.watched,
        stall_ends=lambda: order.changes.on_stall or spec.on_stall or ("handoff" if journal.watched() else "stop"),
        on_event=on_event,
        notes=notes,
    )
    tools.seconds_left = kit.seconds_left
    for sha in facts.outputs:
        tools.remember(sha)
    return kit


def _result_limit(window: int) -> int:
    """Characters of a tool's result: a quarter of a small window at most, so that some rounds fit into it."""
    return max(1_000, min(12_000, window))


def _key_names(spec: ModelSpec) -> set[str]:
    """Variables that no command may see."""
    return {*(name for names in KEY_NAMES.values() for name in names), *([spec.key_from] if spec.key_from else [])}


def _check_price(spec: RunSpec, model: Model) -> list[str]:
    """A dollar limit that cannot be kept is refused where it was asked for, and dropped visibly where it was not."""
    if model.price is not None or spec.budget.usd is None:
        return []
    if spec.usd_asked:
        raise Refusal(
            f"no price is known for {model.name}, so the limit of {spec.budget.usd} USD cannot be kept: "
            "give one with --price IN/OUT (USD per million tokens), or --usd none"
        )
    return [
        f"no price is known for {model.name}: the USD limit is dropped, the token limit holds (--price IN/OUT sets one)"
    ]
