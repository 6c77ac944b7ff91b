"""Show the judge of a result (decision 0040)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, assert_never, get_args

from ....protocol import (
    HoldoutPrepared,
    Judged,
    JudgementAccepted,
    JudgePlanned,
    JudgePreparing,
    JudgeStarted,
    JudgeWhy,
    PlantPrepared,
    SetupPrepared,
    Stamped,
    UndecidedAccepted,
    UndecidedRejected,
    some_files,
)
from ....protocol.events.judged import JudgeEvent
from ....protocol.text.counts import plural
from .change_blocks import add, note, touch

if TYPE_CHECKING:
    from ..view_state import ViewState

JUDGING: tuple[type[JudgeEvent], ...] = get_args(JudgeEvent)

_SHORT: Mapping[JudgeWhy, str] = {
    "": "passed",
    "undecided": "needs undecided changes",
    "conditions": "fails in a clean place",
    "suspect": "suspect",
    "unknown": "not judged",
    "moved": "not judged",
    "budget": "no time left",
    "holdout": "second check fails",
}


def show_judging(state: ViewState, stamped: Stamped, event: JudgeEvent) -> None:
    """Show an event of the judge."""
    match event:
        case JudgePreparing():
            add(state, stamped, "check", title=_preparing(event), status="running")
            state.growing[None, "preparing"] = len(state.blocks) - 1
            state.activity, state.waiting = "running", ""
            state.busy.start(stamped.at)
        case PlantPrepared() | HoldoutPrepared() | SetupPrepared():
            _prepared(state, stamped, event)
        case JudgePlanned(line=line):
            note(state, stamped, line)
        case JudgeStarted():
            add(state, stamped, "check", title=_title(event), status="running")
            state.growing[None, "judge"] = len(state.blocks) - 1
            state.activity, state.waiting = "judging", ""
            state.busy.start(stamped.at)
        case Judged():
            index = state.growing.pop((None, "judge"), None)
            if index is None:
                add(state, stamped, "check", title="once more, without undecided changes")
                index = len(state.blocks) - 1
            state.printed.pop(index, None)
            block = touch(state, index)
            block.status, block.seconds = "passed" if event.passed else "failed", event.seconds
            block.right = _SHORT[event.why]
            block.detail = "\n".join(part for part in (event.detail, event.output) if part)
            state.activity = ""
            state.busy.halt(stamped.at)
        case UndecidedAccepted(paths=paths):
            note(state, stamped, f"{plural(len(paths), 'undecided change')} accepted", right=event.by)
        case UndecidedRejected():
            note(state, stamped, "the undecided changes were rejected", right=event.by)
        case JudgementAccepted():
            note(state, stamped, "the suspect result was accepted", right=event.by)
        case _:
            assert_never(event)


def _preparing(event: JudgePreparing) -> str:
    """Return the name of what runs before the first call: `planted tests: pytest -q`."""
    match event.what:
        case "plant":
            return f"planted tests: {event.command}"
        case "holdout":
            return f"second check: {event.command}"
        case "setup":
            return f"setup: {event.command}"


def _prepared(state: ViewState, stamped: Stamped, event: PlantPrepared | HoldoutPrepared | SetupPrepared) -> None:
    """Show the result of what ran before the first call. A setup in a judge has its own line."""
    index = state.growing.pop((None, "preparing"), None)
    if index is not None:
        state.printed.pop(index, None)
        block = touch(state, index)
        block.status, block.right, block.seconds = "ok", "", event.seconds
        match event:
            case PlantPrepared(plan=plan):
                block.status = "passed" if plan is not None else "ok"
                block.right = "they fail, as they must" if plan is not None else "no failing test can be planted"
                block.seconds += event.first_seconds or 0.0
            case HoldoutPrepared(problem=problem):
                block.status = "failed" if problem else "ok"
            case SetupPrepared(problem=problem):
                block.status, block.detail = "failed" if problem else "passed", problem
                block.right = "failed" if problem else "passed"
        state.activity = ""
        state.busy.halt(stamped.at)
    elif isinstance(event, SetupPrepared):
        note(state, stamped, f"setup: {event.command}", right="failed" if event.problem else "passed")
    if isinstance(event, HoldoutPrepared) and (words := second_check_words(event)):
        note(state, stamped, words)


def _title(event: JudgeStarted) -> str:
    """Return what runs: `once more without 2 undecided changes: pytest -q`."""
    where = (
        f"without {plural(event.undecided_count, 'undecided change')}" if event.undecided_count else "in a clean place"
    )
    return f"once more {where}: {', '.join(event.checks)}"


def second_check_words(event: HoldoutPrepared) -> str:
    """Return a warning about the second check before the run, or an empty text if there is none."""
    if event.problem:
        return f"the second check cannot be started: {event.problem}"
    if not event.known:
        return ""
    return f"the model can read {some_files(event.known)} in git, so the grade will not be `held_out`"


def judged_words(event: Judged) -> str:
    """Describe the judgement in a few words: passed and what is missing, or why it did not pass."""
    if not event.passed:
        return event.detail
    return "; ".join(part for part in ("passed", event.detail) if part)
