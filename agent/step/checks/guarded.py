"""The guarded files of a run: sealed at the start, and compared around each check.

A person keeps or restores each change. Without one, a change stays in the user's folder, because the user may have made
it, and is restored in a worktree of rundry (docs/decisions/0036).
"""

from __future__ import annotations

import asyncio
import hashlib
import stat
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from ...gate.draft import changed_draft
from ...protocol import (
    ChangesUndecided,
    FileChanged,
    GuardApproved,
    GuardSealed,
    JournalError,
    Record,
    RundryError,
    Stamped,
)
from ...workspace.seals.marks import ABSENT, FILE, LINK, Mark
from ...workspace.seals.restore import SealRestorer
from ...workspace.seals.seals import Difference, Seals
from ..resources.recorder import with_waiting
from .guard_report import GuardReport, not_held_lines
from .sealing import capture

if TYPE_CHECKING:
    from ...facts.facts import RunFacts
    from ...journal.journal import Journal
    from ...layers.classes import Class
    from ...layers.run_layers import Listed
    from ...workspace.processes.processes import ProtectedChange
    from ..resources.activity import Activity
    from ..resources.tree import Tree

GUARD_REASON = "it decides whether the goal is met"
_NOT_FILES = frozenset({"git", "bytecode"})
"""Classes of effects that are never applied as files."""
_WHEREVER = frozenset({"protected", "ordinary"})
"""Classes of effects in which a new file can decide a verdict by its name."""
_MOST_ASKED = 20
"""Most protected files of one command about which a person is asked; further ones stay and are named."""


