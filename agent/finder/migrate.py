"""The migrate loop: the model fixes each file that fails a check, until a full scan finds none."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import msgspec

from ..facts.search.finder_facts import FinderFacts
from ..protocol import (
    CheckFinished,
    CheckStarted,
    FinderSpec,
    ItemFailed,
    ItemQueued,
    Record,
    Work,
    WorkFinished,
    WorkResult,
    WorkStarted,
)
from ..step import Kit, PersonInterrupted, feedback, instructions, perform
from ..step.checks.fair import TRIES
from ..workspace.seals import Difference
from .budget_check import OUT_OF_TIME, no_room
from .checking import check, check_of, files_of, path_of
from .items.item_intake import Books
from .items.item_state import Candidate, Item, Row, State
from .lenses import prompts

SCAN = "scan"
"""Kind of the work that checks all files, and the source of the items that it finds."""
TOOLS = ("read_file", "list_files", "search", "edit_file", "write_file", "run_command")
_SHORT = 160
"""Characters of a check's last output line in the reason of a failure."""
_SILENT = "You stopped without calling a tool, so nothing was done. Only the check decides: continue with a tool."
_MOST_HELD = 40
"""Files in a row whose check cannot be started, after which the check counts as broken."""


@dataclass(slots=True)
class _Tally:
    """The counts of one scan."""

    looked: int = 0
    new: int = 0
    known: int = 0
    """Failing files that an earlier scan found."""
    held: list[tuple[str, str, CheckFinished]] = field(default_factory=list[tuple[str, str, CheckFinished]])
    """Files whose check could not be started, until it is known whether it can be started for any file."""
    has_started: bool = False
    broken: str | None = None
    """Why no file can be checked."""


