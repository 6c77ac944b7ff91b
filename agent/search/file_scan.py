"""The scan of a migration: check all files, several at the same time, and queue those that fail."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Iterator
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

import msgspec

from ..protocol import (
    CheckFinished,
    FinderSpec,
    ItemFailed,
    ItemQueued,
    QueueReason,
    Work,
    WorkFinished,
    WorkResult,
    WorkStarted,
)
from ..protocol.text.counts import plural
from ..step.checks.judged_check import written_in_place
from ..step.resources.activity import PersonInterrupted
from .budget_check import OUT_OF_TIME, no_room
from .checking import CheckRunner, ChecksUnavailable, check, files_of, no_file_matches, path_of, why_not_file
from .items.frontier import CHUNK
from .items.item_state import Candidate, ItemRow, State

if TYPE_CHECKING:
    from ..state.recorder import Events
    from ..state.search.finder_facts import FinderFacts
    from ..step.resources.run_context import RunContext
    from .items.item_intake import ItemIntake

SCAN: Literal["scan"] = "scan"
"""Kind of the work that checks all files, and the source of the items that it finds."""
_SHORT = 160
"""Characters of a check's last output line in the reason of a failure."""
_MOST_UNSTARTABLE = 40
"""Files in a row whose check cannot be started, after which the check counts as broken."""


def finder_facts(ctx: RunContext) -> FinderFacts:
    """Return the facts of the search that this run is."""
    assert ctx.facts.finder is not None  # a migration is a search
    return ctx.facts.finder


class Acceptance:
    """Results of checks that a person accepted."""

    def __init__(self, ctx: RunContext) -> None:
        self._ctx = ctx

    def apply(self, key: str, path: str, checked: CheckFinished) -> CheckFinished:
        """Return the result as passed if a person accepted it and the file has not changed since."""
        is_accepted = finder_facts(self._ctx).suspects.is_accepted(key, checked, self.content(path))
        return msgspec.structs.replace(checked, passed=True) if is_accepted else checked

    def content(self, path: str) -> str:
        """Return the SHA-256 of a file in hex, or `gone`."""
        file = self._ctx.workspace.root / path
        return hashlib.sha256(file.read_bytes()).hexdigest() if file.is_file() else "gone"


@dataclass(slots=True)
class _Tally:
    """The counts of one scan."""

    checked: int = 0
    new: int = 0
    known: int = 0
    """Failing files that an earlier scan found."""
    unstartable: list[tuple[str, str, CheckFinished]] = field(default_factory=list[tuple[str, str, CheckFinished]])
    """Files whose check could not be started, until it is known whether it can be started for any file."""
    arrived: dict[int, tuple[str, str, CheckFinished]] = field(
        default_factory=dict[int, tuple[str, str, CheckFinished]]
    )
    """Results that wait for those of files before them, by the file's number."""
    following: int = 0
    """Number of the file whose result is recorded next."""
    has_started: bool = False
    broken: str | None = None
    """Why no file can be checked."""


