"""Show events of the run as a whole: start, changed limits, waiting, end."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, assert_never

from ....protocol import (
    Budget,
    BudgetChanged,
    GateModeChanged,
    LimitsChanged,
    LimitValue,
    McpServerChanged,
    ModelSwitched,
    PassFinished,
    PassKept,
    PassStarted,
    PatchKept,
    Paused,
    RuleAdded,
    RuleRemoved,
    RunEnded,
    RunResumed,
    RunStarted,
    Sleeping,
    Stamped,
    TelemetryFailed,
    Unpaused,
    Waiting,
    Woken,
    part_with,
    result_words,
)
from ....protocol.text.counts import duration, first_names, plural
from ...common.void_end import CHAT_ENDED, is_ended_chat
from ...search.finder_facts import FinderFacts
from .change_blocks import add, end_all_blocks, note, text_digest
from .short_numbers import clock, money, short
from .show_passes import show_pass

if TYPE_CHECKING:
    from ..view_state import ViewState

_LONG_REST = 60.0
"""Seconds from which the line of a resumed run says how long it rested."""
_NAMED = 3
"""Changed files that this line names."""

RunFrame = (
    RunStarted
    | RunResumed
    | PassStarted
    | PatchKept
    | PassKept
    | PassFinished
    | ModelSwitched
    | BudgetChanged
    | LimitsChanged
    | GateModeChanged
    | RuleAdded
    | RuleRemoved
    | Paused
    | Unpaused
    | Waiting
    | Sleeping
    | Woken
    | McpServerChanged
    | TelemetryFailed
    | RunEnded
)
_Change = ModelSwitched | BudgetChanged | LimitsChanged | GateModeChanged | RuleAdded | RuleRemoved


def show_run(state: ViewState, stamped: Stamped, event: RunFrame) -> None:
    """Show an event of the run as a whole."""
    match event:
        case RunStarted():
            _started(state, stamped, event)
        case RunResumed():
            _resumed(state, stamped, event)
        case RunEnded():
            _ended(state, stamped, event)
        case PassStarted() | PassFinished() if state.finder is None:
            show_pass(state, stamped, event)
        case PatchKept() | PassKept():
            show_pass(state, stamped, event)
        case PassStarted() | PassFinished():
            _pass(state, stamped, event)
        case ModelSwitched() | BudgetChanged() | LimitsChanged() | GateModeChanged() | RuleAdded() | RuleRemoved():
            _changed(state, stamped, event)
        case Paused() | Unpaused() | Waiting() | Sleeping() | Woken():
            _show_waiting(state, stamped, event)
        case McpServerChanged():
            _server(state, stamped, event)
        case TelemetryFailed():
            note(state, stamped, event.line)
        case _:
            assert_never(event)


def _server(state: ViewState, stamped: Stamped, event: McpServerChanged) -> None:
    """Note a change of an MCP server; its state at the start is among the notes of the run."""
    if event.name in state.mcp and (event.detail or event.state != "ready"):
        note(
            state,
            stamped,
            f"MCP server {event.name}{'' if event.state == 'ready' else f' {event.state}'}: {event.detail}",
        )
    state.mcp[event.name] = event


def _started(state: ViewState, stamped: Stamped, event: RunStarted) -> None:
    state.run_id, state.loop, state.task = event.run_id, event.loop, event.task
    state.workspace, state.journal = event.workspace, event.journal
    state.model, state.local, state.window, state.priced = event.model, event.local, event.window, event.priced
    state.effort = event.effort or ""
    state.sees_images = event.sees_images
    state.sandbox, state.network = event.sandbox, event.network
    state.not_held, state.direct = event.not_held, event.direct
    state.gate_mode, state.budget = event.gate, event.budget
    if event.finder is not None:
        state.search, state.finder = event.finder, state.finder or FinderFacts.of(event.finder)
    clock = event.interval or event.repeat
    state.every = clock.every if clock is not None else None
    state.improve, state.most_restarts = event.improve, event.restarts
    state.edit_format, state.edit_format_why = event.edit_format, event.edit_format_why
    state.child_count, state.parent = len(event.fix.targets) if event.fix is not None else 0, event.parent
    if event.task:
        add(state, stamped, "task", text=event.task)
    if event.instructions:
        note(state, stamped, f"instructions from {event.instructions}")
    if event.skills:
        note(state, stamped, f"skills: {', '.join(event.skills)}")
    for line in event.notes:
        note(state, stamped, line)


def _resumed(state: ViewState, stamped: Stamped, event: RunResumed) -> None:
    calls = dict(state.at_call)
    state.busy.clear()  # the time since the runner died
    end_all_blocks(state)
    state.at_call.update(calls)  # their results are reported now
    state.outcome, state.paused, state.sleeping, state.retrying = None, False, None, None
    state.not_held, state.direct = event.not_held, event.direct
    note(state, stamped, _resumed_words(event), detail="\n".join(event.changed))
    for line in event.notes:
        note(state, stamped, line)


def _resumed_words(event: RunResumed) -> str:
    """Return one line: after how long, and what is different."""
    parts = ["resumed" + (f" after {duration(event.rested)}" if event.rested >= _LONG_REST else "")]
    if event.changed:
        files = plural(len(event.changed), "file")
        parts.append(f"{files} changed since: {first_names(event.changed, _NAMED)}")
    if event.head:
        parts.append(f"git HEAD moved {'..'.join(event.head)}")
    return " · ".join(parts)


def _ended(state: ViewState, stamped: Stamped, event: RunEnded) -> None:
    state.count_exact(stamped.at, state.busy)
    end_all_blocks(state)
    state.sleeping = None
    answer = event.answer or ""
    text = "" if text_digest(answer) == state.last_text else answer  # the transcript already ends with this text
    if words := result_words(event.evidence, event.approved_by):
        note(state, stamped, f"evidence: {words}")
    block = add(state, stamped, "outcome", text=text, title=f"{event.reason.words}  {event.detail}")
    files = f"{plural(len(event.files_changed), 'file')} changed" if event.files_changed else ""
    if is_ended_chat(state.loop, event):
        block.title, block.right = "  ".join(CHAT_ENDED), files
    else:
        block.status = "passed" if event.complete else "failed"
        block.right = ", ".join(filter(None, ["complete" if event.complete else "not complete", files]))
    block.seconds = event.seconds
    state.outcome = event


def _pass(state: ViewState, stamped: Stamped, event: PassStarted | PassFinished) -> None:
    by_items = state.finder is not None and not state.finder.lenses
    if isinstance(event, PassStarted) or by_items:
        return
    if event.dry_passes:
        state.dry = (event.dry_streak, event.dry_passes)
        note(
            state, stamped, f"pass {event.number}: {event.new} new", right=f"dry {event.dry_streak}/{event.dry_passes}"
        )


def _changed(state: ViewState, stamped: Stamped, event: _Change) -> None:
    match event:
        case ModelSwitched():
            state.model, state.local, state.priced = event.model, event.local, event.priced
            state.window, state.sees_images = event.window, event.sees_images
            state.quoted = None
            state.effort = (event.spec.effort if event.spec is not None else None) or ""
            effort = f" {state.effort}" if state.effort else ""
            note(
                state,
                stamped,
                f"model is now {event.model}{effort}{_cold_cache_words(event)}",
                right=_unless_person(event.by),
            )
        case BudgetChanged():
            note(state, stamped, "limits: " + _limits(event.budget), right=_unless_person(event.by))
            state.budget = event.budget
        case LimitsChanged():
            note(state, stamped, "limits: " + _limit_words(event.limits), right=_unless_person(event.by))
            _take_limits(state, event.limits)
        case GateModeChanged():
            state.gate_mode = event.mode
            note(state, stamped, f"gate is now {event.mode.value}", right=_unless_person(event.by))
        case RuleAdded(rule=rule) | RuleRemoved(rule=rule):
            is_new = isinstance(event, RuleAdded)
            if rule.verdict == "allow":
                others = [each for each in state.allowed if each != rule]
                state.allowed = [*others, rule] if is_new else others
            what = rule.path or rule.command or rule.host or rule.tool or "everything"
            done = "added" if is_new else "removed"
            note(state, stamped, f"rule {done}: {rule.verdict} {what}", right=_unless_person(event.by))
        case _:
            assert_never(event)


def _take_limits(state: ViewState, limits: Mapping[str, LimitValue]) -> None:
    if state.search is not None:
        state.search = part_with(state.search, "finder", limits)
        state.dry = (state.dry[0], state.search.dry_passes) if state.dry is not None else None
    if state.improve is not None:
        state.improve = part_with(state.improve, "improve", limits)


def _show_waiting(state: ViewState, stamped: Stamped, event: Paused | Unpaused | Waiting | Sleeping | Woken) -> None:
    match event:
        case Paused():
            state.paused = True
            note(state, stamped, "paused" + (f": {event.why}" if event.why else ""), right=_unless_person(event.by))
        case Unpaused():
            state.paused = False
            if state.waiting != "message":  # a chat at rest still waits for its next message
                state.waiting = ""
            note(state, stamped, "continues", right=_unless_person(event.by))
        case Waiting():
            state.waiting, state.activity = event.why, ""
            state.busy.halt(stamped.at)
            if event.detail:
                on = "a message continues with a new budget, /limit with a higher limit"
                if event.detail.startswith("quota: "):
                    on = "a message continues, but the quota still applies: it is in the config, under [quota]"
                add(state, stamped, "stall", text=on, title=event.detail)
        case Sleeping():
            state.sleeping, state.asleep_since, state.activity = event, stamped.at, ""
            note(state, stamped, f"sleeps {clock(event.seconds)}: {event.why}{_delay_words(event)}")
        case Woken():
            state.sleeping = None
            note(state, stamped, "woke", right="" if event.by == "clock" else f"by {event.by}")
        case _:
            assert_never(event)


def _delay_words(sleep: Sleeping) -> str:
    """Describe the requested delay, if it differs, and the cost of reading the prompt with a warm and a cold cache."""
    parts: list[str] = []
    if abs(sleep.asked - sleep.seconds) >= 1:
        how = {"inside": ", moved inside the warm cache", "out": ", moved out: a cold read has to pay"}
        parts.append(f"asked {clock(sleep.asked)}{how.get(sleep.moved, '')}")
    if sleep.warm_usd is not None and sleep.cold_usd is not None:
        parts.append(f"a read costs {money(sleep.warm_usd)} warm, {money(sleep.cold_usd)} cold")
    return "".join(f"; {part}" for part in parts)


def _limits(budget: Budget) -> str:
    steps = "none" if budget.steps is None else str(budget.steps)
    tokens = "none" if budget.tokens is None else short(budget.tokens)
    usd = "none" if budget.usd is None else f"{budget.usd:.2f}"
    seconds = "none" if budget.seconds is None else clock(budget.seconds)
    return f"steps {steps}, tokens {tokens}, usd {usd}, time {seconds}"


def _limit_words(limits: Mapping[str, LimitValue]) -> str:
    shown = {name: value if not isinstance(value, float) else f"{value:g}" for name, value in limits.items()}
    return ", ".join(f"{name} {'none' if value is None else value}" for name, value in shown.items())


def _cold_cache_words(event: ModelSwitched) -> str:
    if not event.prompt_tokens:
        return ""
    cost = "" if not event.cold_usd else f" for {money(event.cold_usd)} USD"
    return f": it reads {short(event.prompt_tokens)} tokens again{cost}"


def _unless_person(by: str) -> str:
    return "" if by == "person" else f"by {by}"
