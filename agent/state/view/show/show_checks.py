"""Show checks, predicates and scores."""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never, get_args

from ....protocol import (
    CheckAccepted,
    CheckFinished,
    CheckStarted,
    FilesDiagnosed,
    HookRan,
    PredicateJudged,
    ScopeSet,
    ScoreMeasured,
    ScoreNotMeasured,
    Stamped,
)
from ....protocol.text.counts import plural
from ....protocol.text.hook_words import hook_failure, hook_name, hook_subject
from ....protocol.text.shorten_text import line_cut
from .change_blocks import add, note, touch
from .show_passes import show_no_score, show_score

if TYPE_CHECKING:
    from ..view_state import ViewState

CheckEvent = (
    HookRan
    | FilesDiagnosed
    | ScopeSet
    | CheckStarted
    | CheckAccepted
    | CheckFinished
    | PredicateJudged
    | ScoreMeasured
    | ScoreNotMeasured
)
_COMMAND = 30
"""Characters of the command of a hook right of its notice."""
CHECKS: tuple[type[CheckEvent], ...] = get_args(CheckEvent)


def show_check(state: ViewState, stamped: Stamped, event: CheckEvent) -> None:
    """Show an event of a check, a predicate or a score."""
    match event:
        case CheckStarted():
            add(state, stamped, "check", title=f"check {event.command}", status="running")
            state.growing[stamped.work, "check"] = len(state.blocks) - 1
            state.activity, state.waiting = "running", ""
            state.busy.start(stamped.at)
        case CheckAccepted():
            note(state, stamped, f"the result of `{event.command}` was accepted", right=event.by)
        case CheckFinished():
            _check_finished(state, stamped, event)
        case PredicateJudged():
            block = add(state, stamped, "check", title=event.name, status="passed" if event.passed else "failed")
            block.right = event.detail
        case ScopeSet():
            state.scope = event.listing
            if event.added:
                note(state, stamped, f"may change now, too: {', '.join(event.added)}", right=event.by)
        case HookRan():
            _hook_ran(state, stamped, event)
        case FilesDiagnosed():
            _files_diagnosed(state, stamped, event)
        case ScoreMeasured():
            show_score(state, stamped, event)
        case ScoreNotMeasured():
            show_no_score(state, stamped, event)
        case _:
            assert_never(event)


def _hook_ran(state: ViewState, stamped: Stamped, event: HookRan) -> None:
    """Show a hook that refused or failed, and what it tells the person. Any other is only in the journal."""
    name, about = hook_name(event), hook_subject(event)
    if event.result == "refused":
        note(state, stamped, f"{name} refused {about}: {event.reason}")
    elif event.result == "failed":
        block = add(state, stamped, "fault", title=f"{name} failed", text=f"{about}: {hook_failure(event)}")
        block.detail = "\n".join([event.command, event.reason])
    if event.notice:
        note(state, stamped, event.notice, right=f"hook `{line_cut(event.command, _COMMAND)}`")


def _files_diagnosed(state: ViewState, stamped: Stamped, event: FilesDiagnosed) -> None:
    """Show new problems in one line, with all of them below it, and why a tool did not look."""
    for line in event.notes:
        note(state, stamped, line)
    if event.problems:
        first = event.problems[0]
        count = plural(len(event.problems) + event.left_out, "new problem")
        lines = [f"{one.path}:{one.line}: {one.message} ({one.tool})" for one in event.problems]
        more = [f"and {event.left_out} more"] if event.left_out else []
        tools = ", ".join(dict.fromkeys(one.tool for one in event.problems))
        text = f"{count}: {first.path}:{first.line} {first.message}"
        note(state, stamped, text, right=tools, detail="\n".join([*lines, *more]))


def _check_finished(state: ViewState, stamped: Stamped, event: CheckFinished) -> None:
    if stamped.work is None and event.command not in state.goals:
        state.goals.append(event.command)
    before = state.check.failing if state.check is not None else None
    state.check, state.activity = event, ""
    if state.failing_first is None:
        state.failing_first = event.failing
    index = state.growing.pop((stamped.work, "check"), None)
    if index is None:
        add(state, stamped, "check", title=f"check {event.command}")
        index = len(state.blocks) - 1
    state.printed.pop(index, None)
    block = touch(state, index)
    block.status, block.right, block.seconds = (
        "passed" if event.passed else "failed",
        _count(event, before),
        event.seconds,
    )
    block.detail = event.output
    if event.baseline:
        state.busy.clear()  # it does not belong to a step and is not charged
    state.busy.halt(stamped.at)


def _count(event: CheckFinished, before: int | None) -> str:
    """Describe the result: `3 failing, 14 before`, a timeout, or a check that did not start."""
    if event.error is not None:
        return f"did not start: {event.error}"
    if event.timed_out:
        return "timed out"
    if event.suspect is not None:
        return f"suspect: {event.suspect}"
    if event.passed:
        return "passed" if not before else f"passed, {before} failing before"
    if event.failing is None:
        return "failed" if event.exit_code is None else f"exit {event.exit_code}"
    return f"{event.failing} failing" + (f", {before} before" if before not in (None, event.failing) else "")
