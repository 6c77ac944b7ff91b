"""Work the tries of a pass in parallel, each in its own unit of work, measure them one by one, and choose the best."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from ...layers.remedies import LayerRefused
from ...layers.unit import Unit
from ...protocol import (
    PassStarted,
    Prompted,
    TryChosen,
    TryFinished,
    TryMeasured,
    TryStarted,
    Work as WorkOrder,
    WorkResult,
    try_name,
)
from ...state.facts.try_facts import TryFacts
from ...step.resources.unit_watch import UnitWatch
from ..start.unit_context import context_of_try, drop_context_of_try, unit_folder
from .choose_try import best_try, judge_try, measure_try, record_none
from .left_patch import keep_left, remove_left
from .measure import Measured
from .one_try import Attempt, TryEnd
from .pass_unit import PassUnit
from .try_texts import first_message_of_try, system_prompt_of_try
from .unit_work import Work, work_of

if TYPE_CHECKING:
    from ...layers.run_layers import RunLayers
    from ...protocol import Judged
    from ...state.facts.pass_facts import PassFacts
    from ...step.resources.run_context import RunContext


class PassTries:
    """The tries of the open pass."""

    def __init__(self, ctx: RunContext, tools: Sequence[str]) -> None:
        self._ctx, self._tools = ctx, tools
        self._live: dict[int, Attempt] = {}
        self._watch = UnitWatch(ctx.workspace)

    @property
    def _facts(self) -> PassFacts:
        assert self._ctx.facts.pass_facts is not None  # only loops with passes have tries
        return self._ctx.facts.pass_facts

    @property
    def _units(self) -> RunLayers:
        assert self._ctx.units is not None  # a run with passes has them
        return self._ctx.units

    async def work(self, work: WorkOrder) -> WorkResult:
        """Perform the work order of a try: begin it, or continue it after an interruption."""
        candidate, started = int(work.about), self._facts.open
        assert started is not None  # tries belong to an open pass
        try:
            attempt = self._live.get(candidate)
            if attempt is None or candidate not in self._facts.tries:
                attempt = await self._begin(candidate, started, work.work or "")
        except (LayerRefused, OSError) as error:
            self._finish_unbegun(work, started, candidate, f"try {candidate} cannot begin: {error}")
            return WorkResult(work=work.work)
        over = await attempt.work(self._tools)
        if isinstance(over, WorkResult):
            return over
        await attempt.finish(over)
        return WorkResult(work=work.work, exhausted=over.exhausted)

    async def _begin(self, candidate: int, started: PassStarted, name: str) -> Attempt:
        """Make the unit and the context of a try. Raises LayerRefused and OSError."""
        ctx, units, who = self._ctx, self._units, f"try {candidate} of {started.tries}"
        await self._drop(candidate)
        unit = await asyncio.to_thread(partial(Unit.begin, units, "try", lasts=True))
        try:
            event = TryStarted(
                number=started.number, candidate=candidate, tries=started.tries, place=str(unit.folder), layer=True
            )
            ctx.events.record(event, work=name, durable=True)
            began = ctx.facts.last_seq
            folder = unit_folder(ctx, unit)
            facts = TryFacts(ctx.facts, started, str(folder.workspace.seen))
            made = context_of_try(ctx, folder, facts, name, who)
            await made.fingerprint.take()
        except BaseException:
            await asyncio.to_thread(unit.drop)
            raise
        self._watch.add(unit)
        opened = PassUnit(unit, made, ctx, units, self._watch)
        attempt = Attempt(started.number, candidate, started.tries, opened, facts, began)
        self._live[candidate] = attempt
        made.events.record(Prompted(kind="system", text=system_prompt_of_try(made.facts)))
        text = first_message_of_try(ctx, made, started.number, candidate, started.tries)
        images = [*ctx.facts.spec.images, *self._facts.images]
        made.events.record(Prompted(kind="task", text=text, images=images))
        return attempt

    def _finish_unbegun(self, work: WorkOrder, started: PassStarted, candidate: int, why: str) -> None:
        end = TryFinished(
            number=started.number, candidate=candidate, tries=started.tries, why=why, fault=why, retryable=True
        )
        self._ctx.events.record(end, work=work.work)

    async def finish_all(self, why: str) -> None:
        """End unfinished tries, and store their changes as patches."""
        for attempt in list(self._live.values()):
            if attempt.candidate in self._facts.tries and self._facts.tries[attempt.candidate] is None:
                await attempt.finish(TryEnd(why))

    async def choose(self, started: PassStarted, why: str, *, judged: bool) -> Measured | None:
        """Measure the tries and record which one is chosen. Returns why none is. Raises PersonInterrupted."""
        await self.finish_all(why)
        if not judged:
            return Measured(False, why)
        for attempt in sorted(self._live.values(), key=lambda one: one.candidate):
            end = self._facts.tries.get(attempt.candidate)
            if end is not None and end.files and attempt.candidate not in self._facts.measured:
                await measure_try(self._ctx, attempt)
        refused = list["Judged"]()
        while (best := best_try(self._ctx)) is not None:
            red = await judge_try(self._ctx, self._live[best.candidate], best)
            if red is None:
                break
            refused.append(red)
        end = None if best is None else self._facts.tries[best.candidate]
        if best is None or end is None:
            return record_none(self._ctx, started, refused)
        self._record_choice(started, best, end)
        return None

    def _record_choice(self, started: PassStarted, best: TryMeasured, end: TryFinished) -> None:
        self._ctx.events.record(
            TryChosen(
                number=started.number,
                candidate=best.candidate,
                tries=started.tries,
                score=best.score,
                place=str(self._live[best.candidate].opened.unit.folder),
                files=end.files,
                said=end.said,
                lines=best.lines,
            ),
            durable=True,
        )

    async def take_chosen(self) -> tuple[Unit, Work]:
        """Return the unit of the chosen try and remove it from the tries, with what the try recorded as its changes."""
        chosen = self._facts.chosen
        assert chosen is not None  # the caller chose it
        attempt = self._live.pop(chosen.candidate)
        edited = work_of(attempt.facts.changes.standing[:]).edited
        await self._detach(attempt)
        return attempt.opened.unit, Work(frozenset(chosen.files), edited)

    async def sweep(self) -> None:
        """Clean up after an earlier runner: keep the changes of its tries as patches, and remove their units."""
        ctx = self._ctx
        for lost in list(self._facts.lost):
            patch, files, why = await keep_left(ctx, Path(lost.place))
            ctx.events.record(
                TryFinished(
                    number=lost.number,
                    candidate=lost.candidate,
                    tries=lost.tries,
                    why=why,
                    patch=patch if files else None,
                    files=files,
                    lost=True,
                ),
                work=try_name(lost.number, lost.candidate),
            )
        for folder in self._facts.left_layers:  # those of tries that had ended: their patches are in the journal
            await asyncio.to_thread(remove_left, Path(folder))
        self._facts.left_layers.clear()

    async def clear(self) -> None:
        """Remove the units of the pass."""
        for candidate in list(self._live):
            await self._drop(candidate)

    async def close(self) -> None:
        """End unfinished tries and remove their units, because the runner ends."""
        if self._live:
            if self._ctx.facts.ended is None:
                await self.finish_all("the runner ended during the try")
            await self.clear()
        await self._watch.close()

    async def _drop(self, candidate: int) -> None:
        attempt = self._live.pop(candidate, None)
        if attempt is not None:
            await self._detach(attempt)
            await asyncio.to_thread(attempt.opened.unit.drop)

    async def _detach(self, attempt: Attempt) -> None:
        await drop_context_of_try(self._ctx, attempt.ctx, attempt.facts)
        self._watch.remove(attempt.opened.unit)
