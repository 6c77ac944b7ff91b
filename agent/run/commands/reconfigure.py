"""Change the limits, the model, the rules and the gate's mode of a running run."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite
from typing import TYPE_CHECKING

import msgspec

from ...budget.admission import replace_budget
from ...gate.rule_lint import rule_problem
from ...models.remote_model import RemoteModel
from ...protocol import (
    AUTO_FORMAT,
    BUDGET,
    BudgetChanged,
    EditFormat,
    EditFormatChosen,
    GateMode,
    GateModeChanged,
    LimitsChanged,
    LimitValue,
    Model as ModelPort,
    ModelQuoted,
    ModelSpec,
    ModelSwitched,
    Prompted,
    Rule,
    RuleAdded,
    RuleRemoved,
    RundryError,
    SetGateMode,
    SwitchedBy,
    Tokens,
    UserError,
    bill,
    edit_format_problem,
    limit_problem,
)
from ...protocol.tools.traits import TOOL_TRAITS
from ...settings.default_limits import read_limit
from ...settings.scope_globs import scope_problem
from ...step.formats.choose_format import CHOSEN, choose_format
from ...step.model_call.images_shown import with_accepted_images
from ...step.prompt.system_prompt import system_prompt
from ...tools.tool_table import tool_specs
from ...verdict.scope.run_scope import record_scope
from ..start.small_window import refuse_window

if TYPE_CHECKING:
    from ...gate.gate import Gate
    from ...state.facts.run_facts import RunFacts
    from ...state.recorder import Recorder
    from ...step.resources.run_context import RunContext
    from ..live.live_run import LiveRun


def set_limit(run: LiveRun, name: str, value: LimitValue) -> str | None:
    """Set a limit. It takes effect before the next call (docs/requirements.md 3.8)."""
    if name not in BUDGET:
        return _set_other(run, name, value)
    if value is not None and not (isinstance(value, (int, float)) and isfinite(value) and value >= 0):
        return f"invalid limit {value}: give a number of 0 or more, or none"
    model = run.ctx.models.current
    if name == "usd" and value is not None and model.price is None:
        return f"no price is known for {model.name}, so a limit in USD cannot be enforced: set a limit of tokens"
    run.ctx.events.record(BudgetChanged(budget=replace_budget(run.facts.budget, name, value)))
    return None


def _set_other(run: LiveRun, name: str, value: LimitValue) -> str | None:
    try:
        limits = {name: read_limit(name, value, TOOL_TRAITS)}
    except UserError as error:
        return str(error)
    if why := limit_problem(run.facts.spec, name):
        return why
    run.ctx.events.record(LimitsChanged(limits=limits))
    if run.finder is not None:
        run.pool.ask_loop_again()
    return None


async def switch_model(run: LiveRun, spec: ModelSpec, *, ask_above: float | None = None) -> str | None:
    """Switch the model from the next call on. The conversation is kept.

    `ask_above`: if reading the conversation without a cache costs more USD than this, or an unknown amount, record
    only the price. Returns None, or why the model cannot be used.
    """
    model = await _open_usable(run, spec)
    if isinstance(model, str):
        return model
    tokens, usd = cold_cache_cost(run.tools, run.facts, model)
    if ask_above is not None and tokens and (usd is None or usd > ask_above):
        warm = bill(run.ctx.models.of_run.price, Tokens(in_=tokens, cached=tokens))
        run.ctx.events.record(ModelQuoted(model=spec.name, prompt_tokens=tokens, cold_usd=usd, warm_usd=warm))
        return None
    _apply_switch(run, model, spec, by="person")
    run.pauses.unpause()
    return None


async def hand_to_model(run: LiveRun, spec: ModelSpec, *, by: SwitchedBy) -> str | None:
    """Switch the model by a rule, and reset the stall counters. Returns None, or why the model cannot take over."""
    model = await _open_usable(run, spec)
    if isinstance(model, str):
        return model
    if spec == run.facts.model_spec:
        return f"{spec.name} is already in use"
    _apply_switch(run, model, spec, by=by)
    run.ctx.stalls.of(None).reset_after_message()
    return None


def cold_cache_cost(tools: Sequence[str], facts: RunFacts, model: ModelPort) -> tuple[int, float | None]:
    """Return the tokens of the conversation as this model counts them, and the USD of reading them without a cache."""
    messages = with_accepted_images(model, facts, facts.main).current()
    tokens = model.count(messages, tool_specs(tools)) if messages else 0
    return tokens, bill(model.price, Tokens(in_=tokens))


async def _open_usable(run: LiveRun, spec: ModelSpec) -> ModelPort | str:
    """Return the model if it answers and its price allows the USD limit of the run; else why it cannot be used."""
    facts = run.facts
    try:
        model = await run.ctx.models.open(spec)
        await model.probe()
    except RundryError as error:
        return str(error)
    if isinstance(model, RemoteModel) and model.notes:
        return model.notes[0]
    if small := refuse_window(facts.spec, model):
        return small
    limit = facts.budget.usd
    if model.price is None and limit is not None and facts.spec.usd_asked:
        return f"no price is known for {model.name}, so {limit} USD cannot be enforced: remove the limit first"
    return model


def _apply_switch(run: LiveRun, model: ModelPort, spec: ModelSpec, *, by: SwitchedBy) -> None:
    event = model_switched(run.tools, run.facts, model, spec, by=by)
    run.ctx.models.switch(model, key_from=spec.key_from)
    run.ctx.events.record(event)
    limit = run.facts.budget.usd
    if model.price is None and limit is not None:
        run.ctx.events.record(BudgetChanged(budget=replace_budget(run.facts.budget, "usd", None), by="program"))
    if run.facts.answers.is_automatic:
        _choose_format_again(run)


def model_switched(
    tools: Sequence[str], facts: RunFacts, model: ModelPort, spec: ModelSpec, *, by: SwitchedBy = "person"
) -> ModelSwitched:
    """Return the event of a model switch, with the price of reading the conversation without a cache."""
    tokens, usd = cold_cache_cost(tools, facts, model)
    return ModelSwitched(
        model=model.name,
        local=model.local,
        window=model.window,
        priced=model.price is not None,
        sees_images=model.sees_images,
        by=by,
        spec=spec,
        prompt_tokens=tokens,
        cold_usd=usd,
    )


def set_edit_format(run: LiveRun, form: EditFormat) -> str | None:
    """Choose the edit format from the next answer on. Returns None, or why this run cannot use it."""
    spec, answers, events = run.facts.spec, run.facts.answers, run.ctx.events
    if run.facts.ended is not None:
        return "the run has ended: resume it, then choose the edit format"
    if problem := edit_format_problem(spec, form):
        return problem
    if form == (AUTO_FORMAT if answers.is_automatic else answers.format):
        return f"the edit format is {form} already"
    used, why = choose_format(msgspec.structs.replace(spec, edit_format=form), run.ctx.models.current)
    with run.ctx.events.together():
        _describe_format(run, used)
        events.record(EditFormatChosen(format=form, why=CHOSEN, by="person"))
        if form == AUTO_FORMAT:
            events.record(EditFormatChosen(format=used, why=why))
    return None


def _choose_format_again(run: LiveRun) -> None:
    """Let the edit format follow the present model."""
    spec = run.facts.spec
    used, why = choose_format(msgspec.structs.replace(spec, edit_format=AUTO_FORMAT), run.ctx.models.current)
    if edit_format_problem(spec, AUTO_FORMAT) is None and used != run.facts.answers.format:
        _describe_format(run, used)
        run.ctx.events.record(EditFormatChosen(format=used, why=why))


def _describe_format(run: LiveRun, form: EditFormat) -> None:
    """Record the system prompt of an edit format, if it differs from the present one."""
    spec, now = run.facts.spec, run.facts.answers.format
    if system_prompt(spec, form) != system_prompt(spec, now):
        run.ctx.events.record(Prompted(kind="system", text=system_prompt(spec, form)))


def add_rule(events: Recorder, gate: Gate, rule: Rule) -> str | None:
    """Add a rule that denies. Commands that are already running are not affected."""
    if rule.verdict != "deny":
        return "only a rule that denies can be added to a run"
    if wrong := rule_problem(rule):
        return wrong
    if rule in gate.policy.rules:
        return "the run has this rule already"
    events.record(RuleAdded(rule=rule))
    gate.restrict(rule)
    return None


def remove_rule(events: Recorder, gate: Gate, facts: RunFacts, rule: Rule) -> str | None:
    """Remove a rule that the user added for this session, from the next proposal on.

    The spec of a child run of a chat has the rules that its chat had then, also those of its session.
    """
    is_called = facts.spec.parent is not None and facts.spec.answers_in_text
    if rule.verdict != "allow" or rule not in facts.rules or (rule in facts.spec.gate.rules and not is_called):
        return "only a rule that was allowed for this session can be removed"
    events.record(RuleRemoved(rule=rule))
    gate.policy.remove(rule)
    return None


def set_mode(run: LiveRun, command: SetGateMode) -> str | None:
    """Set the gate's mode, here and in the running child, from the next proposal on, or also for those that wait."""
    mode, gate, unsandboxed_ok = command.mode, run.gate, command.unsandboxed_ok
    if mode is GateMode.AUTO and run.ctx.sandbox.kind is None and not (unsandboxed_ok or gate.policy.unsandboxed_ok):
        return "no sandbox works here, so commands would run unsandboxed in `auto`: confirm this to switch"
    if mode is GateMode.STAGE and run.ctx.stage is None:
        return "a stage begins with a run: start one with --gate stage, or resume this one with it"
    gate.policy.set_mode(mode, unsandboxed_ok=unsandboxed_ok)
    run.ctx.events.record(GateModeChanged(mode=mode, channel=command.channel))
    if command.settle:
        gate.decide_by_mode()
    if run.children is not None:
        run.children.forward(command)
    return None


def add_scope(ctx: RunContext, globs: Sequence[str]) -> str | None:
    """Let the run change more files. Verdicts about the old scope no longer count."""
    scope = ctx.scope
    if scope is None:
        return "this run has no scope: nothing decides when it is done"
    if refused := scope_problem(globs):
        return refused
    known = ctx.facts.verdicts.scope
    assert known is not None  # `scope` is read from it
    new = scope.with_added(globs)
    record_scope(ctx.journal, ctx.events, new, in_copy=known.in_copy, no_views=known.no_views, added=globs)
    return None
