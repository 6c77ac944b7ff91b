"""A run that can only be looked at: every command to it is refused. Does not import textual."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rundry.agent import (
    Command,
    Expected,
    Journal,
    Judge,
    Merge,
    ResumeChanges,
    Rewind,
    RunSpec,
    Stamped,
    Undo,
    UserError,
    ViewState,
    WriteWatch,
)

from ..control.run_link import READ_ONLY, Link


class ReadOnlyLink:
    """A link that passes on what happens and refuses everything else."""

    def __init__(self, link: Link) -> None:
        self._link = link

    @property
    def journal(self) -> Journal | None:
        """The journal of the run."""
        return self._link.journal

    def begin(self, spec: RunSpec, folder: Path, notes: list[str] | None = None, blobs: Sequence[bytes] = ()) -> Path:
        """Refuse to change the run. Raises UserError."""
        raise UserError(READ_ONLY)

    def preload(self, expected: Expected) -> None:
        """Do nothing: no run can begin here."""

    def resume(self, path: Path, changes: ResumeChanges | None = None) -> None:
        """Refuse to change the run. Raises UserError."""
        raise UserError(READ_ONLY)

    def store_image(self, data: bytes) -> None:
        """Refuse to change the run. Raises UserError."""
        raise UserError(READ_ONLY)

    def put(self, command: Command) -> int:
        """Refuse to change the run. Raises UserError."""
        raise UserError(READ_ONLY)

    def put_without_runner(self, command: Undo | Rewind | Judge | Merge) -> int:
        """Refuse to change the run. Raises UserError."""
        raise UserError(READ_ONLY)

    @property
    def writes(self) -> WriteWatch:
        """Report when there may be new events."""
        return self._link.writes

    def stored_state(self) -> ViewState | None:
        """Return the state that the runner stored last."""
        return self._link.stored_state()

    def new_events(self) -> Sequence[Stamped]:
        """Return the events since the last call."""
        return self._link.new_events()

    def beat(self) -> None:
        """Tell the runner that the view still exists."""
        self._link.beat()

    def runner_state(self) -> str:
        """Return `warming`, `running`, `ended` or `gone`."""
        return self._link.runner_state()

    def close(self, *, stays: bool = False) -> None:
        """Detach from the run, which continues. `stays`: the person opens another run of the same tree."""
        self._link.close(stays=stays)
