"""End a pass: store its changes as a patch, roll them back, and record the verdict."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ...protocol import FileChanged, PassFinished, PassStarted, PassVerdict, PatchKept, Reason, WorkResult
from ...workspace.snapshots.patches import patch_of
from .pass_texts import pass_summary
from .unproven import edits_by_file, unproven, why_undecided

if TYPE_CHECKING:
    from ...facts.passes import PassFacts
    from ...step.resources.context import RunContext
    from ...workspace.snapshots.snapshots import Change
    from .measure import Measured
    from .pass_repository import PassRepository, RepositoryChange


class PassEnd:
    """Records the ends of passes, and rolls back the passes that are not kept."""

    def __init__(self, ctx: RunContext, repository: PassRepository) -> None:
        self._ctx, self._repository = ctx, repository

    @property
    def _facts(self) -> PassFacts:
        assert self._ctx.facts.pass_facts is not None  # facts of these loops always have it
        return self._ctx.facts.pass_facts

    async def keep_patch(
        self,
        started: PassStarted,
        changes: Sequence[Change],
        moved: RepositoryChange | None,
        world: str,
        found: Measured,
        change: str,
    ) -> PatchKept:
        """Store what is about to be rolled back, and return its event."""
        patch = self._ctx.journal.keep(patch_of(changes))
        bundle, commits = await self._repository.bundle(started, moved)
        kept = PatchKept(
            number=started.number,
            why=found.why,
            patch=patch,
            world=world,
            git=None if moved is None else moved.state,
            bundle=bundle,
            commits=commits,
            history=[] if moved is None else moved.history,
            files=[one.path for one in changes],
            change=change,
            unmeasured=not found.is_measured,
        )
        self._ctx.events.record(kept, durable=True)
        assert self._facts.rolling_back is not None  # the event is now in the facts, with keys hidden
        return self._facts.rolling_back

    def hand_over(self, started: PassStarted, changes: Sequence[Change], lines: Sequence[str]) -> WorkResult:
        """End the pass without a commit and without a roll-back. `lines`: its changes that no tool wrote."""
        why = why_undecided(lines)
        files = [one.path for one in changes]
        self.finish(started, "undecided", why, files=files, left=lines, ends=Reason.HANDOFF)
        return WorkResult(handoff=why)

    async def roll_back(self, started: PassStarted, kept: PatchKept) -> None:
        """Restore the snapshot of the start. A file that someone else changed since is kept and reported.

        In the user's folder, only what the tools wrote is restored.
        """
        ctx, world = self._ctx, started.world or ""
        changes = await ctx.snapshots.changes(world, kept.world or "")
        left = list[str]()
        if not self._repository.is_own_tree:  # an earlier version may have recorded more than the tools' changes
            doubtful = set(unproven(changes, edits_by_file(ctx.facts.changes.in_pass)))
            doubtful -= set(self._facts.chosen.files if self._facts.chosen is not None else ())
            left += [f"{path}: not restored, because no tool of this run wrote it" for path in sorted(doubtful)]
            changes = [one for one in changes if one.path not in doubtful]
        left += await ctx.snapshots.restore(world, [one.path for one in changes], expected=kept.world)
        if self._repository.is_own_tree:
            left += await self._repository.roll_back(started, kept)
        ctx.files.mark_changed()
        is_rolled_back = bool(kept.history) and ctx.facts.spec.improve is None
        stays = {line.partition(":")[0] for line in left}
        with ctx.events.together():
            for one in changes:
                if one.path not in stays and one.path in ctx.facts.changes.files:
                    ctx.events.record(self._restored_event(one))
            verdict = "unmeasured" if kept.unmeasured else "reverted" if kept.change or is_rolled_back else "unchanged"
            self.finish(started, verdict, kept.why, files=kept.files, change=kept.change, left=left)

    def _restored_event(self, one: Change) -> FileChanged:
        keep = self._ctx.journal.keep
        return FileChanged(
            path=one.path,
            by="restore",
            before=None if one.after is None else keep(one.after),
            after=None if one.before is None else keep(one.before),
        )

    def finish(
        self,
        started: PassStarted,
        verdict: PassVerdict,
        why: str,
        *,
        files: Sequence[str] = (),
        commit: str | None = None,
        change: str = "",
        left: Sequence[str] = (),
        ends: Reason | None = None,
    ) -> None:
        """Record the verdict. `left`: a line for each thing that could not be rolled back."""
        self._ctx.events.record(
            PassFinished(
                number=started.number,
                verdict=verdict,
                why=why,
                said=pass_summary(self._ctx.facts),
                files=list(files),
                commit=commit,
                change=change,
                repeats=self._facts.changes.get(change) if change else None,
                left=list(left),
                tries=started.tries,
                candidate=self._facts.chosen.candidate if self._facts.chosen is not None else 0,
                dropped=started.layer is not None and verdict != "kept" and self._facts.keeping is None,
                ends=ends,
            ),
            durable=True,
        )
