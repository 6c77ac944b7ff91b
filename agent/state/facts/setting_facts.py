"""The settings of a run that a person can change while it runs, derived from events."""

from __future__ import annotations

from dataclasses import dataclass, field

import msgspec

from ...protocol import (
    Budget,
    BudgetChanged,
    Event,
    GateMode,
    GateModeChanged,
    LimitsChanged,
    ModelSpec,
    ModelSwitched,
    Rule,
    RuleAdded,
    RuleRemoved,
    RunResumed,
    RunSpec,
    RunStarted,
    with_limits,
)


@dataclass(slots=True)
class Settings:
    """Limits, gate and model of a run: those of its spec, with the changes since."""

    spec: RunSpec
    """The spec at the start of the run, with the limits that were changed since."""
    budget: Budget = field(init=False)
    gate_mode: GateMode = field(init=False)
    rules: list[Rule] = field(init=False)
    """Rules of the policy, and rules that a person added to the run."""
    model: str = field(init=False)
    model_spec: ModelSpec = field(init=False)
    """The current model: the one in the spec, or the one that a person switched to."""

    def __post_init__(self) -> None:
        if hasattr(self, "budget"):  # it was read from a checkpoint
            return
        self.budget = self.spec.budget
        self.gate_mode = self.spec.gate.mode
        self.rules = list(self.spec.gate.rules)
        self.model = self.spec.model.name
        self.model_spec = self.spec.model

    def apply_settings(self, event: Event) -> None:
        """Fold the next event of the types in `SETTINGS_EVENTS`."""
        match event:
            case RunStarted(budget=budget, gate=mode):
                self.budget = budget
                if self.spec.gate.falls_back:
                    self.gate_mode = mode
            case BudgetChanged(budget=budget):
                self.budget = budget
            case LimitsChanged(limits=limits):
                self.spec = with_limits(self.spec, limits)
            case GateModeChanged(mode=mode):
                self.gate_mode = mode
            case RuleAdded(rule=rule):
                self.rules.append(rule)
            case RuleRemoved(rule=rule):
                self.rules = [each for each in self.rules if each != rule]
            case ModelSwitched(model=model, spec=spec):
                self.model = model
                self.model_spec = spec or self.model_spec
            case RunResumed(executor=str(executor)) if self.spec.finder is not None:
                finder = msgspec.structs.replace(self.spec.finder, executor=executor)
                self.spec = msgspec.structs.replace(self.spec, finder=finder)
            case _:
                pass


SETTINGS_EVENTS = frozenset[type[Event]](
    (RunStarted, RunResumed, BudgetChanged, LimitsChanged, GateModeChanged, RuleAdded, RuleRemoved, ModelSwitched)
)
"""The events that change `Settings`; all others are ignored."""
