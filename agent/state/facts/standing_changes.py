"""The changes of a run that are not undone, derived from events: `undo` can revert these."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from struct import Struct
from typing import TYPE_CHECKING

from ...journal.encoding import decode
from ...protocol import (
    BackgroundStarted,
    EffectsAccepted,
    EffectsApplied,
    FileChanged,
    OutputsWritten,
    PassFinished,
    PassStarted,
    ProposalDecided,
    ProposalOpened,
    RunStarted,
    Snapshotted,
    StageBegan,
    StageEnded,
    Stamped,
    StepStarted,
    ToolFinished,
    UndoAccepted,
    Undone,
    has_own_tree,
)
from .approvals import Approvals
from .change_log import AppliedEffects, ChangeLog, FileEffect, RecordedChange
from .unrecorded import Unrecorded

if TYPE_CHECKING:
    from ...journal.journal import Journal
    from ...protocol.events.layers import LayersEvent

_CHANGE_EVENTS = (
    BackgroundStarted,
    EffectsAccepted,
    EffectsApplied,
    FileChanged,
    PassFinished,
    PassStarted,
    ProposalDecided,
    ProposalOpened,
    RunStarted,
    Snapshotted,
    StageBegan,
    StageEnded,
    StepStarted,
    ToolFinished,
    UndoAccepted,
    Undone,
)
_BY_TOOLS = ("model", "person", "command", "background", "restore", "undo")
GIT_WORDS = "git: "
"""How the words about what repositories gained begin (`EffectsAccepted.also`)."""
_PAIR = Struct("<qq")


@dataclass(slots=True)
class _Running:
    """A command that was approved and has no result yet."""

    call_id: str
    command: str
    has_snapshot: bool = False
    world: str | None = None
    """Snapshot of the workspace right before the command."""
    change: RecordedChange | None = None
    is_layered: bool = False
    """Whether it wrote into a layer, or cannot write: then what it changed is known without snapshots."""


@dataclass(slots=True)
class StepPlaces:
    """Map of step numbers to the positions of their starts in the journal."""

    pairs: bytearray = field(default_factory=bytearray)
    """Number and position of each step, ordered by number."""

    def put(self, number: int, seq: int) -> None:
        """Record that this step started at this position."""
        at = self._find(number)
        end = at + 1 if self._number(at) == number else at
        self.pairs[at * _PAIR.size : end * _PAIR.size] = _PAIR.pack(number, seq)

    def get(self, number: int | None) -> int | None:
        """Return the position at which the step started, or None if there is no such step."""
        if number is None:
            return None
        at = self._find(number)
        return _PAIR.unpack_from(self.pairs, at * _PAIR.size)[1] if self._number(at) == number else None

    def _find(self, number: int) -> int:
        count = len(self.pairs) // _PAIR.size
        if not count or self._number(count - 1) < number:  # the usual case: the newest step
            return count
        return bisect_left(range(count), number, key=self._number)

    def _number(self, at: int) -> int:
        start = at * _PAIR.size
        return _PAIR.unpack_from(self.pairs, start)[0] if start < len(self.pairs) else -1


@dataclass(slots=True)
class Changes:
    """Changes of a run. An undone change is removed, so that the next undo reverts an earlier one."""

    standing: ChangeLog = field(default_factory=ChangeLog)
    """Changes that are not undone, oldest first."""
    undone: int = 0
    """Number of undone changes."""
    unconfirmed: list[RecordedChange] = field(default_factory=list[RecordedChange])
    """Of undone changes the files that stay until a person names them, oldest first."""
    files: dict[str, tuple[str | None, str | None]] = field(default_factory=dict[str, tuple[str | None, str | None]])
    """Path to the SHA-256 of (first content before, newest content after) for files changed by the run's tools.

    None: there was no file, or nothing is known of its content. The journal may not have a large one.
    """
    world: str | None = None
    """The newest snapshot of the workspace."""
    accepted: dict[str, EffectsAccepted] = field(default_factory=dict[str, EffectsAccepted])
    """Effects that were accepted and whose outcome is not in the journal yet, by their order."""
    undoing: dict[str, UndoAccepted] = field(default_factory=dict[str, UndoAccepted])
    """Undos of effects that were accepted and have no end in the journal yet, by their order."""
    stage: str | None = None
    """Name of the folder of the open stage. None means that what is changed is in the workspace."""
    staged: set[str] = field(default_factory=set[str])
    """Paths of `files` that are as before in the workspace."""
    orders: list[str] = field(default_factory=list[str])
    """Blobs of the rows of all that was applied, oldest first."""
    in_stage: ChangeLog = field(default_factory=ChangeLog)
    """The changes in the open stage since `stage_since`, oldest first. None of them can be undone."""
    stage_since: int = 0
    """Position at which the open stage began, or at which some of it was applied last."""
    approvals: Approvals = field(default_factory=Approvals)
    unrecorded: Unrecorded = field(default_factory=Unrecorded)
    _world_before: str | None = None
    """The newest snapshot that differs from `world`."""
    _before_pass: int = 0
    """Number of changes that were not undone when the newest pass started."""
    _steps: StepPlaces = field(default_factory=StepPlaces)
    """Step to the position of its start."""
    _proposed: dict[str, tuple[str, str]] = field(default_factory=dict[str, tuple[str, str]])
    """For commands: proposal id to call id and command line."""
    _running: dict[tuple[int | None, str | None], _Running] = field(
        default_factory=dict[tuple[int | None, str | None], _Running]
    )
    """Running commands by step and work."""

    @property
    def in_pass(self) -> Sequence[RecordedChange]:
        """The changes since the newest pass started that are not undone, oldest first."""
        return self.standing[self._before_pass :]

    def step_start(self, step: int | None) -> int:
        """Return the position at which a step started; 0 for None."""
        return self._steps.get(step) or 0

    def after(self, seq: int) -> Sequence[RecordedChange]:
        """Return the changes after that position in the journal that are not undone."""
        return self.standing.after(seq)

    def since(self, step: int) -> Sequence[RecordedChange] | None:
        """Return the changes since the start of a step that are not undone, or None if there is no such step."""
        return None if (start := self._steps.get(step)) is None else self.standing.after(start)

    def apply(self, stamped: Stamped) -> None:
        """Fold the next event into this state."""
        self.approvals.apply(stamped.event)
        self.unrecorded.apply(stamped)
        match stamped.event:
            case RunStarted(world=world):
                self.world = world
            case Snapshotted() | BackgroundStarted(outputs=[]) as event:
                self._apply_snapshot(stamped, event)
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
            case EffectsAccepted() | EffectsApplied() | UndoAccepted() | StageBegan() | StageEnded():
                self._apply_layers(stamped, stamped.event)
            case PassStarted():
                self._before_pass = len(self.standing)
            case PassFinished(verdict="reverted" | "unmeasured") | PassFinished(dropped=True):
                self.standing.cut(self._before_pass)
            case Undone():
                self._undo(stamped.event)
            case _:
                pass

    def _end_stage(self) -> None:
        """Forget what was staged and did not get into the workspace."""
        self.stage = None
        self.in_stage.cut(0)
        for path in self.staged:
            self.files.pop(path, None)
        self.staged.clear()

    def _apply_layers(self, stamped: Stamped, event: LayersEvent) -> None:
        match event:
            case EffectsAccepted():
                self.accepted[event.order] = event
            case EffectsApplied():
                self._note_effects(stamped, event)
            case UndoAccepted():
                self.undoing[event.order] = event
            case StageBegan(folder=folder):
                self.stage, self.stage_since = folder, stamped.seq
            case StageEnded():
                self._end_stage()
            case OutputsWritten():
                pass  # `Unrecorded`

    def _note_effects(self, stamped: Stamped, applied: EffectsApplied) -> None:
        """Complete the change of a command whose effects are known. Its `file_changed` events came right before."""
        accepted = self.accepted.pop(applied.order, None)
        if accepted is None or applied.lost:
            return
        if self.stage is not None and accepted.in_place:  # in the stage, which has all of it
            return
        self.orders.append(accepted.rows)
        if self.stage is not None:  # some of it was applied; what was not is among the files of the stage
            self.in_stage.cut(0)
            self.stage_since = stamped.seq
        if accepted.pass_number:
            self._note_pass(stamped, accepted, applied)
            return
        last = self.standing[-1] if self.standing else None
        if accepted.in_place and last is not None and last.is_background and last.effects is None:
            last.effects = _applied(accepted, applied, accepted.also)
            return
        running = self._running.setdefault((stamped.step, stamped.work), _Running("", accepted.command))
        change, also = running.change, [*accepted.also]
        if applied.failed_git:
            also = [one for one in also if not one.startswith(GIT_WORDS)]
        if change is None and also:
            change = RecordedChange(stamped.seq, stamped.step, accepted.command, running.world, self.world)
            self._add_change(change)
        if change is not None:
            change.command = accepted.command
            change.effects = _applied(accepted, applied, also)
        running.change, running.is_layered = None, True

    def _note_pass(self, stamped: Stamped, accepted: EffectsAccepted, applied: EffectsApplied) -> None:
        """Replace the changes that were made in the layer of a pass by one: what was applied of them."""
        self._running.pop((stamped.step, stamped.work), None)
        files = dict[str, FileEffect]()
        for change in self.in_pass:
            for path, moved in change.files.items():
                first = files.get(path, moved)
                files[path] = replace(
                    moved,
                    before=first.before,
                    unstored_before=first.unstored_before,
                    added=first.added + moved.added,
                    removed=first.removed + moved.removed,
                    folders=None,
                    is_seen=first.is_seen and moved.is_seen,
                )
        files = {path: moved for path, moved in files.items() if moved.old != moved.new}
        self.standing.cut(self._before_pass)
        change = RecordedChange(stamped.seq, stamped.step, accepted.command, self.world, files=files)
        change.effects = _applied(accepted, applied, accepted.also)
        self._add_change(change)

    def _undo(self, undone: Undone) -> None:
        """Remove the undone changes; of a file that was undone alone, from each change."""
        path = undone.path
        self.undoing.pop(undone.order, None)
        self.undone += undone.changes if path is None or path in undone.files else 0
        if path is None:
            first = max(0, len(self.standing) - undone.changes)
            parts = [_only(change, undone.unconfirmed) for change in self.standing[first:]]
            self.unconfirmed = sorted(
                [*self.unconfirmed, *(one for one in parts if one.files)], key=lambda one: one.seq
            )
            self.standing.cut(first)
        elif path in undone.files:
            others = [_only(change, {*change.files} - {path}) for change in self.unconfirmed]
            self.unconfirmed = [one for one in others if one.files]
            kept = [change for change in self.standing if not _is_only(change, path)]
            self._before_pass = sum(not _is_only(change, path) for change in self.standing[: self._before_pass])
            self.standing.cut(0)
            for change in kept:
                if change.files.pop(path, None) is not None:
                    change.undone.append(path)
                self._add_change(change)

    def _apply_snapshot(self, stamped: Stamped, taken: Snapshotted | BackgroundStarted) -> None:
        if isinstance(taken, BackgroundStarted) or taken.layer:  # none was taken, or it cannot write to the workspace
            if (running := self._running.get((stamped.step, stamped.work))) is not None:
                running.is_layered = running.has_snapshot = True
            return
        world = taken.world
        if world != self.world:
            self._world_before = self.world
        self.world = world
        for running in self._running.values():
            if not running.has_snapshot:
                running.has_snapshot, running.world = True, world

    def _decide(self, stamped: Stamped, decided: ProposalDecided) -> None:
        call_id, command = self._proposed.pop(decided.proposal_id, ("", ""))
        key = (stamped.step, stamped.work)
        known = self._running.get(key)
        if decided.decision != "reject" and call_id and (known is None or known.call_id != call_id):
            self._running[key] = _Running(call_id, command)

    def _finish(self, stamped: Stamped, call_id: str) -> None:
        """Record a command that ran without snapshots as a change with unknown files."""
        key = (stamped.step, stamped.work)
        running = self._running.get(key)
        if running is None or running.call_id != call_id:
            return
        del self._running[key]
        if running.change is None and self.world is None and not running.is_layered and self.stage is None:
            self._add_change(RecordedChange(stamped.seq, stamped.step, running.command, None))

    def _change(self, stamped: Stamped, changed: FileChanged) -> None:
        path, by = changed.path, changed.by
        if by not in _BY_TOOLS:
            return
        folders = None if changed.folders is None else tuple(changed.folders)
        is_seen = self.approvals.take(path, changed.before, changed.after)
        moved = FileEffect(
            changed.before,
            changed.after,
            changed.added,
            changed.removed,
            folders,
            changed.unstored_before,
            changed.unstored_after,
            is_seen,
        )
        known = self.files.get(path)
        if by not in ("restore", "undo") or known is not None:
            self.files[path] = (known[0] if known is not None else moved.old, moved.new)
        if changed.staged:
            self.staged.add(path)
            if by in ("model", "person", "command"):
                command = None if by != "command" else "a command"
                change = RecordedChange(stamped.seq, stamped.step, command, None, files={path: moved})
                change.is_by_person = by == "command" and self.approvals.in_control
                self.in_stage.append(change)
            return
        self.staged.discard(path)
        if by in ("model", "person"):
            self._add_change(RecordedChange(stamped.seq, stamped.step, None, self.world, files={path: moved}))
        elif by == "command":
            self._command(stamped, path, moved)
        elif by == "background":
            self._background(stamped, changed, moved)
        elif by == "restore":
            self._restored(stamped, path)

    def _add_change(self, change: RecordedChange) -> None:
        self.standing.append(change)
        running = [one.change for one in self._running.values()]
        self.standing.pack_older(lambda old: any(old is one for one in running))

    def _command(self, stamped: Stamped, path: str, moved: FileEffect) -> None:
        """Record a file change by a command. If reported twice (after a crash), keep the first and last state."""
        key = (stamped.step, stamped.work)
        running = self._running.setdefault(key, _Running("", "a command"))
        change = running.change
        if change is None:
            change = running.change = RecordedChange(stamped.seq, stamped.step, running.command, running.world)
            change.is_by_person = self.approvals.in_control
            self._add_change(change)
        change.world_after = self.world
        first = change.files.get(path, moved)
        is_seen = moved.is_seen or (first.is_seen and first.new == moved.new)
        change.files[path] = replace(moved, before=first.before, unstored_before=first.unstored_before, is_seen=is_seen)

    def _background(self, stamped: Stamped, changed: FileChanged, moved: FileEffect) -> None:
        """Record a change by a background command. All files found by one look are one change."""
        last = self.standing[-1] if self.standing else None
        is_same = last is not None and last.world_after == self.world and last.command == changed.command
        if last is None or not (is_same and last.is_background and last.effects is None):
            last = RecordedChange(
                stamped.seq,
                stamped.step,
                changed.command or "in the background",
                self._world_before,
                self.world,
                is_background=True,
            )
            self._add_change(last)
        last.files[changed.path] = moved

    def _restored(self, stamped: Stamped, path: str) -> None:
        """Remove the change of a guarded file that was already restored."""
        running = self._running.get((stamped.step, stamped.work))
        if running is None or running.change is None:
            last = self.standing[-1] if self.standing else None
            if last is not None and last.is_background and last.files.pop(path, None) and not last.files:
                self.standing.cut(len(self.standing) - 1)
            return
        running.change.files.pop(path, None)
        if not running.change.files:
            self.standing.newest.remove(running.change)
            running.change = None


def _applied(accepted: EffectsAccepted, applied: EffectsApplied, also: Sequence[str]) -> AppliedEffects:
    return AppliedEffects(
        order=accepted.order,
        rows=accepted.rows,
        shown=accepted.shown,
        failed=tuple(applied.failed),
        git=accepted.git,
        failed_git=tuple(applied.failed_git),
        also=tuple(also),
        built=tuple(accepted.built),
        in_place=accepted.in_place,
    )


def _only(change: RecordedChange, paths: Collection[str]) -> RecordedChange:
    """Return a change with these of its files."""
    files = {path: effect for path, effect in change.files.items() if path in paths}
    return replace(change, files=files, undone=[*change.undone, *({*change.files} - {*files})])


def _is_only(change: RecordedChange, path: str) -> bool:
    """Return whether nothing is left of a change without this file."""
    return {*change.files} == {path} and (change.effects is None or not change.effects.also)


def standing_changes(journal: Journal) -> Changes:
    """Return the changes that a view needs before an undo. Reads no other events. Raises JournalError."""
    changes, kinds = Changes(), [str(kind.__struct_config__.tag) for kind in _CHANGE_EVENTS]
    marks = ", ".join("?" for _ in kinds)
    query = f"SELECT seq, at, step, work, type, body FROM events WHERE type IN ({marks}) ORDER BY seq"
    for seq, at, step, work, kind, body in journal.rows(query, kinds):
        if not has_own_tree(work):
            changes.apply(Stamped(seq, at, step, work, decode(kind, body)))
    return changes