class FileScan:
    """Checks every file of a migration."""

    def __init__(
        self, ctx: RunContext, spec: FinderSpec, intake: ItemIntake, acceptance: Acceptance, checks: CheckRunner
    ) -> None:
        assert spec.check is not None  # the migrate recipe sets one
        self._ctx, self._spec, self._intake, self._command = ctx, spec, intake, spec.check
        self._acceptance, self._checks = acceptance, checks

    async def run(self, work: Work) -> WorkResult:
        """Check every file, several at the same time. Queue new failures, and queue done files that fail again."""
        events, tally = self._ctx.events.bound(None, work.work), _Tally()
        events.record(WorkStarted(kind=SCAN, about=SCAN))
        try:
            with self._ctx.limits.running():
                async with asyncio.timeout(self._ctx.limits.seconds_for_work()):
                    await self._ctx.activity.interruptible(self._check_all(events, tally))
        except (PersonInterrupted, TimeoutError) as how:
            events.record(
                WorkFinished(kind=SCAN, about=SCAN, ok=False, new=tally.new, known=tally.known, interrupted=True)
            )
            end = None if isinstance(how, PersonInterrupted) else no_room(self._ctx) or OUT_OF_TIME
            return WorkResult(work=work.work, exhausted=end, interrupted=end is None)
        reason = f"{plural(tally.checked, 'file')} checked, {tally.new + tally.known:,} fail"
        events.record(
            WorkFinished(
                kind=SCAN,
                about=SCAN,
                ok=tally.broken is None,
                new=tally.new,
                known=tally.known,
                reason=reason,
                error=tally.broken or "",
            )
        )
        return WorkResult(work=work.work, fault=tally.broken)

    async def _check_all(self, events: Events, tally: _Tally) -> None:
        files, unmet = await asyncio.to_thread(files_of, self._spec.globs, self._ctx.workspace)
        if unmet and not finder_facts(self._ctx).scan_pass:
            tally.broken = no_file_matches(unmet, self._ctx.workspace.root)
            return
        in_order = sorted(files.items(), key=lambda file: file[1].split("/"))
        rest = enumerate(in_order)
        async with self._written(events), asyncio.TaskGroup() as group:
            for _ in range(min(self._ctx.facts.search.checks, len(files))):
                group.create_task(self._check_some(rest, events, tally))
        if tally.unstartable:
            tally.broken = _unstartable_text(tally.unstartable[0][2])
        self._fail_vanished(events, tally)

    def _fail_vanished(self, events: Events, tally: _Tally) -> None:
        """Record that done files failed that do not exist as files any more: a check of nothing passes."""
        root, after = self._ctx.workspace.root, 0
        while rows := self._intake.frontier.page(State.DONE, after=after, limit=CHUNK):
            after = rows[-1].number
            gone = [(row, why) for row in rows if (why := why_not_file(path_of(row.key, root), root)) is not None]
            with self._ctx.events.together():
                for row, why in gone:
                    tally.known += 1
                    self._intake.frontier.set_aside(row.key, why, row.attempts + 1)
                    events.record(ItemFailed(key=row.key, error=why, attempts=row.attempts + 1, final=True))

    def _written(self, events: Events) -> AbstractAsyncContextManager[None]:
        """Return what records the changes that the checks make in the workspace itself."""
        ctx = self._ctx
        return nullcontext() if ctx.layers is not None else written_in_place(ctx, None, self._command, events)

    async def _check_some(self, rest: Iterator[tuple[int, tuple[str, str]]], events: Events, tally: _Tally) -> None:
        """Check files. Results are taken in the order of the paths, so that the files are fixed in this order."""
        for number, (key, path) in rest:
            if len(tally.unstartable) > _MOST_UNSTARTABLE or tally.broken is not None:
                return
            try:
                checked = await check(self._ctx, self._command, path, events, checks=self._checks, compares=False)
            except ChecksUnavailable as why:
                tally.broken = str(why)
                return
            tally.checked += 1
            tally.arrived[number] = key, path, checked
            while (one := tally.arrived.pop(tally.following, None)) is not None:
                tally.following += 1
                self._record_in_order(*one, events, tally)

    def _record_in_order(self, key: str, path: str, checked: CheckFinished, events: Events, tally: _Tally) -> None:
        if checked.error is not None and not tally.has_started:
            tally.unstartable.append((key, path, checked))
            return
        tally.has_started = True
        unstartable, tally.unstartable = tally.unstartable, []
        for one in unstartable:
            self._record_failure(*one, events, tally)
        if self._acceptance.apply(key, path, checked).passed:
            self._record_pass(key, events)
        else:
            self._record_failure(key, path, checked, events, tally)

    def _record_pass(self, key: str, events: Events) -> None:
        """Record that a file passes. A file that failed permanently and passes now is worked once
        more, for one check.
        """
        row = self._intake.frontier.find(key)
        if row is not None and row.state is State.SET_ASIDE:
            self._requeue(row, "retry", events)

    def _record_failure(self, key: str, path: str, checked: CheckFinished, events: Events, tally: _Tally) -> None:
        row = self._intake.frontier.find(key)
        if row is None:
            tally.new += 1
            with self._ctx.events.together():
                self._intake.add_items([Candidate("file", path)], SCAN, events)
            return
        tally.known += 1
        if row.state is State.DONE:
            self._requeue_regressed(row, checked, events)

    def _requeue_regressed(self, row: ItemRow, checked: CheckFinished, events: Events) -> None:
        """Queue a done file that fails again, up to a limit."""
        times = finder_facts(self._ctx).regressed.get(row.key, 0)
        if times < self._ctx.facts.search.retries:
            self._requeue(row, "regressed", events)
            return
        error = f"it fails again each time, after it was done {times + 1} times: {why_failed(checked)}"
        with self._ctx.events.together():
            self._intake.frontier.set_aside(row.key, error, times + 1)
            events.record(ItemFailed(key=row.key, error=error, attempts=times + 1, final=True))

    def _requeue(self, row: ItemRow, reason: QueueReason, events: Events) -> None:
        with self._ctx.events.together():
            self._intake.frontier.requeue(row.key, SCAN, attempts=0)
            events.record(
                ItemQueued(key=row.key, kind=row.kind, value=row.value, source=SCAN, reason=reason, was=row.state.value)
            )


def _unstartable_text(checked: CheckFinished) -> str:
    return f"the check could not be started: {checked.command}: {checked.error}"


def why_failed(checked: CheckFinished) -> str:
    """Describe the failure in a few words. A time-out is always named."""
    if checked.uncounted is not None:
        return f"its pass does not count: {checked.uncounted}"
    if checked.suspect is not None:
        return f"suspect check: {checked.suspect}"
    if checked.error is not None:
        return f"it could not be started: {checked.error}"
    if checked.timed_out:
        return f"timed out after {checked.seconds:.0f} s"
    lines = [line for line in checked.output.splitlines() if line.strip()]
    last = f": {' '.join(lines[-1].split())[:_SHORT]}" if lines else ""
    return f"exit code {checked.exit_code}{last}"
