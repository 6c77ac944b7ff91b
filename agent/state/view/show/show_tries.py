"""Show the tries of a pass, and the worktrees of a migration."""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never, get_args

from ....protocol import (
    JoinFinished,
    JoinStarted,
    LoopKind,
    Stamped,
    TryChosen,
    TryFinished,
    TryMeasured,
    TryStarted,
    WorktreeFinished,
    WorktreeStarted,
)
from ....protocol.text.counts import plural
from ...search.item_places import WorktreeEvent
from .change_blocks import note

if TYPE_CHECKING:
    from ..view_state import ViewState

TRIES = (TryStarted, TryFinished, TryMeasured, TryChosen)
WORKTREES: tuple[type[WorktreeEvent], ...] = get_args(WorktreeEvent)


def show_try(state: ViewState, stamped: Stamped, event: TryStarted | TryFinished | TryMeasured | TryChosen) -> None:
    """Show the start, end, score or choice of a try."""
    who = f"try {event.candidate} of {event.tries}"
    match event:
        case TryStarted():
            state.running_tries[stamped.work or ""] = who
        case TryFinished():
            state.running_tries.pop(stamped.work or "", None)
            right = f"{plural(len(event.files), 'file')}, patch kept" if event.patch is not None else "nothing changed"
            line = note(state, stamped, f"{who} ended: {event.fault or event.why}", right=right)
            kept = [] if event.patch is None else [f"the patch is in the journal: {event.patch}"]
            line.detail = "\n".join([*event.files, *kept])
        case TryMeasured():
            spread = "" if event.noise is None else f" ± {event.noise:g} (median of {len(event.values)})"
            score = "not measured" if event.score is None else f"score {event.score:g}{spread}"
            if state.loop is LoopKind.GOAL:
                score = "not usable" if event.lines is None else f"passed, {plural(event.lines, 'changed line')}"
            note(state, stamped, f"{who}: {score}", right=event.why)
        case TryChosen():
            what = "is the best: its change is applied and measured again"
            if event.lines is not None:
                what = f"is chosen: it passed with the smallest change ({plural(event.lines, 'line')})"
            note(state, stamped, f"{who} {what}")
        case _:
            assert_never(event)


def show_worktree(state: ViewState, stamped: Stamped, event: WorktreeEvent) -> None:
    """Show what a worktree could not join."""
    match event:
        case WorktreeStarted() | JoinStarted():
            pass
        case JoinFinished(conflicts=conflicts):
            if conflicts:
                what = plural(len(conflicts), "conflict")
                line = note(state, stamped, f"worktree {event.tree}: the changes for {event.key} are worked again")
                line.right, line.detail = what, "\n".join(conflicts)
        case WorktreeFinished(patch=str() as patch):
            line = note(state, stamped, f"worktree {event.tree}: {event.why}", right="patch kept")
            line.detail = f"{event.key}\nthe patch is in the journal: {patch}"
        case WorktreeFinished():
            pass
        case _:
            assert_never(event)
