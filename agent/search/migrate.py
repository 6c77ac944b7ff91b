"""The migrate loop: the model fixes each file that fails a check, until a full scan finds none.

Each file is worked in a unit of work, one by one or several at the same time.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from ..layers.remedies import LayerRefused
from ..protocol import (
    CheckFinished,
    CheckStarted,
    FinderSpec,
    ItemFailed,
    Work,
    WorkFinished,
    WorkResult,
    WorkStarted,
)
from ..protocol.text.counts import plural
from ..step.perform import perform
from ..step.resources.activity import PersonInterrupted
from .budget_check import OUT_OF_TIME, no_room
from .checking import CheckRunner, ChecksUnavailable, check, check_of, path_of, why_not_file
from .file_scan import Acceptance, FileScan, finder_facts, why_failed
from .fix_items import TOOLS, fixer_prompt, fixer_system, fixer_tools, joined_words
from .item_trees import ItemTree, ItemTrees, TreeFailed

if TYPE_CHECKING:
    from ..state.recorder import Events
    from ..step.resources.run_context import RunContext
    from .items.item_intake import ItemIntake
    from .items.item_state import Item


class Migrate:
    """Scan for failing files and fix them. Only the check decides what is done."""

    def __init__(
        self, ctx: RunContext, spec: FinderSpec, intake: ItemIntake, trees: ItemTrees | None, checks: CheckRunner
    ) -> None:
        assert spec.check is not None  # the migrate recipe sets one
        self._ctx, self._spec, self._intake, self._command = ctx, spec, intake, spec.check
        self._trees, self._checks = trees, checks
        self._acceptance = Acceptance(ctx)
        self._scan = FileScan(ctx, spec, intake, self._acceptance, checks)

    async def scan(self, work: Work) -> WorkResult:
        """Check every file, several at the same time. Queue new failures, and queue done files that fail again."""
        return await self._scan.run(work)

    async def fix(self, work: Work, item: Item) -> WorkResult:
        """Work a file until it passes its check, or queue it again, or mark it as failed permanently."""
        ctx, events = self._ctx, self._ctx.events.bound(None, work.work)
        with ctx.events.together():
            events.record(WorkStarted(kind="item", about=item.key, attempt=item.attempts + 1))
        ctx.stalls.forget(work.work)
        try:
            return await self._fix(work, item, events)
        except PersonInterrupted:
            return self._return_to_queue(item, events, WorkResult(work=work.work, interrupted=True))
        except TimeoutError:
            end = no_room(ctx) or OUT_OF_TIME
            return self._return_to_queue(item, events, WorkResult(work=work.work, exhausted=end))
        except (TreeFailed, ChecksUnavailable) as error:
            return self._return_to_queue(item, events, WorkResult(work=work.work, fault=str(error)))

    async def _fix(self, work: Work, item: Item, events: Events) -> WorkResult:
        """Fix the file apart from the run's tree until its check passes there too.

        Raises PersonInterrupted, TreeFailed, and TimeoutError at the run's deadline.
        """
        ctx, steps = self._ctx, 0
        path = path_of(item.key, ctx.workspace.root)
        checked = await self._check(item.key, path, events)
        while not checked.passed:
            if (why := why_not_file(path, ctx.workspace.root)) is not None:
                return self._failed(work, item, why, events, final=True)
            if checked.suspect is not None and (steps or item.key in finder_facts(ctx).suspects.accepted):
                return self._undecided(work, item, checked, events)
            events.record(checked)
            if steps >= ctx.facts.spec.item_steps:
                return self._failed(work, item, _after(steps, f"the check fails: {why_failed(checked)}"), events)
            found = await self._in_tree(work, item, path, checked, steps, events)
            if isinstance(found, WorkResult):
                return found
            steps = found
            checked = await self._check(item.key, path, events)
        return self._done(work, item, checked, events, steps)

    async def _in_tree(
        self, work: Work, item: Item, path: str, checked: CheckFinished, steps: int, events: Events
    ) -> WorkResult | int:
        """Run steps in a worktree until its changes are merged. Returns the number of steps so far, or the end."""
        assert self._trees is not None  # the caller checked it
        async with asyncio.timeout(self._ctx.limits.seconds_for_work()):
            tree = await self._trees.acquire(item.key, path, work.work)
        why = "its work was interrupted"
        try:
            found = await self._steps_in(tree, work, item, path, checked, steps, events)
            why = "its changes were merged" if isinstance(found, int) else "its changes were not merged"
            return found
        except LayerRefused as refused:  # the user changed files, and it could not be mounted again
            why = "its layer could not be opened again"
            return self._failed(work, item, str(refused), events)
        finally:
            await tree.release(why)

    async def _steps_in(
        self, tree: ItemTree, work: Work, item: Item, path: str, checked: CheckFinished, steps: int, events: Events
    ) -> WorkResult | int:
        """Run steps in this worktree until its changes are merged. After a conflict, start from the run's files."""
        ctx, inner = tree.ctx, msgspec.structs.replace(work, work=tree.work)
        last_output, conflicts = None, list[str]()
        while steps < ctx.facts.spec.item_steps:
            if not await ctx.activity.rest_while_paused():
                ctx.activity.raise_if_interrupted()
            prompt = joined_words(conflicts, self._prompt(ctx, inner, item, path, checked, last_output))
            last_output, conflicts = checked.output, []
            result = await perform(ctx, self._order(ctx, inner, prompt), TOOLS)
            result, steps = msgspec.structs.replace(result, work=work.work), steps + 1
            if result.interrupted or result.exhausted is not None or result.handoff is not None:
                return self._return_to_queue(item, events, result)
            if result.fault is not None:
                return self._faulted(work, item, result, events)
            checked = await self._check_in(ctx, path)
            if checked.passed or checked.suspect is not None:
                conflicts = [*await tree.merge()]
                if not conflicts:
                    return steps
                await tree.reset()
                ctx = tree.ctx
                checked = await self._check_in(ctx, path)
                if checked.passed:
                    return steps
        why = f"its changes conflict: {conflicts[0]}" if conflicts else f"the check still fails: {why_failed(checked)}"
        return self._failed(work, item, _after(steps, why), events)

    async def _check_in(self, ctx: RunContext, path: str) -> CheckFinished:
        """Check a file in a worktree and record the result there."""
        events = ctx.events
        events.record(CheckStarted(command=check_of(self._command, path)))
        checked = _of_file(await self._run_check(ctx, path, events), path, ctx.workspace.root)
        events.record(checked)
        return checked

    async def _check(self, key: str, path: str, events: Events) -> CheckFinished:
        """Check a file and record the result; a pass is recorded together with its consequences."""
        command = check_of(self._command, path)
        events.record(CheckStarted(command=command))
        checked = self._acceptance.apply(key, path, await self._run_check(self._ctx, path, events))
        return _of_file(checked, path, self._ctx.workspace.root)

    async def _run_check(self, ctx: RunContext, path: str, events: Events) -> CheckFinished:
        with ctx.limits.running():
            async with asyncio.timeout(ctx.limits.seconds_for_work()):
                return await ctx.activity.interruptible(check(ctx, self._command, path, events, checks=self._checks))

    def _order(self, ctx: RunContext, work: Work, prompt: str) -> Work:
        return msgspec.structs.replace(
            work,
            system=fixer_system(ctx.facts.spec, self._command),
            prompt=prompt,
            prompt_kind="check",
            tools=fixer_tools(self._spec.hosts),
            step_cap=1,
        )

    def _prompt(
        self, ctx: RunContext, work: Work, item: Item, path: str, checked: CheckFinished, last_output: str | None
    ) -> str:
        """Write the prompt before a step: first the file, then the result of the check."""
        person_answer = finder_facts(self._ctx).suspects.said.get(item.key)
        is_silent = last_output is not None and ctx.facts.conversation(work.work).messages[-1].role == "assistant"
        return fixer_prompt(path, person_answer, checked, last_output, is_silent=is_silent, was_tried=item.attempts > 0)

    def _undecided(self, work: Work, item: Item, checked: CheckFinished, events: Events) -> WorkResult:
        """Mark the item as failed permanently until a person decides. The model's changes stay in its file."""
        path, error = path_of(item.key, self._ctx.workspace.root), why_failed(checked)
        with self._ctx.events.together():
            events.record(checked)
            content = self._acceptance.content(path)
            events.record(ItemFailed(key=item.key, error=error, attempts=item.attempts, final=True, content=content))
            self._intake.frontier.set_aside(item.key, error, item.attempts)
            events.record(WorkFinished(kind="item", about=item.key, ok=False, error=error, set_aside=True))
        return WorkResult(work=work.work)

    def _done(self, work: Work, item: Item, checked: CheckFinished, events: Events, steps: int) -> WorkResult:
        with self._ctx.events.together():
            events.record(checked)
            self._intake.frontier.finish(item.key)
            reason = "the check passes" if steps else "the check passes already"
            events.record(WorkFinished(kind="item", about=item.key, ok=True, reason=reason))
        return WorkResult(work=work.work, steps=steps)

    def _faulted(self, work: Work, item: Item, result: WorkResult, events: Events) -> WorkResult:
        """End the run if the model is permanently unavailable, because every other file would fail too."""
        if result.retryable or result.stalled:
            return self._failed(work, item, result.fault or "", events)
        return self._return_to_queue(item, events, result)

    def _failed(self, work: Work, item: Item, error: str, events: Events, *, final: bool = False) -> WorkResult:
        final = final or item.attempts >= self._ctx.facts.search.retries
        with self._ctx.events.together():
            self._intake.record_failure(item, error, events, final=final)
            events.record(WorkFinished(kind="item", about=item.key, ok=False, error=error, set_aside=final))
        return WorkResult(work=work.work)

    def _return_to_queue(self, item: Item, events: Events, result: WorkResult) -> WorkResult:
        """Return the item to the front of the queue: nothing was learned about it."""
        with self._ctx.events.together():
            self._intake.frontier.roll_back([item.key])
            events.record(WorkFinished(kind="item", about=item.key, ok=False, interrupted=True))
        return result


def _of_file(checked: CheckFinished, path: str, root: Path) -> CheckFinished:
    """Return the result; a pass without the file does not count."""
    why = why_not_file(path, root) if checked.passed else None
    return checked if why is None else msgspec.structs.replace(checked, passed=False, uncounted=why)


def _after(steps: int, why: str) -> str:
    return f"after {plural(steps, 'step')} {why}"
