"""A unit of work in use by one item: merge its changes into the run's tree, or drop them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from ...finder.item_trees import TreeFailed
from ...layers.rows import new_name
from ...protocol import EffectsApplied, JoinFinished, JoinStarted, WorktreeFinished
from ...step.tool_calls.apply_effects import apply_effects
from ...step.tool_calls.effect_entries import sort_effects
from ...step.tool_calls.effects_at_gate import decide_effects
from ..passes.left_patch import UNREADABLE
from ..passes.work import pass_approved, work_of
from .merging import Replaced, plan_merge

if TYPE_CHECKING:
    from pathlib import Path

    from ...facts.tries import ItemFacts
    from ...layers.run_layers import Listed, RunLayers
    from ...protocol import Event, Record, Stamped
    from ...step.resources.context import RunContext
    from ...step.resources.unit_watch import UnitWatch
    from ...step.resources.watched_lock import WatchedLock
    from ..passes.pass_unit import PassUnit


@dataclass(frozen=True, slots=True)
class Shared:
    """What all places of a run share."""

    ctx: RunContext
    """Context of the run itself, for work on its own tree."""
    units: RunLayers
    lock: WatchedLock
    """Held while changes are merged into the run's tree."""
    watch: UnitWatch
    """Tells the units of other items that the tree of the run changed."""
    replaced: dict[str, list[Replaced]] = field(default_factory=dict[str, "list[Replaced]"])
    """What merges of this runner replaced, by path, oldest first."""


class Place(Protocol):
    """Begins the units for one item."""

    number: int
    key: str
    item_work: str | None
    """Name of the item's work."""

    async def open(self, known: ItemFacts | None = None) -> tuple[PassUnit, ItemFacts]:
        """Begin a unit with the files of the run's tree. `known`: of the unit before. Raises TreeFailed."""
        ...

    async def drop(self, opened: PassUnit, facts: ItemFacts) -> None:
        """Delete a unit. Raises OSError."""
        ...


class ItemInUse:
    """A place that is in use by one item."""

    def __init__(
        self, shared: Shared, place: Place, free: Callable[[], object], opened: PassUnit, facts: ItemFacts
    ) -> None:
        """`free`: lets another item have the place."""
        self._shared, self._place, self._free = shared, place, free
        self._opened, self._facts = opened, facts
        self._is_merged = False

    @property
    def ctx(self) -> RunContext:
        """The context for work in it. Another one after `reset`."""
        return self._opened.ctx

    @property
    def work(self) -> str:
        """Name of the work in it, for the events of the item's steps."""
        assert self.ctx.work is not None  # the context was made for this work
        return self.ctx.work

    async def merge(self) -> list[str]:
        """Merge the changes into the run's tree. Returns a line for each conflict; then nothing was written.

        Raises TreeFailed and PersonInterrupted.
        """
        try:
            async with self._shared.lock.held(f"the merge of {self._place.key}"):
                return await self._merge(await self._opened.listed())
        except (*UNREADABLE, ValueError) as error:
            raise TreeFailed(f"its changes could not be merged: {error}") from error

    async def _merge(self, listed: Listed) -> list[str]:
        run, layer, key = self._shared.ctx, self._opened.unit.layer, self._place.key
        record = run.events.bound(None, self._place.item_work)
        plan = await asyncio.to_thread(plan_merge, listed, layer, self._shared.replaced, run.journal.blob)
        if plan.conflicts:
            record(JoinFinished(tree=self._place.number, key=key, conflicts=plan.conflicts))
            return plan.conflicts
        root, name = run.workspace.root, f"the work on {key}"
        found = await asyncio.to_thread(sort_effects, run.gate, root, plan.listed, run.guard, is_hook=False)
        pass_approved(found, work_of(self._facts.changes.standing[:]))
        decided = await decide_effects(run, found, plan.listed, name, record, asks=True)
        if not decided.rows:
            if decided.refused:
                record(JoinFinished(tree=self._place.number, key=key, left=decided.refused))
            return []
        started = JoinStarted(
            tree=self._place.number,
            key=key,
            files=sorted(decided.recorded),
            order=new_name(),
            merged=plan.merged,
            left=decided.refused,
        )
        accepted = decided.accepted([])
        groups, units, ending = plan.listed.groups, self._shared.units, ending_join(record, started)
        applied = await apply_effects(run, units, layer, groups, accepted, name, ending, started)
        now = await asyncio.to_thread(self._opened.unit.tick)
        for path, row in decided.recorded.items():
            at = _changed_ns(root / path) or now
            self._shared.replaced.setdefault(path, []).append(Replaced(at, row.before))
        conflicts = [f"{one.path}: {one.conflict}" for one in applied.failed]
        self._shared.watch.changed()
        self._is_merged = not conflicts
        return conflicts

    async def reset(self) -> None:
        """Drop the changes, and begin again with the files of the run's tree. Raises TreeFailed."""
        opened, facts = self._opened, self._facts
        self._opened, self._facts = await self._place.open(facts)
        with suppress(OSError):  # it stays, and `rundry doctor` lists it
            await self._place.drop(opened, facts)

    async def release(self, why: str) -> None:
        """End the work on the item. `why`: how it ended, for people."""
        run, patch = self._shared.ctx, None
        try:
            if not self._is_merged:
                listed = await self._opened.listed()
                if self._opened.files(listed).effects:
                    patch = run.journal.keep(await self._opened.patch(listed, ""))
        except UNREADABLE as error:
            why = f"{why}; what it changed cannot be read: {error}"
        finally:
            end = WorktreeFinished(tree=self._place.number, key=self._place.key, why=why, patch=patch)
            run.events.record(end, work=self._place.item_work)
            with suppress(OSError):
                await self._place.drop(self._opened, self._facts)
            self._free()


def _changed_ns(path: Path) -> int:
    """Return the change time of what is at a path; 0: nothing is there."""
    try:
        return path.lstat().st_ctime_ns
    except OSError:
        return 0


def ending_join(record: Record, started: JoinStarted) -> Record:
    """Return what records an event, and after the outcome of the merge's order also the end of the merge."""

    def recorded(event: Event) -> Stamped:
        stamped = record(event)
        if isinstance(event, EffectsApplied):
            record(_finished(started, event))
        return stamped

    return recorded


def _finished(started: JoinStarted, applied: EffectsApplied) -> JoinFinished:
    failed = {*started.files} if applied.lost else {line.partition(": ")[0] for line in applied.conflicts}
    return JoinFinished(
        tree=started.tree,
        key=started.key,
        files=[path for path in started.files if path not in failed],
        merged=started.merged,
        conflicts=applied.conflicts,
        left=started.left,
    )
