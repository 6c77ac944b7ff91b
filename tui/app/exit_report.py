"""Report after the view has closed what became of the run, and return the exit code."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rundry.agent import ViewState

    from ..control.run_controller import RunController
    from ..control.view_result import ViewResult

LAST_SECONDS = 5.0
"""Seconds to wait for the end of a run that is being stopped."""


def report_crash(trace: str, log: Path) -> None:
    """Report a failure of the screen in one line, and write the traceback to a file that only its owner can read."""
    from ..text.show_text import one_line

    where = f"the traceback is in {log}"
    try:
        with os.fdopen(os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW, 0o600), "a") as file:
            file.write(trace)
    except OSError as error:
        where = f"the traceback cannot be written to {log}: {error.strerror}"
    last = trace.strip().rpartition("\n")[2]
    print(f"rundry: the screen failed: {one_line(last)[:200]}; {one_line(where)}", file=sys.stderr)


def report_exit(controller: RunController, result: ViewResult, flags: Mapping[str, object], *, kept: str = "") -> int:
    """Print what became of the run on the restored terminal, and return the exit code."""
    from rundry.agent import LoopKind, Refusal

    from ..text.show_text import one_line

    if result.refused:
        controller.link.close()
        print(f"rundry: {one_line(result.refused)}{f'; {kept}' if kept else ''}", file=sys.stderr)
        return 75 if result.later else 2
    if result.stop is not None:
        with suppress(Refusal):  # it had not begun yet
            controller.stop(result.stop, within=LAST_SECONDS)
    state, is_gone = controller.state, controller.status.is_gone
    parent = f"watch {state.parent.journal}" if state.parent is not None else None
    controller.link.close(stays=result.next == parent or result.next.startswith("child "))
    if not controller.begun:
        return 128 + result.signal if result.signal else 1 if result.failed else 0
    with suppress(OSError):  # a signal may come because the terminal is gone
        _say_how_it_stands(state, result, flags, is_gone=is_gone, is_stopping=controller.is_stopping)
    if result.signal:
        return 128 + result.signal
    if state.loop is LoopKind.CHAT and (result.stop is not None or state.outcome is not None):
        return 1 if result.failed else 0
    if state.outcome is not None and not result.failed:
        return state.outcome.exit_code
    is_stopping = (result.stop is not None or controller.is_stopping) and not is_gone
    return 130 if is_stopping and state.outcome is None else 1 if result.failed else 0


def report_review(controller: RunController, result: ViewResult) -> int:
    """Print what became of what a run staged, and return the exit code. Raises UserError if there was no review."""
    from rundry.agent import UserError

    from ..control.review_words import LEFT_STAGED, applied_lines, exit_code_of
    from ..text.show_text import show

    reviewed = controller.reviewed
    if reviewed is None:
        return 128 + result.signal if result.signal else 1
    if reviewed.failed:
        raise UserError(reviewed.failed)
    applied, run = reviewed.applied, controller.state.run_id
    lines = [LEFT_STAGED] if applied is None else applied_lines(run, applied)
    for line in lines or [f"Nothing is staged in run {run} any more."]:
        print(show(line))
    return exit_code_of(applied)


def _say_how_it_stands(
    state: ViewState, result: ViewResult, flags: Mapping[str, object], *, is_gone: bool, is_stopping: bool
) -> None:
    """Print the end of the run, unless the person has just left a chat, and the command that continues it."""
    from rundry.agent import LoopKind

    from ..control.end_words import end_line, outcome_line, plan_words, say_end
    from ..control.resume_command import continue_line
    from ..text.show_text import one_line

    was_left = result.stop is not None and state.loop is LoopKind.CHAT
    if state.outcome is not None and not was_left:
        say_end(outcome_line(state.outcome))
        say_end(end_line(state.outcome))
        if plan := plan_words(state):
            say_end(f"plan: {plan}")
    if state.outcome is not None or was_left:
        on = None if result.next else continue_line(state, flags)
        if on is not None:
            say_end(on)
        return
    if (result.stop is not None or is_stopping) and not is_gone:
        told = "the run is stopping but has not ended yet: rundry watch"
    else:
        told = "the runner is gone: rundry resume" if is_gone else "the run continues: rundry watch"
    print(f"{told} {one_line(state.run_id)}".rstrip(), file=sys.stderr, flush=True)