class Migrate:
    """Scan for failing files and fix them one after the other. Only the check decides what is done."""

    def __init__(self, kit: Kit, spec: FinderSpec, books: Books) -> None:
        assert spec.check is not None  # the migrate recipe sets one
        self._kit, self._spec, self._books, self._command = kit, spec, books, spec.check

    @property
    def _facts(self) -> FinderFacts:
        assert self._kit.facts.finder is not None  # a migration is a search
        return self._kit.facts.finder

    async def scan(self, work: Work) -> WorkResult:
        """Check every file, several at the same time. Queue new failures, and queue done files that fail again."""
        record, tally = self._kit.events.bound(None, work.work), _Tally()
        record(WorkStarted(kind=SCAN, about=SCAN))
        try:
            with self._kit.usage.running():
                async with asyncio.timeout(self._kit.usage.seconds_for_work()):
                    await self._kit.activity.interruptible(self._compare_guarded(record, tally))
        except (PersonInterrupted, TimeoutError) as how:
            record(WorkFinished(kind=SCAN, about=SCAN, ok=False, new=tally.new, known=tally.known, interrupted=True))
            end = None if isinstance(how, PersonInterrupted) else no_room(self._kit) or OUT_OF_TIME
            return WorkResult(work=work.work, exhausted=end, interrupted=end is None)
        said = f"{tally.looked:,} file{'' if tally.looked == 1 else 's'} checked, {tally.new + tally.known:,} fail"
        record(
            WorkFinished(
                kind=SCAN,
                about=SCAN,
                ok=tally.broken is None,
                new=tally.new,
                known=tally.known,
                reason=said,
                error=tally.broken or "",
            )
        )
        return WorkResult(work=work.work, fault=tally.broken)

    async def fix(self, work: Work, item: Item) -> WorkResult:
        """Work a file until it passes its check, or queue it again, or mark it as failed permanently."""
        kit, record = self._kit, self._kit.events.bound(None, work.work)
        with kit.events.together():
            record(WorkStarted(kind="item", about=item.key, attempt=item.attempts + 1))
        kit.stalls.forget(work.work)
        try:
            return await self._fix(work, item, record)
        except PersonInterrupted:
            return self._return_to_queue(item, record, WorkResult(work=work.work, interrupted=True))
        except TimeoutError:
            end = no_room(kit) or OUT_OF_TIME
            return self._return_to_queue(item, record, WorkResult(work=work.work, exhausted=end))

    async def _fix(self, work: Work, item: Item, record: Record) -> WorkResult:
        """Run steps of the model until the check passes. Raises PersonInterrupted, and TimeoutError at the run's
        deadline.
        """
        kit, cap = self._kit, self._kit.facts.spec.item_steps
        path = path_of(item.key, kit.workspace.root)
        checked = await self._check(item.key, path, record)
        if not checked.passed and not (kit.workspace.root / path).exists():
            return self._failed(work, item, "the file is gone", record, final=True)
        told: str | None = None
        for steps in range(cap):
            if checked.passed:
                return self._done(work, item, checked, record, steps)
            if checked.suspect is not None and (steps or item.key in self._facts.suspects.accepted):
                return self._undecided(work, item, checked, record)
            record(checked)
            prompt = self._prompt(work, item, path, checked, told)
            told = checked.output
            result = await perform(kit, self._order(work, prompt), TOOLS)
            if result.interrupted or result.exhausted is not None or result.handoff is not None:
                return self._return_to_queue(item, record, result)
            if result.fault is not None:
                return self._faulted(work, item, result, record)
            checked = await self._check(item.key, path, record)
        if checked.passed:
            return self._done(work, item, checked, record, cap)
        if checked.suspect is not None:
            return self._undecided(work, item, checked, record)
        record(checked)
        return self._failed(work, item, f"after {cap} steps the check still fails: {_why(checked)}", record)

    async def _check(self, key: str, path: str, record: Record) -> CheckFinished:
        """Check a file and record the result; a pass is recorded together with its consequences."""
        command = check_of(self._command, path)
        record(CheckStarted(command=command))
        with self._kit.usage.running():
            async with asyncio.timeout(self._kit.usage.seconds_for_work()):
                checked = await self._kit.activity.interruptible(check(self._kit, self._command, path, record))
        return self._accepted(key, path, checked)

    def _order(self, work: Work, prompt: str) -> Work:
        spec = self._kit.facts.spec
        parts = [prompts.fixer(spec.task, spec.workspace, self._command), instructions(spec)]
        return msgspec.structs.replace(
            work,
            system="\n\n".join(part for part in parts if part),
            prompt=prompt,
            prompt_kind="check",
            tools=[*TOOLS, *(["fetch_url"] if self._spec.hosts else [])],
            step_cap=1,
        )

    def _prompt(self, work: Work, item: Item, path: str, checked: CheckFinished, told: str | None) -> str:
        """Write the prompt before a step: first the file, then the result of the check."""
        parts: list[str] = []
        if told is None:
            again = "" if not item.attempts else " An earlier attempt may have changed it."
            parts.append(f"The file: {path}.{again}")
            if said := self._facts.suspects.said.get(item.key):
                parts.append(f"A person did not accept the last result of the check: {said}")
        elif self._kit.facts.conversation(work.work).messages[-1].role == "assistant":
            parts.append(_SILENT)
        return "\n\n".join([*parts, feedback(checked, told)])

    def _accepted(self, key: str, path: str, checked: CheckFinished) -> CheckFinished:
        """Return the result as passed if a user accepted it and the file has not changed since."""
        is_accepted = self._facts.suspects.is_accepted(key, checked, self._content(path))
        return msgspec.structs.replace(checked, passed=True) if is_accepted else checked

    def _content(self, path: str) -> str:
        file = self._kit.workspace.root / path
        return hashlib.sha256(file.read_bytes()).hexdigest() if file.is_file() else "gone"

    def _undecided(self, work: Work, item: Item, checked: CheckFinished, record: Record) -> WorkResult:
        """Set the item aside until a user decides. The model's changes stay in its file."""
        path, error = path_of(item.key, self._kit.workspace.root), _why(checked)
        with self._kit.events.together():
            record(checked)
            content = self._content(path)
            record(ItemFailed(key=item.key, error=error, attempts=item.attempts, final=True, content=content))
            self._books.frontier.set_aside(item.key, error, item.attempts)
            record(WorkFinished(kind="item", about=item.key, ok=False, error=error, set_aside=True))
        return WorkResult(work=work.work)

    def _done(self, work: Work, item: Item, checked: CheckFinished, record: Record, steps: int) -> WorkResult:
        with self._kit.events.together():
            record(checked)
            self._books.frontier.finish(item.key)
            reason = "the check passes" if steps else "the check passes already"
            record(WorkFinished(kind="item", about=item.key, ok=True, reason=reason))
        return WorkResult(work=work.work, steps=steps)

    def _faulted(self, work: Work, item: Item, result: WorkResult, record: Record) -> WorkResult:
        """End the run if the model is permanently unavailable, because every other file would fail too."""
        fault = result.fault or ""
        if result.retryable or fault.startswith("it went"):
            return self._failed(work, item, fault, record)
        return self._return_to_queue(item, record, result)

    def _failed(self, work: Work, item: Item, error: str, record: Record, *, final: bool = False) -> WorkResult:
        final = final or item.attempts >= self._kit.facts.search.retries
        with self._kit.events.together():
            self._books.failed(item, error, record, final=final)
            record(WorkFinished(kind="item", about=item.key, ok=False, error=error, set_aside=final))
        return WorkResult(work=work.work)

    def _return_to_queue(self, item: Item, record: Record, result: WorkResult) -> WorkResult:
        """Return the item to the front of the queue: nothing was learned about it."""
        with self._kit.events.together():
            self._books.frontier.roll_back([item.key])
            record(WorkFinished(kind="item", about=item.key, ok=False, interrupted=True))
        return result

    async def _compare_guarded(self, record: Record, tally: _Tally) -> None:
        """Compare guarded files by content before and after the whole scan. Each single check compares only their
        times.
        """
        guarded = self._kit.guarded
        found: Sequence[Difference] = []
        for _ in range(TRIES):
            await guarded.settle(record, self._command, full=True)
            tally.looked = 0
            await self._look_at_all(record, tally)
            found = await guarded.tolerate_outputs(await guarded.differences(full=True))
            if not found:
                break
        if found or guarded.unrestored:
            await guarded.settle(record, self._command, full=True)
            tally.broken = guarded.why_not() or f"{found[0].path} changes whenever the check runs"

    async def _look_at_all(self, record: Record, tally: _Tally) -> None:
        files, unmet = await asyncio.to_thread(files_of, self._spec.globs, self._kit.workspace)
        if unmet and not self._facts.scan_pass:
            where = f"in {self._kit.workspace.root}; ignored files are left out"
            tally.broken = f"no file matches {', '.join(unmet)} {where}"
            return
        rest = iter(files.items())
        async with asyncio.TaskGroup() as group:
            for _ in range(min(self._kit.facts.search.checks, len(files))):
                group.create_task(self._look_at_some(rest, record, tally))
        if tally.held:
            tally.broken = _unstartable(tally.held[0][2])

    async def _look_at_some(self, rest: Iterator[tuple[str, str]], record: Record, tally: _Tally) -> None:
        for key, path in rest:
            if len(tally.held) > _MOST_HELD:
                return
            checked = await check(self._kit, self._command, path, record, full=False)
            tally.looked += 1
            if checked.error is not None and not tally.has_started:
                tally.held.append((key, path, checked))
                continue
            tally.has_started = True
            held, tally.held = tally.held, []
            for one in held:
                self._fails(*one, record, tally)
            if self._accepted(key, path, checked).passed:
                self._passes(key, record)
            else:
                self._fails(key, path, checked, record, tally)

    def _passes(self, key: str, record: Record) -> None:
        """Record that a file passes. A file that failed permanently and passes now is worked once
        more, for one check.
        """
        row = self._books.frontier.find(key)
        if row is not None and row.state is State.SET_ASIDE:
            self._requeue(row, "retry", record)

    def _fails(self, key: str, path: str, checked: CheckFinished, record: Record, tally: _Tally) -> None:
        row = self._books.frontier.find(key)
        if row is None:
            tally.new += 1
            with self._kit.events.together():
                self._books.items([Candidate("file", path)], SCAN, record)
            return
        tally.known += 1
        if row.state is State.DONE:
            self._regressed(row, checked, record)

    def _regressed(self, row: Row, checked: CheckFinished, record: Record) -> None:
        """Queue a done file that fails again, up to a limit."""
        times = self._facts.regressed.get(row.key, 0)
        if times < self._kit.facts.search.retries:
            self._requeue(row, "regressed", record)
            return
        error = f"it fails again each time, after it was done {times + 1} times: {_why(checked)}"
        with self._kit.events.together():
            self._books.frontier.set_aside(row.key, error, times + 1)
            record(ItemFailed(key=row.key, error=error, attempts=times + 1, final=True))

    def _requeue(self, row: Row, reason: str, record: Record) -> None:
        with self._kit.events.together():
            self._books.frontier.requeue(row.key, SCAN, attempts=0)
            record(
                ItemQueued(key=row.key, kind=row.kind, value=row.value, source=SCAN, reason=reason, was=row.state.value)
            )


def _unstartable(checked: CheckFinished) -> str:
    return f"the check could not be started: {checked.command}: {checked.error}"


def _why(checked: CheckFinished) -> str:
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
