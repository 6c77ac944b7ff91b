"""Record the state of the git repository at the start of a pass, and keep or undo what the pass changed in it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from ...step.resources.watched_lock import LockEvents
from ...workspace.git.commits import bundle_of, commit_pass
from ...workspace.git.locks import wait_for_locks
from ...workspace.git.places import places_of
from ...workspace.git.record import record_state
from ...workspace.git.refs import commits_of_head
from ...workspace.git.repository import GitFailed, Repository
from ...workspace.git.rewind import rewind
from ...workspace.git.state import GitState, differences, is_same

if TYPE_CHECKING:
    from ...protocol import Branch, PassStarted, PatchKept
    from ...step.resources.context import RunContext
    from ...workspace.snapshots.snapshots import Change, Snapshots


@dataclass(frozen=True, slots=True)
class RepositoryChange:
    """What a pass changed in the repository other than files."""

    state: str
    """Id of the state after the pass, in the snapshot store."""
    history: list[str]
    """A line for each change of HEAD, refs, stash and submodules."""


class PassRepository:
    """Git operations for the passes of one run. Outside of a repository, they do nothing."""

    def __init__(self, ctx: RunContext, branch: Branch) -> None:
        self._ctx, self._branch = ctx, branch
        self._states: dict[str, GitState] = {}
        self._watcher = LockEvents(ctx.events.bound(None, None))

    @property
    def is_own_tree(self) -> bool:
        """Whether the workspace is the run's own worktree, in which by convention nobody else writes."""
        return self._branch.worktree_of is not None

    async def find(self) -> Repository | None:
        """Return the repository of the workspace, or None. Raises GitFailed."""
        return await Repository.find(self._ctx.workspace.root, self._ctx.env)

    async def record(self, found: Repository | None) -> str | None:
        """Store the state of the repository and return its id; None without a repository. Raises GitFailed."""
        if found is None:
            return None
        await self.wait(found)
        return await self._record(found)

    async def wait(self, found: Repository | None) -> None:
        """Wait until no other git process holds a lock. Raises GitFailed."""
        if found is not None:
            await wait_for_locks(await places_of(found), self._watcher)

    async def moved(self, started: PassStarted) -> RepositoryChange | None:
        """Return what changed in the repository since the start of the pass. None: nothing, or git failed."""
        if started.git is None:
            return None
        try:
            found = await self.find()
            if found is None:
                return None
            after = await self._record(found)
        except GitFailed:
            return None
        start, end = self._state(started.git), self._state(after)
        if started.tries > 1:
            after, end = self._without_new_names(start, end)
        return None if is_same(start, end) else RepositoryChange(after, differences(start, end))

    async def commit(
        self, started: PassStarted, moved: RepositoryChange | None, changes: Sequence[Change], message: str
    ) -> tuple[str | None, str]:
        """Commit a pass on the branch that it started from. Returns the commit and a remark. Raises GitFailed."""
        found = await self.find()
        if found is None or started.git is None:
            raise GitFailed(f"{self._ctx.workspace.root} is no longer in a git repository")
        start = self._state(started.git)
        have = start if moved is None else self._state(moved.state)
        paths, hooks = [one.path for one in changes], self._ctx.hooks
        tip, is_squashed = await commit_pass(found, start, have, paths, message, hooks)
        notes = [] if hooks is None else [hooks.take_notes()]
        left = await self._restore_branches(found, start, have, tip)
        remark = "its own commits, which did not descend from its start, were squashed" if is_squashed else ""
        commit = tip if tip != start.commit else None
        return commit, "; ".join(part for part in (remark, *left, *notes) if part)

    async def forget_history(self, started: PassStarted, moved: RepositoryChange | None) -> list[str]:
        """Undo the commits of a pass, but keep its files. Returns a line for each thing that could not be undone."""
        if moved is None or started.git is None:
            return []
        return await self._rewind(started, moved.state, history_only=True)

    async def bundle(self, started: PassStarted, moved: RepositoryChange | None) -> tuple[str | None, list[str]]:
        """Store the commits of a pass in the journal before they are undone. Returns the blob and a line per commit."""
        if moved is None or started.git is None:
            return None, []
        ctx = self._ctx
        try:
            found = await self.find()
            if found is None:
                return None, []
            fallback = f"refs/rundry/{ctx.facts.spec.run_id}/pass-{started.number}"
            want, have = self._state(started.git), self._state(moved.state)
            kept = await bundle_of(found, want, have, fallback)
        except GitFailed as error:
            return None, [f"the commits could not be stored, but the reflog of HEAD still has them: {error}"]
        if kept is None:
            return None, []
        held = [f"kept in the repository as {name}" for name in kept.refs]
        return None if kept.bundle is None else ctx.journal.keep(kept.bundle), [*kept.commits, *held]

    async def roll_back(self, started: PassStarted, kept: PatchKept) -> list[str]:
        """Restore the repository at the start of the pass. Returns a line for each thing that was not restored."""
        if started.git is None or kept.git is None:
            return []
        return await self._rewind(started, kept.git, history_only=False)

    async def _rewind(self, started: PassStarted, after: str, *, history_only: bool) -> list[str]:
        try:
            found = await self.find()
        except GitFailed as error:
            return [f"git: {error}"]
        if found is None or started.git is None:
            return ["git: the repository no longer exists"]
        aside = self._ctx.journal.path.with_suffix(".kept") / f"pass-{started.number}"
        want, have = self._state(started.git), self._state(after)
        load = self._ctx.snapshots.load
        watcher = self._watcher
        return await rewind(found, want, have, load, aside=aside, history_only=history_only, watcher=watcher)

    async def _restore_branches(self, found: Repository, start: GitState, have: GitState, tip: str) -> list[str]:
        """After a commit, end a git operation of the pass, and restore the branch and the protected branches."""
        made = commits_of_head(await places_of(found), start.head_log)
        protected = {f"refs/heads/{name}" for name in self._branch.protected} & start.refs.keys()
        ends = have.refs
        moved = [name for name in protected if ends.get(name) != start.refs[name] and ends.get(name) in made]
        now = msgspec.structs.replace(
            have,
            head=start.head,
            commit=tip,
            refs={**have.refs, start.branch or "": tip},
            staged=start.staged,
            head_log=start.head_log,
        )
        refs = {**now.refs, **{name: start.refs[name] for name in moved}}
        want = msgspec.structs.replace(now, refs=refs, operations=start.operations)
        if want == now:
            return []
        load, watcher = self._ctx.snapshots.load, self._watcher
        left = await rewind(found, want, now, load, aside=Path(), history_only=True, watcher=watcher)
        return [*(f"the protected branch {name.removeprefix('refs/heads/')} was restored" for name in moved), *left]

    async def _record(self, found: Repository) -> str:
        try:
            state = await record_state(found, self._ctx.snapshots.keep)
        except OSError as error:
            raise GitFailed(f"{error.filename}: {error.strerror}") from error
        return self._store(state)

    def _without_new_names(self, start: GitState, end: GitState) -> tuple[str, GitState]:
        """Return the state without new branches and tags: those of a try go with its worktree, so others made these."""
        came = {name for name in end.refs.keys() - start.refs.keys() if name.startswith(("refs/heads/", "refs/tags/"))}
        state = msgspec.structs.replace(end, refs={name: to for name, to in end.refs.items() if name not in came})
        return self._store(state), state

    def _store(self, state: GitState) -> str:
        name = self._ctx.snapshots.keep(msgspec.json.encode(state))
        self._states[name] = state
        return name

    def _state(self, name: str) -> GitState:
        if name not in self._states:
            self._states[name] = stored_state(self._ctx.snapshots, name)
        return self._states[name]


def stored_state(snapshots: Snapshots, name: str) -> GitState:
    """Read a repository's state from the snapshot store. Raises SnapshotDamaged."""
    return msgspec.json.decode(snapshots.load(name), type=GitState)
