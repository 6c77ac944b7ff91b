"""The registration of a view with the run that it shows, and with the runs above that run."""

from __future__ import annotations

import contextlib
from pathlib import Path

from ...journal.journal import Journal
from ...protocol import JournalError


class Presence:
    """Tells runners that a person looks at their run.

    A person who looks at a child run can answer for the runs above it, too: the next child begins while the view of
    the first one is still open, and its proposals wait for that person instead of being decided by the policy.
    """

    def __init__(self, view: str, run: Journal) -> None:
        """`view`: name of the view. Registers it. Raises JournalError."""
        self._view, self._run = view, run
        self._above = _runs_above(run)
        self.beat()

    def beat(self) -> None:
        """Record that the view is still open. Call it every few seconds. Raises JournalError."""
        for journal in (self._run, *self._above):
            journal.views.beat(self._view)

    def end(self, *, lapses: bool) -> None:
        """Remove the registration, or let it lapse within seconds. Raises JournalError."""
        for journal in () if lapses else (self._run, *self._above):
            journal.views.detach(self._view)
        for journal in self._above:
            journal.close()


def _runs_above(run: Journal) -> list[Journal]:
    """Open the journals of the runs above, the nearest first, as far as they exist."""
    found: list[Journal] = []
    parent = run.spec.parent
    with contextlib.suppress(JournalError):  # a parent that cannot be opened drives no other child
        while parent is not None:
            found.append(Journal.open(Path(parent.journal)))
            parent = found[-1].spec.parent
    return found
