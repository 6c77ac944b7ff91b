"""The changes of a run, and which of them still stand: what `undo` can take back, folded from the events."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import takewhile

import msgspec

from ..journal.encoding import decode
from ..journal.journal import Journal
from ..protocol import (
    FileChanged,
    PassFinished,
    PassStarted,
    ProposalDecided,
    ProposalOpened,
    RunStarted,
    Snapshotted,
    Stamped,
    StepStarted,
    ToolFinished,
    Undone,
)
from .logs import PackedLog
from .step_places import StepPlaces

_OF_CHANGES = (
    FileChanged,
    PassFinished,
    PassStarted,
    ProposalDecided,
    ProposalOpened,
    RunStarted,
    Snapshotted,
    StepStarted,
    ToolFinished,
    Undone,
)
_BY_TOOLS = ("model", "person", "command", "background", "restore", "undo")


@dataclass(frozen=True, slots=True)
class Moved:
    """What a change did to one file."""

    before: str | None
    """Blob; None: there was no file, or it was too large to keep."""
    after: str | None
    added: int = 0
    removed: int = 0


@dataclass(slots=True)
class Landed:
    """One change: an edit of one file, or a command with all that it changed."""

    seq: int
    step: int | None
    command: str | None
    """The command line; None: an edit."""
    world: str | None
    """The workspace before it: of an edit, as it was last looked at; of a command, right before it ran."""
    world_after: str | None = None
    """Right after a command."""
    files: dict[str, Moved] = field(default_factory=dict[str, Moved])
    """By path; of a command in a workspace that is too large for snapshots nothing is known."""
    is_background: bool = False
    """By a command that runs beside the steps: found at a look, not by its end."""

    @property
    def title(self) -> str:
        """What a person calls it: `edit src/calc.py`, or the command line."""
        return f"edit {', '.join(self.files)}" if self.command is None else self.command.strip()


@dataclass(slots=True, eq=False)
class LandedLog(PackedLog[Landed]):
    """A list of changes, older ones packed."""

    packed: list[bytes | None] = field(default_factory=list[bytes | None])
    newest: list[Landed] = field(default_factory=list[Landed])

    def decoder(self) -> msgspec.msgpack.Decoder[list[Landed]]:
        """Reads the changes of a chunk."""
        return _decoder()

    def after(self, seq: int) -> Sequence[Landed]:
        """Those that landed after that place in the journal."""
        found = list(takewhile(lambda landed: landed.seq > seq, reversed(self)))
        found.reverse()
        return found


@dataclass(slots=True)
class _Running:
    """A command that was let through and has no result yet."""

    call_id: str
    command: str
    is_looked_at: bool = False
    world: str | None = None
    """The workspace as it was looked at right before it."""
    landed: Landed | None = None


@dataclass(slots=True)
class Changes:
    """The fold. A change that was undone is gone from it; undoing further goes further back."""

    standing: LandedLog = field(default_factory=LandedLog)
    """Those that are not undone, oldest first."""
    undone: int = 0
    """How many were."""
    files: dict[str, tuple[str | None, str | None]] = field(default_factory=dict[str, tuple[str | None, str | None]])
    """Path to (first blob before, newest blob after) of what the run's tools changed."""
    world: str | None = None
    """The workspace as it was last looked at."""
    _world_before: str | None = None
    """As it was at the last look that showed something else."""
    _before_pass: int = 0
    """How many stood when the newest pass started."""
    _steps: StepPlaces = field(default_factory=StepPlaces)
    """Step to where it began."""
    _proposed: dict[str, tuple[str, str]] = field(default_factory=dict[str, tuple[str, str]])
    """Of commands: proposal to call and command line."""
    _running: dict[tuple[int | None, str | None], _Running] = field(
        default_factory=dict[tuple[int | None, str | None], _Running]
    )
    """By step and work: in a step, commands run one after the other."""

    @property
    def paths_in_pass(self) -> frozenset[str]:
        """Files that stand changed since the newest pass started."""
        return frozenset(path for landed in self.standing[self._before_pass :] for path in landed.files)

    @property
    def is_look_due(self) -> bool:
        """A command is about to run: the look before it counts, whatever it shows."""
        return any(not running.is_looked_at for running in self._running.values())

    def world_before(self, call_id: str) -> str | None:
        """The workspace right before a command that has no result yet; None: it is not known."""
        return next((running.world for running in self._running.values() if running.call_id == call_id), None)

    def began(self, step: int | None) -> int:
        """Where a step began; 0 for none."""
        return self._steps.get(step) or 0

    def after(self, seq: int) -> Sequence[Landed]:
        """What stands of all that was changed after that place in the journal."""
        return self.standing.after(seq)

    def since(self, step: int) -> Sequence[Landed] | None:
        """What stands of a step and all that came after its start; None: there was no such step."""
        start = self._steps.get(step)
        return None if start is None else self.standing.after(start)

    def apply(self, stamped: Stamped) -> None:
        """Takes in the next event, in order."""
        match stamped.event:
            case RunStarted(world=world):
                self.world = world
            case Snapshotted(world=world):
                self._look(world)
            case StepStarted(number=number):
                self._steps.put(number, stamped.seq)
            case ProposalOpened(path=None, command=str() as command) as opened:
                self._proposed[opened.proposal_id] = (opened.call_id, command)
            case ProposalDecided() as decided:
                self._decide(stamped, decided)
            case ToolFinished(call_id=call_id):
                self._finish(stamped, call_id)
            case FileChanged() as changed:
                self._change(stamped, changed)
            case PassStarted():
                self._before_pass = len(self.standing)
            case PassFinished(verdict="reverted" | "unmeasured"):
                self.standing.cut(self._before_pass)
            case Undone(changes=changes):
                self.undone += changes
                self.standing.cut(max(0, len(self.standing) - changes))
            case _:
                pass

    def _look(self, world: str | None) -> None:
        if world != self.world:
            self._world_before = self.world
        self.world = world
        for running in self._running.values():
            if not running.is_looked_at:
                running.is_looked_at, running.world = True, world

    def _decide(self, stamped: Stamped, decided: ProposalDecided) -> None:
        call_id, command = self._proposed.pop(decided.proposal_id, ("", ""))
        key = (stamped.step, stamped.work)
        known = self._running.get(key)
        if decided.decision != "reject" and call_id and (known is None or known.call_id != call_id):
            self._running[key] = _Running(call_id, command)

    def _finish(self, stamped: Stamped, call_id: str) -> None:
        """A command that ran where nothing could be looked at counts as a change of which nothing is known."""
        key = (stamped.step, stamped.work)
        running = self._running.get(key)
        if running is None or running.call_id != call_id:
            return
        del self._running[key]
        if running.landed is None and self.world is None:
            self._land(Landed(stamped.seq, stamped.step, running.command, None))

    def _change(self, stamped: Stamped, changed: FileChanged) -> None:
        path, by = changed.path, changed.by
        if by not in _BY_TOOLS:
            return
        known = self.files.get(path)
        if by not in ("restore", "undo") or known is not None:
            self.files[path] = (known[0] if known is not None else changed.before, changed.after)
        moved = Moved(changed.before, changed.after, changed.added, changed.removed)
        if by in ("model", "person"):
            self._land(Landed(stamped.seq, stamped.step, None, self.world, files={path: moved}))
        elif by == "command":
            self._command(stamped, path, moved)
        elif by == "background":
            self._background(stamped, changed, moved)
        elif by == "restore":
            self._restored(stamped, path)

    def _land(self, landed: Landed) -> None:
        self.standing.append(landed)
        running = [one.landed for one in self._running.values()]
        self.standing.pack_older(lambda old: any(old is one for one in running))

    def _command(self, stamped: Stamped, path: str, moved: Moved) -> None:
        """Told twice (a runner died while it told, or the command ran again), the first and the last state count."""
        key = (stamped.step, stamped.work)
        running = self._running.setdefault(key, _Running("", "a command"))
        landed = running.landed
        if landed is None:
            landed = running.landed = Landed(stamped.seq, stamped.step, running.command, running.world)
            self._land(landed)
        landed.world_after = self.world
        first = landed.files.get(path, moved)
        landed.files[path] = Moved(first.before, moved.after, moved.added, moved.removed)

    def _background(self, stamped: Stamped, changed: FileChanged, moved: Moved) -> None:
        """What one look showed is one change of what runs there."""
        last = self.standing[-1] if self.standing else None
        if last is None or not last.is_background or last.world_after != self.world or last.command != changed.command:
            last = Landed(
                stamped.seq,
                stamped.step,
                changed.command or "in the background",
                self._world_before,
                self.world,
                is_background=True,
            )
            self._land(last)
        last.files[changed.path] = moved

    def _restored(self, stamped: Stamped, path: str) -> None:
        """What a command did to a guarded file was put back already."""
        running = self._running.get((stamped.step, stamped.work))
        if running is None or running.landed is None:
            last = self.standing[-1] if self.standing else None
            if last is not None and last.is_background and last.files.pop(path, None) and not last.files:
                self.standing.cut(len(self.standing) - 1)
            return
        running.landed.files.pop(path, None)
        if not running.landed.files:
            self.standing.newest.remove(running.landed)
            running.landed = None


def standing_changes(journal: Journal) -> Changes:
    """What a view asks before it has something undone. Reads no other events. Raises JournalError."""
    changes = Changes()
    marks = ", ".join("?" for _ in _OF_CHANGES)
    query = f"SELECT seq, at, step, work, type, body FROM events WHERE type IN ({marks}) ORDER BY seq"
    kinds = [str(kind.__struct_config__.tag) for kind in _OF_CHANGES]
    for seq, at, step, work, kind, body in journal.rows(query, kinds):
        changes.apply(Stamped(seq, at, step, work, decode(kind, body)))
    return changes


@cache
def _decoder() -> msgspec.msgpack.Decoder[list[Landed]]:
    return msgspec.msgpack.Decoder(list[Landed])
