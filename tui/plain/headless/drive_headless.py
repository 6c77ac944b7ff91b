"""Drive a run with `--headless`: progress on stderr, the answer on stdout. Does not import textual."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from rundry.agent import (
    Journal,
    LoopKind,
    Refusal,
    ResumeChanges,
    RunEnded,
    RunStarted,
    Stamped,
    Unreachable,
    UserError,
    last_end,
    reading_progress,
    refused_events,
)

from ...control.asked_proposal import NOT_RECORDED
from ...control.end_words import say_end
from ...start.attach_images import images_of_task, with_hint_images
from ...start.new_run import Setup
from ...start.resuming import changes_from, find_own, with_decision
from ...text.end_command import LATER
from ...text.output_kind import Output
from ...text.show_text import one_line
from ...text.standard_streams import OutputFailed, drop_output
from .headless_lines import say_line
from .print_events import AnswerPrinter, JsonPrinter, LinePrinter
from .refused_proposals import Refused, expected_refusals
from .wait_lines import with_waits

if TYPE_CHECKING:
    from rundry.agent import Outcome, RunSpec


class Begins(Protocol):
    """Creates the journal of a new run, and drives it in this process."""

    def __call__(
        self,
        spec: RunSpec,
        path: Path,
        *,
        on_event: Callable[[Stamped], None],
        tell: Callable[[str], None],
        notes: Sequence[str],
        blobs: Sequence[bytes],
    ) -> Awaitable[Outcome]:
        """Return the outcome. Raises Refusal or UserError before the journal is created."""
        ...


class Resumes(Protocol):
    """Resumes the run of a journal, and drives it in this process."""

    def __call__(
        self, path: Path, *, on_event: Callable[[Stamped], None], changes: ResumeChanges, tell: Callable[[str], None]
    ) -> Awaitable[Outcome]:
        """Return the outcome. Raises RundryError if the run cannot continue: it stays unchanged."""
        ...


def headless_setup(task: str | None, flags: Mapping[str, object], output: Output) -> tuple[Setup, str]:
    """Return the options of a new run, and its task. Raises RundryError."""
    setup = Setup(flags, headless=True, prints_answer=output is Output.ANSWER)
    if not task:
        raise UserError('there is no task: use rundry run --headless "TASK", or - for standard input')
    return setup, task


def drive_new(setup: Setup, task: str, flags: Mapping[str, object], output: Output, begin: Begins) -> int:
    """Drive the run that these options describe. Return the exit code. Raises RundryError."""
    spec, blobs = images_of_task(setup.spec(task), setup.workspace)
    path = setup.folder / f"{spec.run_id}.db"
    printer = _printer(output, flags)
    says = flags.get("gate") is None and output is not Output.ANSWER
    show = _Shown(printer, spec if says else None)
    running = begin(spec, path, on_event=show, tell=printer.tell, notes=setup.notes, blobs=[*setup.blobs, *blobs])
    try:
        return show.code(asyncio.run(with_waits(running, printer.waits)))
    except Refusal as refusal:
        if isinstance(printer, JsonPrinter):
            for stamped in refused_events(spec, str(refusal), time.time()):
                show(stamped)
        raise


@dataclass(frozen=True, slots=True)
class Resumption:
    """A run that is about to be resumed. Its earlier events are printed."""

    path: Path
    printer: LinePrinter | JsonPrinter
    changes: ResumeChanges
    kept: str
    """What is unchanged if the run cannot continue."""
    is_complete: bool
    """Nothing is left to do."""

    def drive(self, resume: Resumes) -> int:
        """Drive the run. Return the exit code. Raises RundryError.

        If a server does not answer, the run is unchanged and a later retry can succeed, unless nothing is left to do.
        """
        show = _Shown(self.printer)
        try:
            running = resume(self.path, on_event=show, changes=self.changes, tell=self.printer.tell)
            return show.code(asyncio.run(with_waits(running, self.printer.waits)))
        except Unreachable as error:
            if self.is_complete:
                raise
            print(one_line(f"rundry: {error}; {self.kept}"), file=sys.stderr, flush=True)
            return LATER


def resumption(
    ref: str | None,
    flags: Mapping[str, object],
    *,
    hint: str | None,
    since: int | None,
    output: Output,
    decided: ResumeChanges | None = None,
) -> Resumption:
    """Find the run to resume, and print its earlier events. Raises RundryError."""
    path = find_own(ref, flags)
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
    return Resumption(path, printer, changes, kept, is_complete=ended is not None and ended.complete)


def _printer(output: Output, flags: Mapping[str, object]) -> LinePrinter | JsonPrinter:
    match output:
        case Output.LINES:
            return LinePrinter(flags)
        case Output.JSON:
            return JsonPrinter()
        case Output.ANSWER:
            return AnswerPrinter(flags)


class _Shown:
    """Prints the events of a run until standard output can no longer be written."""

    def __init__(self, printer: LinePrinter | JsonPrinter, spec: RunSpec | None = None) -> None:
        """`spec`: of a run for which nobody chose the mode of the gate; a line says what that means."""
        self._printer, self._spec = printer, spec
        self._is_lost = self._has_failed = False
        self._refused = Refused()

    def __call__(self, stamped: Stamped) -> None:
        begun = stamped.event if isinstance(stamped.event, RunStarted) else None
        line = None if begun is None or self._spec is None else expected_refusals(self._spec, begun.gate)
        if line is not None:
            say_line(line)
        self._refused.take(stamped.event)
        if isinstance(stamped.event, RunEnded) and (refused := self._refused.line()) is not None:
            say_end(refused)
        if self._is_lost:
            return
        try:
            self._printer.take(stamped)
        except (BrokenPipeError, OutputFailed) as error:
            # the run continues, and its journal has everything
            self._is_lost = True
            drop_output()
            if isinstance(error, OutputFailed):
                self._has_failed = True
                why = f"standard output cannot be written: {error.strerror}; the run continues without it"
                print(one_line(f"rundry: {why}, and `rundry export` prints it later"), file=sys.stderr, flush=True)

    def code(self, outcome: Outcome) -> int:
        """Return the exit code: never 0 if the output of the run is incomplete because of a fault."""
        return outcome.exit_code or int(self._has_failed)
