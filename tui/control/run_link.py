"""What a view needs from a run: the connection to it, and the options of a run that has not begun."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from rundry.agent import (
        Command,
        EditFormat,
        Expected,
        Journal,
        Judge,
        Merge,
        ModelSpec,
        ResumeChanges,
        Rewind,
        RunLine,
        RunSpec,
        Stamped,
        Survey,
        Undo,
        ViewState,
        WriteWatch,
    )

    from ..start.run_extensions import Extensions

READ_ONLY = "this view only shows the run: use `rundry watch` in a terminal to act on it"
"""Why a read-only view refuses an action."""


class Link(Protocol):
    """A view's side of a run: the `Session` of `agent/run/client/run_session.py`, or a journal that is played."""

    @property
    def journal(self) -> Journal | None:
        """The journal, or None before the run began."""
        ...

    def begin(self, spec: RunSpec, folder: Path, notes: list[str] | None = None, blobs: Sequence[bytes] = ()) -> Path:
        """Create the journal, with the bytes of the task's images, and pass it to the runner. Raises JournalError."""
        ...

    def preload(self, expected: Expected) -> None:
        """Prepare for a run like this."""
        ...

    def resume(self, path: Path, changes: ResumeChanges | None = None) -> None:
        """Pass an existing journal to the runner. Raises JournalError."""
        ...

    def store_image(self, data: bytes) -> None:
        """Store an image's bytes, for a command that names them. Raises JournalError."""
        ...

    def put(self, command: Command) -> int:
        """Put a command into the inbox and return its id. Raises JournalError."""
        ...

    def put_without_runner(self, command: Undo | Rewind | Judge | Merge) -> int:
        """Put a command into the inbox of a run without a runner, and carry it out. Raises JournalError."""
        ...

    @property
    def writes(self) -> WriteWatch:
        """Report when there may be new events."""
        ...

    def stored_state(self) -> ViewState | None:
        """Return the state that the runner stored last; `new_events` continues after it. Raises JournalError."""
        ...

    def new_events(self) -> Sequence[Stamped]:
        """Return the events since the last call."""
        ...

    def beat(self) -> None:
        """Tell the runner that the view still exists."""
        ...

    def runner_state(self) -> str:
        """Return `warming`, `running`, `ended` or `gone`."""
        ...

    def close(self, *, stays: bool = False) -> None:
        """Detach from the run, which continues. `stays`: the person opens another run of the same tree."""
        ...


class Start(Protocol):
    """The options of a run that has not begun."""

    @property
    def workspace(self) -> Path:
        """The absolute path of the workspace."""
        ...

    @property
    def folder(self) -> Path:
        """The folder of the journals."""
        ...

    @property
    def notes(self) -> list[str]:
        """Lines that the screen shows at the start."""
        ...

    @property
    def blobs(self) -> Sequence[bytes]:
        """Contents that the journal stores before the run begins."""
        ...

    @property
    def extensions(self) -> Extensions:
        """The skills and slash commands of the user and of the workspace."""
        ...

    @property
    def model(self) -> ModelSpec | None:
        """The model of the run, or None if no model is set up."""
        ...

    def choose(self, model: ModelSpec) -> None:
        """Use this model for the run."""
        ...

    def remember(self, model: ModelSpec) -> None:
        """Use this model for the run, and for later runs that name none. Raises ConfigError."""
        ...

    def load_again(self) -> None:
        """Load the config again, because the folder is trusted now. Raises UserError, and then changes nothing."""
        ...

    def set(self, name: str, value: object) -> None:
        """Set an option to another value. Raises UserError."""
        ...

    def set_check(self, command: str | None) -> None:
        """Use this command as the only check, or None for no check. Raises UserError, and then changes nothing."""
        ...

    def add_scope(self, globs: list[str]) -> None:
        """Let the run change these files, too. Raises UserError."""
        ...

    def set_edit_format(self, form: EditFormat) -> None:
        """Use this edit format. Raises UserError, and then changes nothing."""
        ...

    async def survey(self) -> Survey:
        """Look for keys and local servers; takes about a second."""
        ...

    async def unfinished(self) -> Sequence[RunLine]:
        """Return the runs of this workspace that can be resumed, newest first."""
        ...

    def expected(self, *, is_typing: bool) -> Expected | None:
        """Return what a runner can prepare for, or None if no model is set up. Raises UserError."""
        ...

    def preview(self, task: str = "") -> ViewState:
        """Return what is known before the first event: loop, model, limits, and the task if there is one."""
        ...

    def spec(self, task: str) -> RunSpec:
        """Return the spec of the run for this task. Raises UserError."""
        ...
