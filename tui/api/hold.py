"""What a Python program holds of a run while it runs: the connection, a beat, and the duty to stop it."""

from __future__ import annotations

import os
import threading
import time
import warnings
from contextlib import suppress
from typing import TYPE_CHECKING

from rundry.agent import JournalError, RundryError, RunnerProcess, Session, Stop, UserError, holder, last_end

if TYPE_CHECKING:
    from ..control.waiting import Wait

STOP_SECONDS = 10.0
"""Seconds that a run gets to stop when its program is done with it."""
_BEAT_SECONDS = 4.0
_EXIT_SECONDS = 5.0


class StillRunning(RundryError):
    """The run did not stop in time."""


class Hold:
    """Keeps a run attached until `end`. It does not know the `Run` object, so that this can be collected."""

    def __init__(self, link: Session, runner: RunnerProcess, *, is_own: bool, by: str) -> None:
        """`is_own`: the run is stopped with its program. `by`: the name of the program."""
        self._link, self._runner, self._by, self.is_own = link, runner, by, is_own
        self._process = os.getpid()
        self._ends = threading.Event()
        self._beating: threading.Thread | None = None

    def require_usable(self) -> None:
        """Raise UserError if the run was released, or is that of the parent process."""
        if self._ends.is_set():
            raise UserError("this object was closed: rundry.attach() opens the run again")
        if os.getpid() != self._process:
            raise UserError("this object belongs to the process that made it: call rundry.attach() here")

    def beat(self) -> None:
        """Report every few seconds that the program is there, also while it does something else."""
        self._beating = threading.Thread(target=self._beat, name="rundry-beat", daemon=True)
        self._beating.start()

    def _beat(self) -> None:
        while not self._ends.wait(_BEAT_SECONDS):
            with suppress(JournalError):  # whoever reads the run next reports it
                self._link.beat()

    def stopping(self) -> Wait[None]:
        """Stop the run if it has to end with its program, and wait for its process. Raises StillRunning."""
        journal = self._link.journal
        is_of_parent = os.getpid() != self._process
        if is_of_parent or self._ends.is_set() or not self.is_own or journal is None:
            return
        if holder(journal.path) is not None and last_end(journal) is None:
            self._link.put(Stop(how="now", by=self._by))
        until = time.monotonic() + STOP_SECONDS
        while holder(journal.path) is not None or not self._runner.wait_for_exit(0):
            if time.monotonic() > until:
                run = journal.spec.run_id
                raise StillRunning(f"run {run} did not stop within {STOP_SECONDS:.0f} s: `rundry runs` lists it")
            yield

    def abandon(self) -> None:
        """Stop a run that nobody closed: its object was collected, or the interpreter exits."""
        if os.getpid() == self._process and self.give_up():
            warnings.warn("a rundry.Run was not closed: its run is being stopped", ResourceWarning, stacklevel=2)

    def give_up(self) -> bool:
        """Let the run stop by itself if it has to end with its program, and release it. Return whether it ran."""
        journal, is_live = self._link.journal, False
        try:
            if self.is_own and journal is not None and not self._ends.is_set():
                is_live = holder(journal.path) is not None and last_end(journal) is None
            if is_live:
                self._link.put(Stop(how="now", by=self._by))
        finally:
            self.end()
        return is_live

    def end(self) -> None:
        """Release the run. Its process continues if it was not stopped."""
        if os.getpid() != self._process:
            return
        self._ends.set()
        if self._beating is not None and self._beating is not threading.current_thread():
            self._beating.join()
        self._link.close()
        is_beginning = self._link.journal is None  # its process exits now: no run was given to it
        if not self._runner.wait_for_exit(_EXIT_SECONDS if is_beginning else 0):
            self._runner.reap_later()
