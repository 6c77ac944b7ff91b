"""The runs around a plan: the one that makes it in the middle of a chat, and the one that carries it out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeVar

from rundry.agent import Journal, ModelSpec, RunSpec, next_spec, planned_after_chat, run_of_plan

from .new_run import Setup

Result = TypeVar("Result")


class ReadySetup(Setup):
    """The options of a run whose spec another run determines."""

    def __init__(self, spec: RunSpec, folder: Path, flags: Mapping[str, object]) -> None:
        """`folder`: where its journal goes, next to that of the other run. Raises UserError."""
        self.ready = spec
        super().__init__({**flags, "cwd": spec.home, "runs_dir": str(folder)}, headless=False, begins=False)

    def _spec(self, task: str, model: ModelSpec) -> RunSpec:
        del task, model
        return self.ready

    @property
    def model(self) -> ModelSpec:
        """The model of the run."""
        return self.ready.model

    def spec(self, task: str) -> RunSpec:
        """Return the spec, which has its task."""
        del task
        return self.ready


def carrying_out(path: Path, flags: Mapping[str, object]) -> ReadySetup:
    """Return the options of the run that carries out the plan accepted in this one. Raises RundryError."""
    return _with_journal(path, lambda journal: ReadySetup(next_spec(journal), path.parent, flags))


def planning(path: Path, task: str, flags: Mapping[str, object]) -> ReadySetup:
    """Return the options of a run that makes a plan for a task of this chat. Raises RundryError."""
    return _with_journal(path, lambda journal: ReadySetup(planned_after_chat(journal, task), path.parent, flags))


def journal_of_plan(path: Path) -> Path | None:
    """Return the journal of the run that carries out the plan accepted in this one, or None if none was accepted.

    It may not exist yet. Raises JournalError.
    """
    return _with_journal(path, run_of_plan)


def _with_journal(path: Path, read: Callable[[Journal], Result]) -> Result:
    journal = Journal.open(path)
    try:
        return read(journal)
    finally:
        journal.close()
