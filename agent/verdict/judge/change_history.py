"""Read what a run and the runs before it changed, path by path: from its journal, from the ledger, and from a unit."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from ...journal.encoding import recorded_text
from ...layers.effect_rows import EffectRow, decode_git, decode_rows
from ...layers.layer_effects import Side
from ...protocol import LoopKind
from ...state.facts.unrecorded import EVERYWHERE
from .decided import END, History, Step, Writer, is_same_file
from .repository_changes import repository_changes

if TYPE_CHECKING:
    from ...journal.journal import Journal
    from ...layers.git.git_rows import GitChanges
    from ...layers.present import Present
    from ...protocol import NotStored
    from ...state.facts.change_log import FileEffect, RecordedChange
    from ...state.facts.run_facts import RunFacts
    from .workspace_ledger import Noted, UndecidedChange

_UNKNOWN = Side(type="file")
"""A content of which only older versions know whether it existed."""
_GIT_HOOKS = "hooks of git wrote there, and nothing recorded what"


class UnitChanges(NamedTuple):
    """What a unit of work has changed so far."""

    begin: int
    """Position in the journal at which the unit began."""
    rows: Sequence[EffectRow]
    """Its list: each path with what the workspace has and what the unit has."""
    changes: Sequence[RecordedChange] = ()
    """What was recorded while it worked and is not among the changes of the run, oldest first."""


class Read(NamedTuple):
    """What `read_history` found."""

    history: History
    now: Mapping[str, Side | None]
    """What is at each path of the history."""


def read_history(
    facts: RunFacts,
    journal: Journal,
    noted: Noted,
    present: Present,
    workspace: Path,
    unit: UnitChanges | None = None,
    since_start: Sequence[EffectRow] | None = None,
) -> Read:
    """Read what changed. Raises OSError if the workspace cannot be opened.

    `present`: of the workspace, or of the view of `unit`, if a unit is open. `since_start`: what differs from the
    start, if something of the run could change it without a record, or None if there is no copy of the start.
    """
    changes, folds = facts.changes, _ignores_case(workspace)
    reading = _Reading(journal, folds, END if unit is None else unit.begin)
    for change in (*changes.standing, *(() if unit is None else (*changes.in_stage, *unit.changes))):
        reading.add(change)
    if unit is not None:
        reading.add_unit(unit)
    reading.add_start(since_start or ())
    writers = list(_writers(facts, unit, reading, has_start=since_start is not None))
    outputs = {*changes.unrecorded.outputs, *noted.outputs}
    outputs |= {one.folder for one in writers if not one.why and one.folder != EVERYWHERE}
    git = repository_changes(workspace, reading.git)
    history = History(
        paths=dict.fromkeys((*reading.paths, *(reading.key(entry.path) for entry in noted.entries)), ()),
        made=frozenset(reading.made),
        gone=frozenset(reading.gone),
        outputs=frozenset(outputs),
        writers=writers,
        accepted=changes.approvals.accepted,
        git=git,
        lost=reading.lost,
    )
    now = dict(present.sides(sorted(history.shown)))
    paths = {path: _with_modes(steps, now[path]) for path, steps in reading.paths.items()}
    for entry in noted.entries:
        path = reading.key(entry.path)
        if entry.run == facts.spec.run_id and (steps := paths.get(path)):
            own = is_same_file(entry.start, steps[0].before)
            paths[path] = steps if own else [Step(entry.start, steps[0].before, 0), *steps]
        else:
            paths[path] = _with_entry(paths.get(path, []), entry, now[path])
    return Read(dataclasses.replace(history, paths=paths), now)


class _Raw(NamedTuple):
    """A change as it was recorded."""

    step: Step
    is_edit: bool = False
    """It kept the permissions of its file, which are not recorded."""


@dataclass(slots=True)
class _Reading:
    journal: Journal
    folds: bool
    """Whether the file system ignores case."""
    unit_began: int
    """Position in the journal at which the open unit began; `END`: none is open."""
    paths: dict[str, list[_Raw]] = field(default_factory=dict[str, list[_Raw]])
    made: set[str] = field(default_factory=set[str])
    gone: set[str] = field(default_factory=set[str])
    git: list[GitChanges] = field(default_factory=list["GitChanges"])
    lost: list[str] = field(default_factory=list[str])
    _names: dict[str, str] = field(default_factory=dict[str, str])
    """Folded path to the name that it had first."""

    def key(self, path: str) -> str:
        """Return the name under which a path is known."""
        return self._names.setdefault(path.casefold(), path) if self.folds else path

    def add(self, change: RecordedChange) -> None:
        """Add the next newer change."""
        effects, rows = change.effects, list[EffectRow]()
        if effects is None and change.command is not None and not change.files:
            self.lost.append(f"{change.title}: what it changed is not recorded")
        if effects is not None:
            try:
                rows = decode_rows(self.journal.blobs.load(effects.rows))
                if effects.git is not None:
                    of_git = enumerate(decode_git(self.journal.blobs.load(effects.git)))
                    self.git += [one for number, one in of_git if number not in effects.failed_git]
            except KeyError:
                self.lost.append(f"{change.title}: the journal does not contain what it changed")
        failed = () if effects is None else effects.failed
        known = set[str]()
        for number, row in enumerate(rows):
            name = recorded_text(row.path)
            known.add(name)
            if number not in failed and name not in change.undone:
                self._add_row(row, change, change.files.get(name))
        for path, moved in change.files.items():
            if path not in known:
                self._add_edit(path, moved, change)

    def add_unit(self, unit: UnitChanges) -> None:
        """Add what a unit shows of the workspace, as it was when the unit began."""
        for row in unit.rows:
            self._note_folders(row)
            if not _is_folder(row):
                before = _as_file(row.before)
                raws = self.paths.setdefault(self.key(row.path), [])
                at = next((number for number, raw in enumerate(raws) if raw.step.seq > unit.begin), len(raws))
                raws.insert(at, _Raw(Step(before, before, unit.begin, is_run=False)))

    def add_start(self, rows: Sequence[EffectRow]) -> None:
        """Add what these paths had at the start."""
        for row in rows:
            if not _is_folder(row):
                step = Step(_as_file(row.before), _as_file(row.before), 0, is_run=False)
                self.paths.setdefault(self.key(row.path), []).insert(0, _Raw(step))

    def _add_row(self, row: EffectRow, change: RecordedChange, moved: FileEffect | None) -> None:
        if not change.is_by_person:
            self._note_folders(row)
        if _is_folder(row):
            return
        is_seen = moved is not None and moved.is_seen
        step = Step(_as_file(row.before), _as_file(row.after), change.seq, not change.is_by_person, is_seen)
        self.paths.setdefault(self.key(row.path), []).append(_Raw(step))

    def _add_edit(self, path: str, moved: FileEffect, change: RecordedChange) -> None:
        is_old = change.command is not None and change.effects is None  # an older version without rows
        is_old = is_old and change.seq < self.unit_began
        nothing = _UNKNOWN if is_old else None
        before = _side(moved.before, moved.unstored_before) or nothing
        after = _side(moved.after, moved.unstored_after) or nothing
        step = Step(before, after, change.seq, not change.is_by_person, moved.is_seen)
        self.paths.setdefault(self.key(path), []).append(_Raw(step, is_edit=True))
        for folder in moved.folders or ():
            self._note_made(folder)

    def _note_folders(self, row: EffectRow) -> None:
        was, is_now = (side is not None and side.type == "folder" for side in (row.before, row.after))
        if is_now and not was:
            self._note_made(row.path)
        elif was and not is_now:
            if row.path not in self.made:
                self.gone.add(row.path)
            self.made.discard(row.path)

    def _note_made(self, path: str) -> None:
        if path in self.gone:
            self.gone.discard(path)
        else:
            self.made.add(path)


def _with_modes(raws: Sequence[_Raw], now: Side | None) -> list[Step]:
    """Return the steps of a path. An edit gets the execute bit of the nearest recorded state of its file."""
    steps = list[Step]()
    for number, (step, is_edit) in enumerate(raws):
        if is_edit:
            later = (raw.step.before for raw in raws[number + 1 :] if not raw.is_edit)
            earlier = (raw.step.after for raw in reversed(raws[:number]) if not raw.is_edit)
            near = (*later, now, *earlier) if step.after is not None else tuple(earlier)
            runs = next((side.executable for side in near if side is not None and side.type == "file"), False)
            step = step._replace(before=_running(step.before, runs=runs), after=_running(step.after, runs=runs))
        steps.append(step)
    return steps


def _running(side: Side | None, *, runs: bool) -> Side | None:
    return side if side is None else replace(side, executable=runs)


def _with_entry(steps: Sequence[Step], entry: UndecidedChange, now: Side | None) -> list[Step]:
    """Put a change of another run where it belongs among those of this one."""
    present = _as_file(now)
    if steps and not is_same_file(steps[0].before, entry.after):
        for at, (one, other) in enumerate(pairwise(steps), 1):
            if is_same_file(other.before, entry.after) and not is_same_file(one.after, other.before):
                return [*steps[:at], Step(one.after, other.before, one.seq), *steps[at:]]
        last = steps[-1]
        if is_same_file(present, entry.after) and not is_same_file(last.after, present):
            return [*steps, Step(last.after, present, last.seq)]
    return [Step(entry.before, entry.after, 0), *steps]


def _writers(facts: RunFacts, unit: UnitChanges | None, reading: _Reading, *, has_start: bool) -> Iterator[Writer]:
    """Yield what could write without a record. In a unit nobody but the run writes, and its list has all of it.

    `has_start`: there is a copy of the start, with which the workspace was compared.
    """
    if unit is not None:
        listed = frozenset(reading.key(row.path) for row in unit.rows)
        yield Writer(EVERYWHERE, unit.begin, only=listed)
    live = {os.path.normpath(name) for name in facts.spec.gate.sandbox.live}
    for one in facts.changes.unrecorded.writers:
        for folder in one.folders:
            why = f"{one.what} could write there, and nothing recorded what"
            is_output = folder != EVERYWHERE and folder not in live
            why = "" if is_output or (one.is_compared and has_start) else why
            yield Writer(folder, one.begin, END if one.end is None else one.end, why)
    loops = (LoopKind.GOAL, LoopKind.CHAT, LoopKind.PACED)
    if facts.spec.commit_hooks and facts.spec.loop in loops:  # passes record what they did
        yield Writer(EVERYWHERE, 0, END, _GIT_HOOKS)


def _side(blob: str | None, unstored: NotStored | None) -> Side | None:
    if blob is not None:
        return Side(type="file", digest=blob)
    return None if unstored is None else Side(type="file", digest=unstored.digest, size=unstored.size)


def _as_file(side: Side | None) -> Side | None:
    return None if side is None or side.type == "folder" else side


def _is_folder(row: EffectRow) -> bool:
    return all(side is None or side.type == "folder" for side in (row.before, row.after))


def _ignores_case(workspace: Path) -> bool:
    """Return whether the file system of a workspace takes names that differ in case for the same."""
    other = workspace.with_name(workspace.name.swapcase())
    try:
        return other.name != workspace.name and other.samefile(workspace)
    except OSError:
        return False
