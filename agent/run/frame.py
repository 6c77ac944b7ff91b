"""The frame of a run that a person may move while it goes on: limits, model, the gate's mode."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from math import isfinite

from ..journal.facts import replace_budget
from ..protocol import (
    BudgetChanged,
    GateMode,
    GateModeChanged,
    ModelSpec,
    ModelSwitched,
    RundryError,
)
from ..protocol import Model as ModelPort
from .conduct import Conduct

OpenModel = Callable[[ModelSpec], Awaitable[ModelPort]]
LIMITS = ("steps", "tokens", "usd", "seconds", "deadline")


def set_limit(run: Conduct, name: str, value: float | None) -> str | None:
    """Takes effect before the next call (REQUIREMENTS 3.8)."""
    if name not in LIMITS:
        return f"there is no limit `{name}`; there are {', '.join(LIMITS)}"
    if value is not None and not (isfinite(value) and value >= 0):
        return f"a limit is a number of 0 or more, or none; not {value}"
    model = run.kit.model
    if name == "usd" and value is not None and model.price is None:
        return f"no price is known for {model.name}, so a limit in USD cannot be kept"
    run.kit.record(BudgetChanged(budget=replace_budget(run.facts.budget, name, value)))
    return None


async def switch_model(run: Conduct, spec: ModelSpec, open_model: OpenModel) -> str | None:
    """The next call goes to that model; the conversation is carried over."""
    try:
        model = await open_model(spec)
        await model.probe()
    except RundryError as error:
        return str(error)
    limit = run.facts.budget.usd
    if model.price is None and limit is not None and run.facts.spec.usd_asked:
        return f"no price is known for {model.name}, so the limit of {limit} USD cannot be kept: lift it first"
    run.kit.use(model, key_from=spec.key_from)
    run.kit.record(switched(model, spec))
    if model.price is None and limit is not None:
        run.kit.record(BudgetChanged(budget=replace_budget(run.facts.budget, "usd", None), by="program"))
    run.unpause()
    return None


def switched(model: ModelPort, spec: ModelSpec) -> ModelSwitched:
    """The event of a change of models."""
    return ModelSwitched(
        model=model.name, local=model.local, window=model.window, priced=model.price is not None, spec=spec
    )


def set_mode(run: Conduct, mode: GateMode, *, unsandboxed_ok: bool) -> str | None:
    """What passes the gate without a person, from the next proposal on."""
    gate = run.kit.gate
    if mode is GateMode.AUTO and run.kit.sandbox.kind is None and not (unsandboxed_ok or gate.unsandboxed_ok):
        return "no sandbox works here: in `auto` commands would run unsandboxed; confirm it to switch"
    gate.mode = mode
    gate.unsandboxed_ok = gate.unsandboxed_ok or unsandboxed_ok
    run.kit.record(GateModeChanged(mode=mode))
    return None
