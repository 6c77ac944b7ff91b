"""Report after the view has closed what became of the run, and return the exit code."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .run_controller import RunController
    from .view_result import ViewResult

LAST_SECONDS = 5.0
"""Seconds to wait for the end of a run that is being stopped."""


def report_crash(trace: str, log: Path) -> None:
    """Report a failure of the screen in one line, and write the traceback to a file that only its owner can read."""
    from .text import one_line

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

    from .headless.lines import end_line, outcome_line, say_end
    from .run.resume_command import way_on
    from .text import one_line

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
    if result.signal:
        return 128 + result.signal
    if not controller.begun:
        return 1 if result.failed else 0
    if result.stop is not None and state.loop is LoopKind.CHAT:
        return 0  # the user knows that they left
    if state.outcome is not None and not result.failed:
        say_end(outcome_line(state.outcome))
        say_end(end_line(state.outcome))
        waiting, on = state.proposals.values(), None
        if state.budget is not None and state.loop is not LoopKind.CHAT:
            on = way_on(state.outcome, state.run_id, state.budget, flags, attended=True, waiting=waiting)
        if on is not None:
            say_end(on)
        return 0 if state.loop is LoopKind.CHAT else state.outcome.exit_code
    if (result.stop is not None or controller.is_stopping) and not is_gone:
        print(f"the run is stopping but has not ended yet: rundry watch {one_line(state.run_id)}", file=sys.stderr)
        return 130
    told = "the runner is gone: rundry resume" if is_gone else "the run continues: rundry watch"
    print(f"{told} {one_line(state.run_id)}".rstrip(), file=sys.stderr)
    return 1 if result.failed else 0