class Guarded:
    """The guarded files of one run. If nothing is guarded, all methods do nothing."""

    def __init__(self, tree: Tree, journal: Journal, facts: RunFacts, activity: Activity) -> None:
        self._tree, self._journal, self._facts, self._activity = tree, journal, facts, activity
        guard, workspace = tree.guard, tree.workspace
        self._guard, self._root, private = guard, workspace.root, workspace.skipped
        depends = guard.depends
        places, goals = depends.places, depends.goals
        self._seals = Seals(self._root, guard.seals, journal.keep, private, installed=places, goals=goals)
        overflow = journal.path.with_suffix(".kept")
        self._restorer = SealRestorer(self._root, overflow, workspace.own_writes, journal.keep, workspace.leftovers)
        self._one_at_a_time = asyncio.Lock()
        self.has_earlier_seal = False
        """Whether an earlier runner recorded the approved content."""
        self.not_held: list[str] = []
        """What could not be guaranteed, one line each."""
        self.unrestored: dict[str, tuple[str, Mark]] = {}
        """Paths that differ and could not be restored: why, and what is there now."""
        self.undecided: dict[str, Mark] = {}
        """Paths that differ, and that nobody decided about: what is there now."""
        self._stale: list[str] = []
        """Bytecode files that checks must not load and that could not be removed."""
        self.outputs: dict[str, set[str]] = {}
        """Command to the files that it changes whenever it runs."""

    @property
    def exists(self) -> bool:
        """Whether anything is guarded."""
        return bool(self._guard)

    @property
    def listed(self) -> int:
        """Number of names that `start` has read so far."""
        return self._seals.listed

    async def start(self, *, is_new: bool = False) -> list[str]:
        """Seal the current files, or load the seal of an earlier runner. Returns notes for the user. Raises Refusal.

        `is_new`: seal them in any case, because what the user has now counts.
        """
        if not self._guard:
            return []
        notes: list[str] = []
        facts, depends = self._facts.seals, self._guard.depends
        try:
            if facts.seal is not None and not is_new:
                known = self._seals.load(self._journal.blob(facts.seal))
                depends.shadows.forget_new(known)
                for path, blob in facts.written.items():
                    self._wrote(path, blob)
                for path, kept in facts.kept.items():
                    self._seals.approve_mark(path, Mark(kept.kind, kept.digest, kept.mode, kept.size))
                self.not_held = list(facts.not_held)
                self.has_earlier_seal = True
                return []
        except (KeyError, msgspec.DecodeError):
            notes.append("the guard's record of this run is damaged: the current content counts as approved")
        await capture(self._seals, [*filter(self._guard.matches, depends.files), *self._outside()])
        with self._journal.transaction():
            self._seals.keep_approved()
        self.not_held = not_held_lines(
            self._tree.sandbox.kind, len(self._seals.existing), self._seals.lost, self._seals.cut_links
        )
        return notes

    def seal(self, record: Record, *, is_new: bool = False) -> None:
        """Record the seal, unless an earlier runner did. `is_new`: also then."""
        if not self._guard or (self._facts.seals.seal is not None and not is_new):
            return
        blob = self._journal.keep(self._seals.stored(self._guard.depends.shadows.known))
        only = self._guard.is_asked_only
        record(GuardSealed(seal=blob, files=len(self._seals), not_held=self.not_held, asked_only=only))

    def read_only(self) -> list[Path]:
        """Return files that a command must not write. Files that the check executes or that configure it come first."""
        if not self._guard:
            return []
        own = self._guard.depends.files
        paths = sorted(self._seals.existing, key=lambda path: (path not in own, path.count("/"), path))
        return [self._root / path for path in paths]

    def on_event(self, stamped: Stamped) -> None:
        """Approve the content that a tool of the run wrote to a guarded path, because someone approved that change."""
        changed = stamped.event
        if self._guard and isinstance(changed, FileChanged) and changed.by not in ("command", "background"):
            self._wrote(changed.path, changed.after)

    def _wrote(self, path: str, blob: str | None) -> None:
        if self._seals.mark_of(path) is not None or self._guard.matches(path):
            self._seals.approve_bytes(path, blob)
            self.unrestored.pop(path, None)
            self.undecided.pop(path, None)

    async def approve_user_changes(self, paths: Sequence[str], record: Record) -> None:
        """Approve the current content of these paths, because the person changed them."""
        changed = [path for path in paths if self._guard and self._guard.matches(path)]
        for path in changed:
            await self._approve(path, record)

    def approved(self) -> dict[str, str]:
        """Return the SHA-256 of the approved content of each guarded file of the workspace, by path."""
        marks = {path: self._seals.mark_of(path) for path in self._seals.existing} if self._guard else {}
        return {path: mark.digest for path, mark in marks.items() if mark is not None and mark.kind == "file"}

    def written_in(self, listed: Listed) -> list[str]:
        """Return the guarded paths that commands of a layer wrote, except new data files below the tests."""
        deciding = set(listed.touched)
        for group in listed.groups:
            for effect in (one.effect for one in group.entries):
                is_output = effect.kind == "added" and self._guard.is_output(effect.path)
                if self.holds(group.kind, effect.path) and not is_output:
                    deciding.add(effect.path)
        return sorted(deciding)

    def holds(self, kind: Class, path: str) -> bool:
        """Return whether an effect of a layer changes a guarded file. Of what git ignores, only approved files are."""
        if kind in _NOT_FILES or not self._guard:
            return False
        return self._guard.seals(path) if kind in _WHEREVER else self._seals.mark_of(path) is not None

    @property
    def paths(self) -> list[str]:
        """The guarded paths of the workspace that have an approved file or link."""
        return self._seals.existing if self._guard else []

    async def differences(self, *, full: bool) -> list[Difference]:
        """Return guarded paths that differ from their approved content. `full`: compare content."""
        if not self._guard:
            return []
        compare = self._seals.compare if full else self._seals.compare_changed
        return await asyncio.to_thread(compare)

    async def _of_user(self, found: Sequence[Difference]) -> set[str]:
        """Return the paths of differences that nothing of this run wrote, because all that it writes is known."""
        paths = [one.path for one in found if not _is_outside(one.path)]
        unit, layers = self._tree.unit, self._tree.layers
        if unit is not None:
            return {*paths} - {*await asyncio.to_thread(unit.layer.touched, paths)}
        return {*paths} if layers is not None and not layers.others_write else set()

    def touched_since(self, before: dict[str, object]) -> list[str]:
        """Return paths that were written since `before`, even if their content is the same."""
        now = self._seals.stamps()
        return sorted(path for path, stamp in before.items() if now.get(path) != stamp)

    def stamps(self) -> dict[str, object]:
        """Return the file stamps that `touched_since` compares."""
        return dict(self._seals.stamps())

    async def tolerate_outputs(self, found: Sequence[Difference]) -> list[Difference]:
        """Return the differences without new data files that the check itself made below the tests; tolerate those."""
        made = [d.path for d in found if d.approved.kind == "absent" and self._guard.is_output(d.path)]
        if made:
            await asyncio.to_thread(self._seals.accept_outputs, made)
        return [d for d in found if d.path not in made]

    @property
    def restores(self) -> bool:
        """Whether a change that nobody decides about is restored, because nobody else writes in this worktree."""
        return self._tree.is_own

    async def open_differences(self, *, full: bool) -> list[Difference]:
        """Return the differences without those that stay until somebody decides."""
        return [one for one in await self.differences(full=full) if self.undecided.get(one.path) != one.now]

    def note_undecided(self, record: Record, protected_files: Sequence[str] = ()) -> None:
        """Record which changes nobody decided about, if that is new. `protected_files`: those that are not guarded."""
        facts = self._facts.seals
        guarded, protected = sorted(self.undecided), sorted({*facts.unreviewed, *protected_files})
        if (guarded, protected) != (facts.undecided, facts.unreviewed):
            record(ChangesUndecided(guarded=guarded, protected=protected))

    async def keep_or_restore(
        self, record: Record, command: str, *, full: bool, protected: Sequence[ProtectedChange] = ()
    ) -> list[str]:
        """Open a proposal for each difference: a person keeps or restores it. Returns lines for the model.

        Changed files that git or a tool runs by itself are included: `protected`, and those that the sandbox found.
        What nobody decides about stays undecided, or is restored in a worktree of rundry. Raises PersonInterrupted.
        """
        async with self._one_at_a_time:
            notes = await self._decide_protected(record, command, protected)
            if not self._guard:
                return notes
            waiting = await self._new_differences(full=full)
            of_user = await self._of_user(waiting)
            for path in sorted(of_user):
                await self._approve(path, record)
                notes.append(f"The user changed `{path}`: it counts as it is now.")
            waiting = [one for one in waiting if one.path not in of_user]
            while waiting:
                try:
                    notes += await self._decide(waiting[0], command, record)
                except BaseException:
                    for one in waiting if self.restores else ():
                        self._restore(one, record)
                    raise
                waiting.pop(0)
            self.note_undecided(record)
            return notes

    async def _new_differences(self, *, full: bool) -> list[Difference]:
        """Return differences, without those that could not be restored or decided before and are unchanged."""
        found = await self.differences(full=full)
        still = {one.path: one.now for one in found}
        for path, mark in list(self.undecided.items()):
            if still.get(path) != mark and (full or path in still):
                del self.undecided[path]
        for path, (_, mark) in list(self.unrestored.items()):
            if still.get(path) != mark and (full or path in still):
                del self.unrestored[path]
        return [one for one in found if one.path not in self.unrestored and one.path not in self.undecided]

    def why_not(self) -> str | None:
        """Return why no check can count now, or None."""
        if self._stale:
            return f"`{self._stale[0]}` was created during the run and could not be removed: Python could load it"
        if not self.unrestored:
            return None
        path, (why, _) = next(iter(self.unrestored.items()))
        return f"`{path}` does not have its approved content, and it was not restored: {why}"

    def drop_bytecode(self) -> None:
        """Remove Python bytecode that was created during the run, so that no check loads it."""
        if self._guard:
            self._stale = self._seals.drop_bytecode()

    async def restore_all(self, record: Record, protected: Sequence[ProtectedChange] = ()) -> list[str]:
        """In a worktree of rundry, restore every difference without asking. Returns lines for the model.

        Elsewhere, the protected files that changed are recorded, and stay.
        """
        changed = await self._protected_changes(protected)
        if not self.restores:
            self.note_undecided(record, [one.path for one in changed])
            return []
        notes = [note for one in changed for note in self._restore_protected(one)]
        found = await self.differences(full=False)
        of_user = await self._of_user(found)
        return [*notes, *(note for one in found if one.path not in of_user for note in self._restore(one, record))]

    async def _protected_changes(self, more: Sequence[ProtectedChange]) -> list[ProtectedChange]:
        """Return these and what the sandbox found changed, without guarded files, which are compared by content."""
        found = {one.path: one for one in more}
        for one in await self._tree.sandbox.take_changes():
            if one.is_known or one.path not in found:
                found[one.path] = one
        return [one for one in found.values() if not self._guard.matches(one.path)]

    async def _decide_protected(self, record: Record, command: str, protected: Sequence[ProtectedChange]) -> list[str]:
        """Let a person keep or restore each protected file that changed. Returns lines for the model."""
        waiting = await self._protected_changes(protected)
        notes, left = list[str](), list[str]()
        try:
            for asked in range(len(waiting)):
                one = waiting[0]
                has_text = one.is_known and one.before != one.after and asked < _MOST_ASKED
                if self.restores:
                    notes += self._restore_protected(one)
                elif not (has_text and await self._is_decided(one, command, record, notes)):
                    left.append(one.path)
                    notes += [f"{one.line}."] if one in protected else []  # the sandbox names its own in the output
                waiting.pop(0)
        finally:
            left += [] if self.restores else [one.path for one in waiting]
            self.note_undecided(record, left)
        return notes

    async def _is_decided(self, one: ProtectedChange, command: str, record: Record, notes: list[str]) -> bool:
        """Ask the person. `notes` gets the lines for the model. Returns False if nobody decided."""
        before, after = (None if data is None else self._kept(data) for data in (one.before, one.after))
        draft = changed_draft(one.path, before, after, command)
        ruling = await self._activity.interruptible(
            self._tree.gate.propose(draft, call_id="", record=with_waiting(record))
        )
        if not ruling.approved and ruling.refused_by == "person":
            notes += [f"{note} {ruling.note_for_model}" for note in self._restore_protected(one)]
        return ruling.approved or ruling.refused_by == "person"

    def _kept(self, data: bytes) -> bytes:
        self._journal.keep(data)
        return data

    def _restore_protected(self, one: ProtectedChange) -> list[str]:
        """Restore the content from before the command. Returns a line for the model."""
        if not one.is_known:
            return [f"`{one.path}` must not change ({one.why}), and its content of before is not known."]
        try:
            before = _mark_of(one)
            displaced = self._restorer.restore(one.path, before, lambda _: one.before or b"")
        except (OSError, RundryError) as error:
            if isinstance(error, JournalError):
                raise
            why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
            return [f"`{one.path}` must not change ({one.why}), and it could not be restored: {why}"]
        moved = [f"The content of `{d.path}` was moved to {d.moved_to}." for d in displaced if d.moved_to is not None]
        return [f"`{one.path}` must not change ({one.why}): the command's change was reverted.", *moved]

    async def report(self) -> GuardReport:
        """Compare all guarded files by content now, and return the result."""
        found = await self.differences(full=True)
        facts = self._facts.seals
        approved = sorted({*facts.kept, *(path for path in facts.written if self._seals.mark_of(path) is not None)})
        differing = sorted(one.path for one in found)
        return GuardReport(
            sealed=len(self._seals),
            unchanged=not differing and not approved,
            differing=differing,
            approved=approved,
            not_held=list(self.not_held),
        )

    def add_not_held(self, line: str) -> bool:
        """Record what could not be guaranteed. Returns False if it was recorded before."""
        if line in self.not_held:
            return False
        self.not_held.append(line)
        return True

    async def _decide(self, one: Difference, command: str, record: Record) -> list[str]:
        before, after = self._bytes(one.approved), self._current_bytes(one)
        self._note(one, record)
        if before == after:  # a change of permissions or of the kind of file: there is no text to decide on
            return self._restore(one, record) if self.restores or _is_outside(one.path) else self._leave(one)
        draft = changed_draft(one.path, before, after, command)
        ruling = await self._activity.interruptible(
            self._tree.gate.propose(draft, call_id="", record=with_waiting(record))
        )
        if ruling.approved:
            await self._approve(one.path, record)
            return []
        decided = self.restores or ruling.refused_by == "person" or _is_outside(one.path)
        notes = self._restore(one, record) if decided else self._leave(one)
        return [f"{note} {ruling.note_for_model}" for note in notes]

    def _leave(self, one: Difference) -> list[str]:
        """Leave the file as it is: the user may have changed it."""
        self.undecided[one.path] = one.now
        return [
            f"`{one.path}` changed while a command ran, and must not change ({GUARD_REASON}). It stays as it is, and "
            "the verdict is that of the check in a clean checkout with its content of the start."
        ]

    def _note(self, one: Difference, record: Record) -> None:
        """Record the change, so that restoring it is an event too."""
        known = self._facts.changes.files.get(one.path)
        now = one.now.blob
        if (known is None or known[1] != now) and not one.path.startswith("/"):
            record(FileChanged(path=one.path, by="command", before=one.approved.blob, after=now))

    async def _approve(self, path: str, record: Record) -> None:
        await asyncio.to_thread(self._seals.approve, [path])
        self._seals.keep_approved()
        mark = self._seals.mark_of(path)
        self.unrestored.pop(path, None)
        self.undecided.pop(path, None)
        if mark is not None:
            record(GuardApproved(path=path, kind=mark.kind, digest=mark.digest, mode=mark.mode, size=mark.size))

    def _restore(self, one: Difference, record: Record) -> list[str]:
        """Restore the approved content. The replaced content is stored in the journal, or next to it."""
        path = one.path
        if _is_outside(path):
            return self._give_up(one, "it is outside of the workspace; change it back")
        if path in self._seals.lost:
            return self._give_up(one, "its approved content was too large to keep; change it back")
        try:
            displaced = self._restorer.restore(path, one.approved, self._journal.blob)
        except (OSError, KeyError, RundryError) as error:
            if isinstance(error, JournalError):
                raise
            why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
            return self._give_up(one, why)
        self.unrestored.pop(path, None)
        self.undecided.pop(path, None)
        self._tree.files.mark_changed()
        was = one.approved.blob
        stood = next((d.blob for d in displaced if d.path == path), None)
        record(FileChanged(path=path, by="restore", before=stood, after=was))
        notes = [f"`{path}` must not change ({GUARD_REASON}): the command's change was reverted."]
        notes += [f"The content of `{d.path}` was moved to {d.moved_to}." for d in displaced if d.moved_to is not None]
        for other in displaced:
            if other.path != path and other.blob is not None:  # a link or a file in its path
                record(FileChanged(path=other.path, by="command", before=None, after=other.blob))
                record(FileChanged(path=other.path, by="restore", before=other.blob, after=None))
        return notes

    def _give_up(self, one: Difference, why: str) -> list[str]:
        self.unrestored[one.path] = (why, one.now)
        return [
            f"`{one.path}` must not change ({GUARD_REASON}), and it could not be restored: {why}. "
            "No check counts until it is restored."
        ]

    def _bytes(self, mark: Mark) -> bytes | None:
        if mark.kind not in ("file", "link"):
            return None
        try:
            return self._journal.blob(mark.digest)
        except KeyError:
            return b""

    def _current_bytes(self, one: Difference) -> bytes | None:
        """Return the bytes that are there now, and store them in the journal; None: no file, or it is too large."""
        found = self._seals.bytes_at(one.path) if one.now.kind in ("file", "link") else None
        if found is not None:
            self._journal.keep(found)
        return found

    def _outside(self) -> list[str]:
        """Return configuration files above the workspace and in the home folder, which no sandbox protects."""
        return [] if self._tree.sandbox.kind else sorted(self._guard.depends.outside)


def _mark_of(one: ProtectedChange) -> Mark:
    """Return the state before the command."""
    if one.before is None:
        return Mark(ABSENT)
    digest = hashlib.sha256(one.before).hexdigest()
    return Mark(LINK if stat.S_ISLNK(one.mode) else FILE, digest, stat.S_IMODE(one.mode), len(one.before))


def _is_outside(path: str) -> bool:
    """Return whether the path is outside of the workspace, so that no clean checkout has its content of the start."""
    return path.startswith("/")
