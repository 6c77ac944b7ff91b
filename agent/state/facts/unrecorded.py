"""What a run did without a record of each file: output, processes that can write, commits. Derived from events."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ...protocol import (
    BackgroundEnded,
    BackgroundStarted,
    ChangeCommitted,
    CheckFinished,
    CheckStarted,
    EffectsAccepted,
    McpServerChanged,
    OutputsWritten,
    ProposalDecided,
    ProposalOpened,
    RunEnded,
    RunResumed,
    RunStarted,
    ScopeSet,
    StageBegan,
    StageEnded,
    Stamped,
    ToolFinished,
)

if TYPE_CHECKING:
    from ...protocol import Event

EVERYWHERE = "."
"""Name of the whole workspace among folders."""
_CHECK = "a check"


@dataclass(slots=True)
class Writer:
    """Something that could write to the workspace itself."""

    what: str
    """Its name for people, such as a command line."""
    folders: list[str]
    """`EVERYWHERE`, or folders below the workspace."""
    begin: int
    """Position of its start in the journal."""
    end: int | None = None
    """Position at its end. None means that it can still change files."""
    is_compared: bool = False
    """Whether the workspace is compared with its start, so that what changed meanwhile is known."""


@dataclass(slots=True)
class _OpenCommands:
    """Approved calls without a result, and a check that has not ended. What they change is recorded when they end."""

    running: set[str] = field(default_factory=set[str])
    """Ids of the calls."""
    write_live: bool = False
    """Whether they write to the workspace itself, in a run that is judged."""
    _proposed: dict[str, str] = field(default_factory=dict[str, str])
    """Proposal id to call id."""

    def apply(self, event: Event) -> None:
        """Fold the next event into this state."""
        match event:
            case ProposalOpened(call_id=call_id, command=str()):
                self._proposed[event.proposal_id] = call_id
            case ProposalDecided(decision=decision):
                call_id = self._proposed.pop(event.proposal_id, "")
                if call_id and decision != "reject":
                    self.running.add(call_id)
            case ToolFinished(call_id=call_id):
                self.running.discard(call_id)
            case ScopeSet(in_copy=in_copy, no_views=no_views):
                self.write_live = in_copy or bool(no_views)
            case CheckStarted():
                self.running.add(_CHECK)
            case CheckFinished():
                self.running.discard(_CHECK)
            case _:
                pass


@dataclass(slots=True)
class Unrecorded:
    """Folders with output that were written, and processes that could write."""

    outputs: dict[str, int] = field(default_factory=dict[str, int])
    """Folders and files, with the position at which they were written last."""
    built_by: dict[str, str] = field(default_factory=dict[str, str])
    """Such a folder or file to the first command that wrote it, if a command did."""
    writers: list[Writer] = field(default_factory=list[Writer])
    commits: list[str] = field(default_factory=list[str])
    """Commits that rundry made of single edits."""
    is_staged: bool = False
    """Whether a stage is open: what commands change lies there, and not in the workspace."""
    _is_unconfined: bool = False
    """Whether commands run without a sandbox. Then what a background command changed is compared."""
    _open: _OpenCommands = field(default_factory=_OpenCommands)
    _outside: dict[str, str] = field(default_factory=dict[str, str])
    """Proposal id to the line of a command that would run outside of the sandbox."""

    @property
    def has_gaps(self) -> bool:
        """Whether only a comparison with the start knows all that changed."""
        return any(writer.is_compared for writer in self.writers)

    def apply(self, stamped: Stamped) -> None:
        """Fold the next event into this state."""
        self._open.apply(stamped.event)
        match stamped.event:
            case RunStarted(sandbox=sandbox):
                self._is_unconfined = sandbox is None
            case EffectsAccepted() | OutputsWritten() | StageBegan() | StageEnded():
                self._apply_layers(stamped.seq, stamped.event)
            case BackgroundStarted(name=name, outputs=outputs):
                self._begin(stamped, _background(name), outputs, is_compared=self._is_unconfined)
            case BackgroundEnded(name=name):
                self._end(stamped, _background(name))
            case McpServerChanged(name=name, state="ready", outputs=outputs):
                self._begin(stamped, _server(name), outputs)
            case McpServerChanged(name=name, state="failed" | "ended"):
                self._end(stamped, _server(name))
            case RunResumed() | RunEnded():
                self._end_processes(stamped)
                self._note_killed(stamped)
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
            case EffectsAccepted(outputs=outputs, in_place=in_place, command=command):
                for path in outputs:
                    self.built_by.setdefault(path, command)
                self.outputs.update(dict.fromkeys([] if in_place and self.is_staged else outputs, seq))
            case OutputsWritten(paths=outputs):
                self.outputs.update(dict.fromkeys(outputs, seq))

    def _begin(self, stamped: Stamped, what: str, folders: list[str], *, is_compared: bool = False) -> None:
        self._end(stamped, what)
        if folders:
            self.writers.append(Writer(what, folders, stamped.seq, is_compared=is_compared))

    def _note_killed(self, stamped: Stamped) -> None:
        """Note that nothing was recorded of what ran when the runner was killed."""
        if self._open.running and self._open.write_live:
            self._begin(stamped, "what ran when rundry was killed", [EVERYWHERE], is_compared=True)
            self.writers[-1].begin, self.writers[-1].end = stamped.seq - 1, stamped.seq
        self._open.running.clear()

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
