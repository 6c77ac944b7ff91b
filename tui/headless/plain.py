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
    reading_told,
)

from ..attaching import images_of_task, with_hint_images
from ..deciding.question import NOT_RECORDED
from ..ending import LATER
from ..setup.resuming import changes_from, find, with_decision
from ..setup.start import Setup
from ..text import one_line
from .lines import say_line
from .printing import JsonPrinter, LinePrinter


def run_headless(task: str | None, flags: Mapping[str, object], *, as_json: bool) -> int:
    """Drive a new run in this process. The exit code. Raises RundryError."""
    setup = Setup(flags, headless=True)
    if not task:
        raise UserError('there is no task: use rundry run --headless "TASK", or - for standard input')
    return drive_new(setup, task, flags, as_json=as_json)


def drive_new(setup: Setup, task: str, flags: Mapping[str, object], *, as_json: bool) -> int:
    """Drive the run that these options describe. The exit code. Raises RundryError."""
    with quick_imports():
        from rundry.agent import begin_here, refused_events  # the runner: a screen never needs it

    spec, blobs = images_of_task(setup.spec(task), setup.workspace)
    path = setup.folder / f"{spec.run_id}.db"
    printer = JsonPrinter() if as_json else LinePrinter(flags)
    show = _shown_by(printer)
    try:
        outcome = asyncio.run(begin_here(spec, path, on_event=show, tell=say_line, notes=setup.notes, blobs=blobs))
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
    as_json: bool,
    decided: ResumeChanges | None = None,
) -> int:
    """Drive a run that was left, in this process. The exit code. Raises RundryError."""
    path = find(ref, flags)
    changes = with_decision(changes_from(flags, hint, path), decided)
    printer = JsonPrinter() if as_json else LinePrinter(flags)
    journal = Journal.open(path)
    try:
        if journal.spec.loop is LoopKind.CHAT:
            raise UserError("a chat needs a person: resume this run without --headless")
        changes = with_hint_images(changes, journal)
        with reading_told(journal, say_line):
            printer.read_earlier(journal, since)
        ended = last_end(journal)
    finally:
        journal.close()
    kept = NOT_RECORDED if decided is not None else "the run is unchanged"
    return _resume(path, printer, changes, kept, is_complete=ended is not None and ended.complete)


def _resume(
    path: Path, printer: LinePrinter | JsonPrinter, changes: ResumeChanges, kept: str, *, is_complete: bool
) -> int:
    """A server that does not answer leaves the run as it was: trying later can help, unless nothing is left to do."""
    from rundry.agent import run_here

    try:
        return asyncio.run(run_here(path, on_event=_shown_by(printer), changes=changes, tell=say_line)).exit_code
    except Unreachable as error:
        if is_complete:
            raise
        print(one_line(f"rundry: {error}; {kept}"), file=sys.stderr, flush=True)
        return LATER


def _shown_by(printer: LinePrinter | JsonPrinter) -> Callable[[Stamped], None]:
    lost = False

    def show(stamped: Stamped) -> None:
        nonlocal lost
        if lost:
            return
        try:
            printer.take(stamped)
        except BrokenPipeError:
            # whoever read us went away: the run goes on, its journal has all
            lost = True
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())

    return show
