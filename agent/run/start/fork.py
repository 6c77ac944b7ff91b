"""Fork a run: make a new run with the conversation and the spend of another one, which does not change."""

from __future__ import annotations

import asyncio
import os
import shutil
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from ...host.crash import crash_point
from ...journal.claim import holder
from ...journal.integrity.unfinished import rename_complete
from ...journal.journal import Journal
from ...protocol import PlanAccepted, Prompted, RunEnded, RunStarted, Stamped, Undone, UserError
from ...state.facts.run_facts import RunFacts
from ...state.reports.run_files import journal_path, new_run_id
from ..commands.context_after_end import context_after_end
from ..commands.undo_command import revert_changes
from ..commands.undo_effects import forget_undo
from ..end.undecided import note_before_fork
from .damaged_journal import require_undamaged

if TYPE_CHECKING:
    from ...state.facts.change_log import RecordedChange

_BATCH = 5_000
_NOTE = (
    "This run was forked from another one, after its step {step}. The files may have been changed since then: "
    "read a file before you change it."
)
_FOLDERS = (".snapshots", ".setup")
"""What a run stores in folders next to its journal."""
_UNFINISHED = {".snapshots": shutil.ignore_patterns("tmp_*")}
"""What is left out of them."""


class Forked(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a fork."""

    run_id: str
    journal: str
    forked_from: str
    step: int
    """Number of the newest step that the new run contains."""
    steps: int
    """Number of steps of the original run."""
    restored: list[str] = []
    """Files that were restored to their content after that step."""
    left: list[str] = []
    """What could not be restored, and why, one line each."""


@dataclass(frozen=True, slots=True)
class _Cut:
    """The point up to which the new run copies the original one."""

    seq: int
    """Sequence number of the last event to copy."""
    step: int
    facts: RunFacts
    """The facts of the whole original run."""

    @property
    def changes(self) -> Sequence[RecordedChange]:
        """What the original run changed after that point, and nobody undid."""
        return self.facts.changes.after(self.seq)


class _EventTimes:
    """The clock of the new run: copied events keep their time, and later events get the present time."""

    def __init__(self) -> None:
        self.copied: float | None = None
        """Time of the event that is being copied, in Unix seconds, or None if no event is being copied."""

    def now(self) -> float:
        """Return the time of the next event."""
        return time.time() if self.copied is None else self.copied


def fork(source: Path, folder: Path, *, at: int | None = None, files: bool = False) -> Forked:
    """Create a run in `folder` that continues `source` after step `at` (None means the newest finished step).

    With `files`, also restore the files that changed since that step. Raises UserError or JournalError; then no run was
    created and no file was changed.
    """
    old = Journal.open(source)
    try:
        require_undamaged(old)
        cut = _cut(old, at)
        if files:
            _refuse_files(old)
        _note_undecided(old, cut.facts)
        path = _copy(old, folder, cut, tell=not files)
    finally:
        old.close()
    undone = asyncio.run(_take_back(path, cut.changes)) if files and cut.changes else None
    return Forked(
        run_id=path.stem,
        journal=str(path),
        forked_from=old.spec.run_id,
        step=cut.step,
        steps=cut.facts.step,
        restored=[] if undone is None else undone.files,
        left=[] if undone is None else undone.kept,
    )


def _cut(old: Journal, at: int | None) -> _Cut:
    """Find the point after step `at` where every call has its result. Raises UserError if there is none."""
    run_id = old.spec.run_id
    if old.spec.loop.traits.has_search:
        raise UserError(
            f"{run_id} is a search: searches cannot be forked, because their frontier cannot be rolled back"
        )
    facts, found = RunFacts(old.spec), None
    while events := old.read(facts.last_seq, _BATCH):
        for stamped in events:
            facts.apply(stamped)
            if _may_cut(facts, stamped) and (at is None or facts.step <= at):
                found = _Cut(stamped.seq, facts.step, facts)
    if found is None or (at is not None and found.step != at):
        newest = f"the newest step is {facts.step}" if facts.step else "it has no steps"
        raise UserError(f"{run_id} cannot be forked after step {at or 0}: that step has not ended; {newest}")
    return found


def _may_cut(facts: RunFacts, stamped: Stamped) -> bool:
    is_whole = facts.started and not facts.open_steps and not facts.main.pending and not facts.main.unanswered()
    return is_whole and not isinstance(stamped.event, RunEnded)


def _note_undecided(old: Journal, facts: RunFacts) -> None:
    """Record for the new run what the old one changed after the cut and nobody decided on. Raises UserError."""
    if not Path(old.spec.workspace).is_dir():
        return
    try:
        note_before_fork(old, facts)
    except (OSError, ValueError) as error:
        raise UserError(f"what {old.spec.run_id} changed cannot be noted: {error}") from error


def _refuse_files(old: Journal) -> None:
    if holder(old.path) is not None:
        raise UserError(f"{old.spec.run_id} is running: stop it first, or fork without --files")
    if not Path(old.spec.workspace).is_dir():
        raise UserError(f"the workspace {old.spec.workspace} does not exist: fork without --files")


def _copy(old: Journal, folder: Path, cut: _Cut, *, tell: bool) -> Path:
    run_id = new_run_id(time.time())
    path = journal_path(folder, run_id)
    spec = msgspec.structs.replace(old.spec, run_id=run_id, attended=False)
    times = _EventTimes()
    new = Journal.create_unnamed(path, spec, times.now)
    try:
        crash_point("fork: begun")
        for of_run in _FOLDERS:
            _link_folder(old.path.with_suffix(of_run), path.with_suffix(of_run))
        with new.transaction():
            new.set_meta("forked_from", old.spec.run_id)
            new.set_meta("forked_step", str(cut.step))
            new.set_meta("start_of", old.meta("start_of") or old.spec.run_id)
            _copy_events(old, new, cut, times, path)
            times.copied = None
            if tell and cut.step < cut.facts.step:
                new.append(Prompted(kind="note", text=_NOTE.format(step=cut.step)))
            newest = old.rows("SELECT coalesce(max(id), 0) FROM commands")[0][0]
            # queued messages are named by command ids, so ids of the new run must not repeat ids of the old one
            new.write("INSERT INTO commands(id, at, body, taken_at) VALUES (?, 0, x'', 0)", [(newest + 1,)])
            new.write("DELETE FROM commands")
        for (sha,) in old.rows("SELECT sha FROM blobs"):
            new.blobs.keep(old.blobs.load(sha))
        new.close()
        rename_complete(new.path, path)
    except BaseException:
        new.close()
        _remove(new.path)
        for of_run in _FOLDERS:
            shutil.rmtree(path.with_suffix(of_run), ignore_errors=True)
        raise
    return path


def _copy_events(old: Journal, new: Journal, cut: _Cut, times: _EventTimes, path: Path) -> None:
    after = 0
    while after < cut.seq and (events := old.read(after, _BATCH)):
        for stamped in events:
            after = stamped.seq
            if after > cut.seq:
                return
            times.copied = stamped.at
            event = stamped.event
            if isinstance(event, RunStarted):
                note = f"forked from {event.run_id} after step {cut.step}"
                event = msgspec.structs.replace(
                    event, run_id=new.spec.run_id, journal=str(path), notes=[*event.notes, note]
                )
            elif isinstance(event, PlanAccepted):  # the original's run carries out the plan of the original
                event = msgspec.structs.replace(event, run_id=new_run_id(time.time()))
            new.append(event, step=stamped.step, work=stamped.work)


def _link_folder(old: Path, new: Path) -> None:
    """Hard-link what the old run stored in a folder. Both runs can share it, because a stored file never changes."""
    if not old.is_dir():
        return

    def link(source: str, target: str) -> None:
        try:
            os.link(source, target)
        except OSError:  # another disk, or a file system without hard links
            shutil.copy2(source, target)

    shutil.copytree(old, new, symlinks=True, copy_function=link, ignore=_UNFINISHED.get(old.suffix))


def _remove(path: Path) -> None:
    for name in (path, *(path.with_name(path.name + end) for end in ("-wal", "-shm", ".tail"))):
        with suppress(FileNotFoundError):
            name.unlink()


async def _take_back(path: Path, changes: Sequence[RecordedChange]) -> Undone:
    """Undo what the original run changed after the cut, and record it in the new journal. Returns the outcome."""
    journal = Journal.open(path)
    try:
        context = context_after_end(journal)
        by_name = [name for change in changes for name in change.files]
        undone = await revert_changes(context, changes, confirmed=by_name)
        context.events.record(msgspec.structs.replace(undone, changes=0))  # the new run has not made them
        forget_undo(context, undone)
        return undone
    finally:
        journal.close()
