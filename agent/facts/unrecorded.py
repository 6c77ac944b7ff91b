"""What a run did without a record of each file: output, processes that can write, commits. Derived from events."""

from __future__ import annotations

from dataclasses import dataclass, field

from ..protocol import (
    BackgroundEnded,
    BackgroundStarted,
    ChangeCommitted,
    EffectsAccepted,
    McpServerChanged,
    OutputsWritten,
    ProposalDecided,
    ProposalOpened,
    RunEnded,
    RunResumed,
    RunStarted,
    StageBegan,
    StageEnded,
    Stamped,
)

EVERYWHERE = "."
"""Name of the whole workspace among folders."""


@dataclass(slots=True)
class Writer:
    """Something that could write to the workspace itself."""

    what: str
    """For people."""
    folders: list[str]
    """`EVERYWHERE`, or folders below the workspace."""
    begin: int
    """Position in the journal."""
    end: int | None = None
    """None: it still can."""


@dataclass(slots=True)
class Unrecorded:
    """Folders with output that were written, and processes that could write."""

    outputs: dict[str, int] = field(default_factory=dict[str, int])
    """Folders and files, with the position at which they were written last."""
    writers: list[Writer] = field(default_factory=list[Writer])
    commits: list[str] = field(default_factory=list[str])
    """Commits that rundry made of single edits."""
    is_staged: bool = False
    """Whether a stage is open: what commands change lies there, and not in the workspace."""
    _outside: dict[str, str] = field(default_factory=dict[str, str])
    """Proposal id to the line of a command that would run outside of the sandbox."""

    def apply(self, stamped: Stamped) -> None:
        """Fold the next event into this state."""
        match stamped.event:
            case RunStarted(sandbox=None):
                self._begin(stamped, "commands without a sandbox", [EVERYWHERE])
            case EffectsAccepted() | OutputsWritten() | StageBegan() | StageEnded():
                self._apply_layers(stamped.seq, stamped.event)
            case BackgroundStarted(name=name, outputs=outputs):
                self._begin(stamped, _background(name), outputs)
            case BackgroundEnded(name=name):
                self._end(stamped, _background(name))
            case McpServerChanged(name=name, state="ready", outputs=outputs):
                self._begin(stamped, _server(name), outputs)
            case McpServerChanged(name=name, state="failed" | "ended"):
                self._end(stamped, _server(name))
            case RunResumed() | RunEnded():
                self._end_processes(stamped)
            case ChangeCommitted(commit=str() as commit):
                self.commits.append(commit)
            case ProposalOpened(is_outside=True, command=str() as command) as opened:
                self._outside[opened.proposal_id] = command
            case ProposalDecided() as decided:
                command = self._outside.pop(decided.proposal_id, None)
                if command is not None and decided.decision != "reject":
                    self._begin(stamped, f"`{command}`, which ran outside of the sandbox", [EVERYWHERE])
            case _:
                pass

    def _apply_layers(self, seq: int, event: EffectsAccepted | OutputsWritten | StageBegan | StageEnded) -> None:
        match event:
            case StageBegan() | StageEnded():
                self.is_staged = isinstance(event, StageBegan)
            case EffectsAccepted(outputs=outputs, in_place=in_place):
                self.outputs.update(dict.fromkeys([] if in_place and self.is_staged else outputs, seq))
            case OutputsWritten(paths=outputs):
                self.outputs.update(dict.fromkeys(outputs, seq))

    def _begin(self, stamped: Stamped, what: str, folders: list[str]) -> None:
        self._end(stamped, what)
        if folders:
            self.writers.append(Writer(what, folders, stamped.seq))

    def _end_processes(self, stamped: Stamped) -> None:
        """Note that background commands and servers ended with their runner."""
        for writer in self.writers:
            if writer.what.startswith((_background(""), _server(""))) and writer.end is None:
                writer.end = stamped.seq

    def _end(self, stamped: Stamped, what: str) -> None:
        for writer in self.writers:
            if writer.what == what and writer.end is None:
                writer.end = stamped.seq


def _background(name: str) -> str:
    return f"background command {name}"


def _server(name: str) -> str:
    return f"server {name}"
