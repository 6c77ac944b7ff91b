"""Drive a run with `--headless`: progress on stderr, the answer on stdout. Does not import textual."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from rundry.agent import (
    Journal,
    LoopKind,
    Refusal,
    ResumeChanges,
    Stamped,
    Unreachable,
    UserError,
    last_end,
    quick_imports,
    reading_progress,
)

from ..attaching import images_of_task, with_hint_images
from ..deciding.question import NOT_RECORDED
from ..ending import LATER
from ..setup.resuming import changes_from, find, with_decision
from ..setup.start import Setup
from ..text import one_line
from .output import Output
from .printing import AnswerPrinter, JsonPrinter, LinePrinter
from .waits import with_waits


def run_headless(task: str | None, flags: Mapping[str, object], output: Output) -> int:
    """Drive a new run in this process. Return the exit code. Raises RundryError."""
    setup = Setup(flags, headless=True, prints_answer=output is Output.ANSWER)
    if not task:
        raise UserError('there is no task: use rundry run --headless "TASK", or - for standard input')
    return drive_new(setup, task, flags, output)


def drive_new(setup: Setup, task: str, flags: Mapping[str, object], output: Output) -> int:
    """Drive the run that these options describe. Return the exit code. Raises RundryError."""
    with quick_imports():
        from rundry.agent import begin_in_process, refused_events  # the runner, which a screen never needs

    spec, blobs = images_of_task(setup.spec(task), setup.workspace)
    path = setup.folder / f"{spec.run_id}.db"
    printer = _printer(output, flags)
    show = _shown_by(printer)
    try:
        outcome = asyncio.run(
            with_waits(
                begin_in_process(spec, path, on_event=show, tell=printer.tell, notes=setup.notes, blobs=blobs),
                printer.waits,
            )
        )
    except Refusal as refusal:
        if isinstance(printer, JsonPrinter):
            for stamped in refused_events(spec, str(refusal), time.time()):
                show(stamped)
        raise
    return outcome.exit_code


def resume_headless(
    ref: str | None,
    flags: Mapping[str, object],
    *,
    hint: str | None,
    since: int | None,
    output: Output,
    decided: ResumeChanges | None = None,
) -> int:
    """Resume a run and drive it in this process. Return the exit code. Raises RundryError."""
    path = find(ref, flags)
    changes = with_decision(changes_from(flags, hint, path), decided)
    printer = _printer(output, flags)
    journal = Journal.open(path)
    try:
        if journal.spec.loop is LoopKind.CHAT:
            raise UserError("a chat needs a person: resume this run without --headless")
        changes = with_hint_images(changes, journal)
        with reading_progress(journal, printer.tell):
            printer.read_earlier(journal, since)
        ended = last_end(journal)
    finally:
        journal.close()
    kept = NOT_RECORDED if decided is not None else "the run is unchanged"
    return _resume(path, printer, changes, kept, is_complete=ended is not None and ended.complete)


def _resume(
    path: Path, printer: LinePrinter | JsonPrinter, changes: ResumeChanges, kept: str, *, is_complete: bool
) -> int:
    """Resume the run.

    If a server does not answer, the run is unchanged and a later retry can succeed, unless nothing is left to do.
    """
    from rundry.agent import run_in_process

    try:
        running = run_in_process(path, on_event=_shown_by(printer), changes=changes, tell=printer.tell)
        return asyncio.run(with_waits(running, printer.waits)).exit_code
    except Unreachable as error:
        if is_complete:
            raise
        print(one_line(f"rundry: {error}; {kept}"), file=sys.stderr, flush=True)
        return LATER


def _printer(output: Output, flags: Mapping[str, object]) -> LinePrinter | JsonPrinter:
    match output:
        case Output.LINES:
            return LinePrinter(flags)
        case Output.JSON:
            return JsonPrinter()
        case Output.ANSWER:
            return AnswerPrinter(flags)


def _shown_by(printer: LinePrinter | JsonPrinter) -> Callable[[Stamped], None]:
    lost = False

    def show(stamped: Stamped) -> None:
        nonlocal lost
        if lost:
            return
        try:
            printer.take(stamped)
        except BrokenPipeError:
            # the reader of stdout has gone: the run continues, and its journal has everything
            lost = True
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())

    return show
