"""`--commit`: make a git commit for each approved edit of the model. The person can commit meanwhile."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ...host.own_temp import temp_folder
from ...protocol import ChangeCommitted, FileChanged, Stamped
from ...repo.repository import GitFailed, Hooks, Repository
from ...sandbox.git_hooks import CommitHooks, HookRefused, find_hooks

if TYPE_CHECKING:
    from ...journal.journal import Journal
    from ...state.facts.run_facts import RunFacts
    from ...state.recorder import Events

_NOT_BY_HAND = ("command", "background", "restore", "undo")
"""Causes of a change that is not an edit: commands and restores."""
_SUBJECT = 72

_OPERATIONS = {
    "index.lock": "another git process is running",
    "MERGE_HEAD": "a merge is in progress",
    "CHERRY_PICK_HEAD": "a cherry-pick is in progress",
    "REVERT_HEAD": "a revert is in progress",
    "rebase-merge": "a rebase is in progress",
    "rebase-apply": "a rebase is in progress",
}
"""Files in the git folder during an operation, and the reason that the user reads."""


@dataclass(frozen=True, slots=True)
class _LastState:
    """A file as this run left it last."""

    base: str | None
    """Blob of its content in the last commit."""
    now: str | None


class Commits:
    """The commits of one run. If nothing can be committed, it reports each reason once and the run continues."""

    def __init__(
        self,
        facts: RunFacts,
        journal: Journal,
        env: Mapping[str, str],
        hooks: CommitHooks | None,
    ) -> None:
        self._facts, self._journal, self._env, self._hooks = facts, journal, env, hooks
        self._root = Path(facts.spec.workspace)
        self._left: dict[str, _LastState] = {}
        self._said: set[str] = set()
        self._one_at_a_time = asyncio.Lock()

    async def first_check(self) -> list[str]:
        """Return a note if nothing can be committed now, before the run starts."""
        _, why = await self._find()
        if why is None:
            return []
        self._said.add(why)
        return [f"--commit: nothing is committed: {why}"]

    def on_event(self, stamped: Stamped) -> None:
        """Track changes of files that are not edits of the model."""
        if isinstance(stamped.event, FileChanged) and stamped.event.by in _NOT_BY_HAND:
            self._follow(stamped.event, driven=self._facts.manual.wheel is not None)

    async def add(self, change: FileChanged, events: Events, step: int) -> str | None:
        """Commit this change, which is on the disk already. Returns why a hook refused it, or None.

        Errors of git are recorded, not raised.
        """
        async with self._one_at_a_time:
            found, why = await self._find()
            commit, refused = None, None
            if found is not None and why is None:
                try:
                    commit = await self._commit(found, change, step)
                    why = None if commit is not None else f"git did not add {change.path} (it may be ignored)"
                except HookRefused as error:
                    why = refused = str(error)
                except GitFailed as error:
                    why = str(error)
            if refused is not None:  # the next edit of the file may be committed together with this one
                self._follow(change, driven=False)
            else:
                self._left.pop(change.path, None)
            if commit is not None:
                self._left[change.path] = _LastState(change.after, change.after)
            if commit is not None or refused is not None or why not in self._said:
                self._said.update([why] if why is not None else [])
                note = "" if self._hooks is None else self._hooks.take_notes()
                events.record(ChangeCommitted(path=change.path, commit=commit, why_not=why or "", note=note))
            return refused

    async def _commit(self, found: _SharedRepository, change: FileChanged, step: int) -> str | None:
        message = self._message(change, step)
        return await found.commit_file(change.path, self._without_own(change), message, self._hooks)

    async def _find(self) -> tuple[_SharedRepository | None, str | None]:
        """Return the repository as it is now, and why nothing can be committed in it."""
        try:
            found = await _SharedRepository.find(self._root, self._env)
            return (
                found,
                await found.why_no_commit() if found is not None else f"{self._root} is not in a git repository",
            )
        except GitFailed as error:
            return None, str(error)

    def _follow(self, change: FileChanged, driven: bool) -> None:
        known = self._left.get(change.path)
        if driven:  # a person did it
            self._left.pop(change.path, None)
        elif known is not None and known.now == change.before:
            self._left[change.path] = _LastState(known.base, change.after)
        else:
            self._left[change.path] = _LastState(change.before, change.after)

    def _without_own(self, change: FileChanged) -> list[bytes | None]:
        """Return the versions that the last commit may have of the file if the user did not change it."""
        known = self._left.get(change.path)
        blobs = [change.before] if known is None or known.now != change.before else [change.before, known.base]
        return [None if blob is None else self._journal.blobs.load(blob) for blob in blobs]

    def _message(self, change: FileChanged, step: int) -> str:
        """Return the commit message: the change, its author, the task, the step and the run."""
        verb = "Add" if change.before is None else "Change"
        subject = f"{verb} {change.path} (+{change.added} -{change.removed})"
        if len(subject) > _SUBJECT:
            subject = f"{verb} {Path(change.path).name} (+{change.added} -{change.removed})"
        edited = "The person edited the model's change.\n\n" if change.by == "person" else ""
        task = f"{self._facts.spec.task.strip()}\n\n" if self._facts.spec.task.strip() else ""
        return f"rundry: {subject}\n\n{task}{edited}Rundry-Run: {self._facts.spec.run_id}\nRundry-Step: {step}"


async def skipped_hooks_note(root: Path, env: Mapping[str, str]) -> list[str]:
    """Return a note if the commits of a run skip hooks of the repository."""
    try:
        found = await Repository.find(root, env)
        hooks = [*await find_hooks(found)] if found is not None else []
    except GitFailed as error:
        return [f"hooks of git: {error}"]
    if not hooks:
        return []
    named = "these hooks" if len(hooks) > 1 else "this hook"
    return [f"rundry's commits do not run {named} of the repository: {', '.join(hooks)} (--commit-hooks runs them)"]


class _SharedRepository(Repository):
    """A repository in which the user works at the same time."""

    async def why_no_commit(self) -> str | None:
        """Return why rundry cannot commit now, or None if it can."""
        folder = Path(os.fsdecode((await self.run_checked("rev-parse", "--absolute-git-dir")).out.rstrip(b"\n")))
        busy = next((why for name, why in _OPERATIONS.items() if (folder / name).exists()), None)
        if busy is not None:
            return f"git is in use: {busy}"
        if await self.branch() is None:
            return "HEAD is not on a branch (detached)"
        return None if await self.head() is not None else "the branch has no commit yet"

    async def commit_file(
        self, path: str, was: Collection[bytes | None], message: str, hooks: Hooks | None = None
    ) -> str | None:
        """Commit only this file as it is on the disk. Return the id of the commit.

        Returns None if there was nothing to commit. `was`: contents that the file may have in the last commit; None in
        it: no file. Raises GitFailed, also if the last commit or the index has other content.
        """
        await self._refuse_filters([path])
        await self._check_clean(path, was)
        with temp_folder("index") as folder:
            separate = self.with_index(folder / "index")
            await separate.run_checked("read-tree", "HEAD")
            commit = await separate.commit([path], message, hooks)
        if commit is not None:
            await self.unstage([path])
        return commit

    async def _check_clean(self, path: str, was: Collection[bytes | None]) -> None:
        head = await self.run("rev-parse", "--verify", "--quiet", f"HEAD:./{path}")
        known = head.line if head.code == 0 else None
        if known not in [await self._id_of(path, data) for data in was]:
            raise GitFailed(f"{path} had uncommitted changes before the model changed it")
        if (await self.run("diff-index", "--cached", "--quiet", "HEAD", "--", path)).code != 0:
            raise GitFailed(f"{path} is staged")

    async def _id_of(self, path: str, data: bytes | None) -> str | None:
        if data is None:
            return None
        return (await self.run_checked("hash-object", "--stdin", "--path", path, stdin=data)).line
